// How to recognise the bug producer_runs_past.
#include "checks/bugs/fingerprint.hpp"
#include "reference/attention.hpp"

namespace {
using namespace lab;

constexpr Shape PLAIN{1, 1, 1024, 64, false}, MASKED{1, 1, 512, 64, true}, LONG{1, 1, 1024, 64, true};

std::vector<Part> look() {
  const Trial t = run_trial(PLAIN);
  return {hangs(LONG, {"phase 0 of v_empty[0] (parity 0): 8 of 8 arrivals missing", "ptx::mbarrier_wait(&empty[slot]",
                       "All lanes of these warps have returned: 0..7"}),
          checker_reports(MASKED, {Finding::Kind::in_flight, "", "ptx::tma_load_4d(ring"}),
          right_by_luck(t, attention(t.shape, t.scale, t.in.q, t.in.k, t.in.v), "without a mask")};
}

const RegisteredFingerprint registered(look);

}  // namespace
