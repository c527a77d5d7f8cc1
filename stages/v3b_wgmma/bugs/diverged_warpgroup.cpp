// How to recognise the bug diverged_warpgroup.
#include "checks/bugs/signature.hpp"

using namespace lab;

// Of the last block's 64 rows. Long enough for the ring to go round: with a warp gone, no slot is free again.
constexpr Shape EIGHT_ROWS{1, 1, 456, 64, false}, FORTY_ROWS{1, 1, 488, 128, true}, WHOLE{1, 1, 497, 64, true};

std::vector<Part> look() {
  const Trial whole = run_trial(WHOLE);
  const auto without = [](const std::string& warps) {
    const Wait wait{.at = Wait::At::products, .words = warps + " of the warpgroup"};
    return ExpectedHang{.hang = {wait}, .line = "ptx::wgmma<ptx::K_MAJOR>(s,", .or_stops = true};
  };
  // What a product of fewer than four warps does is not defined.
  return {hangs(EIGHT_ROWS, without("warps 1,2,3")), hangs(FORTY_ROWS, without("warp 3")),
          still_right(whole, "where each warp of the last block has a row")};
}
