// How to recognise the bug first_wait_parity.
#include "checks/bugs/fingerprint.hpp"
#include "reference/attention.hpp"

namespace {
using namespace lab;

// Three slots at D = 64, of which the prologue fills two; at D = 128 one of two.
constexpr Shape LONG{1, 1, 192, 64, false}, WIDE{1, 1, 128, 128, false}, SHORT{1, 1, 128, 64, false};

std::vector<Part> look() {
  const std::string line = "ptx::mbarrier_wait(&smem.empty[next % SLOTS]";
  const Trial t = run_trial(SHORT);
  return {hangs(LONG, {.waits_for = "phase 0 of empty[2] (parity 0): 4 of 4 arrivals missing",
                       .line = line,
                       .story = "empty[2]: in phase 0 no thread has arrived"}),
          hangs(WIDE, {.waits_for = "phase 0 of empty[1] (parity 0): 4 of 4 arrivals missing",
                       .line = line,
                       .story = "empty[1]: in phase 0 no thread has arrived"}),
          right_by_luck(t, attention(t.shape, t.scale, t.in.q, t.in.k, t.in.v),
                        "where the prologue asks for all tiles: 128 keys at D = 64")};
}

const RegisteredFingerprint registered(look);

}  // namespace
