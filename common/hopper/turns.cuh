// Turns at the tensor cores, for blocks of any number of warpgroups: named barrier 2 + i is the turn of group i. A
// group that is alone waits for none and hands none on.
#pragma once
#include "common/ptx/barrier.cuh"

namespace lab {

inline constexpr int TAKERS_OF_A_TURN = 2 * 128;  // threads: the group that hands it on, and the one that waits for it

template <int GROUPS>
__device__ __forceinline__ void await_turn(int group) {
  if constexpr (GROUPS > 1) ptx::barrier_sync(2 + group, TAKERS_OF_A_TURN);
}
template <int GROUPS>
__device__ __forceinline__ void pass_turn(int group) {
  if constexpr (GROUPS > 1) ptx::barrier_arrive(2 + (group + 1) % GROUPS, TAKERS_OF_A_TURN);
}

}  // namespace lab
