// Which of a stage's tiles a shape gets, where they differ in their number of warpgroups that multiply, 64 query rows
// each: the one that gives the busiest SM the least work.
#pragma once
#include <algorithm>
#include <cmath>

#include "common/block_order.hpp"
#include "common/multiprocessors.hpp"
#include "common/stage.hpp"
#include "common/tile.cuh"

namespace lab {

// The work of the busiest SM, in rows of 64 queries with all keys, times what such a row costs in a block of `groups`.
// A grid is worked off in rounds of as many blocks as there are SMs. Under a mask half of the work is left, but the
// longest block has it all.
inline double work_per_sm(const Shape& shape, int groups, double cost) {
  const double rounds = double(ceil_div(shape.S, 64 * groups)) * shape.H * shape.B / multiprocessors();
  return groups * ((shape.causal ? std::max(rounds / 2, 1.0) : std::ceil(rounds)) * cost);
}

// The number of groups, 1 .. most, for this shape. cost[i]: what a row of 64 queries costs in a block of i groups.
inline int best_groups(const Shape& shape, const double* cost, int most) {
  int best = 1;
  for (int groups = 2; groups <= most; ++groups)
    if (work_per_sm(shape, groups, cost[groups]) < work_per_sm(shape, best, cost[best])) best = groups;
  return best;
}

// Such a choice's entries in the stage's plan, and which of its blocks takes a query tile.
template <class T>
void plan_scheduling(LaunchPlan& plan, const Shape& shape) {
  plan.counts_multiprocessors = true;
  plan.block_of =
      over_all_heads<T>(shape.causal, shape.S, shape.B * shape.H) ? block_over_all_heads : block_head_by_head;
}

}  // namespace lab
