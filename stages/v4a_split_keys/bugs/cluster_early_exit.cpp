// How to recognise the bug cluster_early_exit.
#include "checks/bugs/signature.hpp"

using namespace lab;

// The first two have a query tile with a single tile of keys.
constexpr Shape CAUSAL{1, 2, 300, 64, true}, ONE_TILE{1, 2, 64, 128, false}, EVERY_BLOCK_BUSY{1, 8, 512, 64, false};

std::vector<Part> look() {
  std::vector<Part> parts;
  if (can_schedule()) {
    for (const Shape& shape : {CAUSAL, ONE_TILE})
      parts.push_back(fails(run_trial(shape), cudaErrorLaunchFailure,
                            {"st.async to block 1 of the cluster, which has ended: its shared memory is gone"}));
    parts.push_back(checker_reports(CAUSAL, {Finding::Kind::early_exit, "", "ptx::st_async(smem.O[d]"}));
  } else {
    // What the stores do is not defined, and the bytes that the other block waits for do not come.
    parts.push_back(hangs(CAUSAL, {.hang = {at_mbarrier("merged", 0, 0, 0)},
                                   .line = "ptx::mbarrier_wait_cluster(smem.merged",
                                   .or_stops = true}));
  }
  const Trial t = run_trial(EVERY_BLOCK_BUSY);
  parts.push_back(still_right(t, "where both blocks have tiles: 512 keys, no mask"));
  return parts;
}
