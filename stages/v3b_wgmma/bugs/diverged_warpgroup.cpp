// How to recognise the bug diverged_warpgroup.
#include "checks/bugs/fingerprint.hpp"
#include "reference/attention.hpp"

namespace {
using namespace lab;

// Of the last block's 64 rows. Long enough for the ring to go round: with a warp gone, no slot is free again.
constexpr Shape EIGHT_ROWS{1, 1, 456, 64, false}, FORTY_ROWS{1, 1, 488, 128, true}, WHOLE{1, 1, 497, 64, true};

std::vector<Part> look() {
  const Trial whole = run_trial(WHOLE);
  // What a product of fewer than four warps does is not defined.
  return {
      hangs(EIGHT_ROWS, {.waits_for = "wgmma.mma_async for warps 1,2,3 of the warpgroup",
                         .line = "ptx::wgmma<N>(s,",
                         .or_stops = true}),
      hangs(FORTY_ROWS,
            {.waits_for = "wgmma.mma_async for warp 3 of the warpgroup", .line = "ptx::wgmma<N>(s,", .or_stops = true}),
      right_by_luck(whole, attention(whole.shape, whole.scale, whole.in.q, whole.in.k, whole.in.v),
                    "where each warp of the last block has a row")};
}

const RegisteredFingerprint registered(look);

}  // namespace
