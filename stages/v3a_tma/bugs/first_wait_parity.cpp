// How to recognise the bug first_wait_parity.
#include "checks/bugs/signature.hpp"

using namespace lab;

// Three slots at D = 64, of which the prologue fills two; at D = 128 one of two.
constexpr Shape LONG{1, 1, 192, 64, false}, WIDE{1, 1, 128, 128, false}, SHORT{1, 1, 128, 64, false};

std::vector<Part> look() {
  const std::string line = "ptx::mbarrier_wait(smem.empty[next % SLOTS]";
  const Trial t = run_trial(SHORT);
  const auto never_freed = [&](const std::string& barrier) {
    Wait wait = at_mbarrier(barrier, 0, 4, 4);
    wait.no_arrival = true;
    return ExpectedHang{{wait}, line};
  };
  return {hangs(LONG, never_freed("empty[2]")), hangs(WIDE, never_freed("empty[1]")),
          still_right(t, "where the prologue asks for all tiles: 128 keys at D = 64")};
}
