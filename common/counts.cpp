#include "common/counts.hpp"

const char* lab::name(Counted what) {
  constexpr const char* NAMES[COUNTED] = {
      "shared load", "shared store",  "ldmatrix",        "stmatrix",      "cp.async",       "TMA load",
      "TMA store",   "remote store",  "wmma load",       "global load",   "global store",   "mma",
      "wgmma",       "exponential",   "reciprocal",      "shuffle",       "vote",           "__syncwarp",
      "barrier",     "named barrier", "mbarrier arrive", "mbarrier wait", "cluster barrier"};
  return NAMES[int(what)];
}
