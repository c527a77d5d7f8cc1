// How to recognise the bug dsmem_before_start.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape ONE_HEAD{1, 1, 512, 64, false}, CAUSAL{1, 2, 300, 128, true};

std::vector<Part> look() {
  std::vector<Part> parts = {
      checker_reports(ONE_HEAD, {Finding::Kind::before_start, "", "ptx::st_async(smem.O[d]"}),
      checker_reports(CAUSAL, {Finding::Kind::before_start, "", "ptx::st_async(smem.O[d]"}),
      // Where the blocks take turns, the other has its barrier by then, and still nobody knows.
      checker_reports(ONE_HEAD,
                      {Finding::Kind::mbarrier, "ptx::mbarrier_init(smem.merged, 1)", "ptx::st_async(smem.O[d]"},
                      Under::some)};
  ExecOptions options;
  if (can_schedule()) {
    parts.push_back(fails(run_trial(ONE_HEAD), cudaErrorLaunchFailure,
                          {"st.async to block 1 of the cluster, which has not started"}));
    options.schedule = Schedule::round_robin;
  }
  const Trial t = run_trial(ONE_HEAD, Family::unit, options);
  parts.push_back(still_right(t, "where the other block has started by the time of the first store"));
  return parts;
}
