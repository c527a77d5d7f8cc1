#include "common/counts.hpp"

#include <iterator>

const char* lab::name(Counted what) {
  constexpr const char* NAMES[] = {"shared load",     "shared store",  "ldmatrix",       "stmatrix",    "cp.async",
                                   "TMA load",        "TMA store",     "remote store",   "wmma load",   "global load",
                                   "global store",    "mma",           "wgmma",          "exponential", "reciprocal",
                                   "shuffle",         "vote",          "__syncwarp",     "barrier",     "named barrier",
                                   "mbarrier arrive", "mbarrier wait", "cluster barrier"};
  static_assert(std::size(NAMES) == COUNTED);
  return NAMES[int(what)];
}
