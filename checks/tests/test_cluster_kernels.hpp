// Kernels for checks/tests/test_cluster_rules.cpp: for each rule of clusters one that keeps it and one that breaks it.
// Launched with blocks of 64 threads. `map` is of a 64 x 64 tensor with boxes of 4 rows of 64, not swizzled; `out` has
// 64 places for each block.
#pragma once
#include <cuda_fp16.h>

#include "common/tensor_map.hpp"

namespace lab::cluster_kernels {

inline constexpr int THREADS = 64, MOST_BLOCKS = 4;
using Kernel = void(const TensorMap* map, float* out);

// --- kept, by clusters of any size ---------------------------------------------------------------------------------
Kernel merge_by_st_async, merge_after_relaxed, store_then_barrier, load_between_barriers, store_then_arrive,
    store_then_one_arrives, token_ring, multicast_halves, arrive_early_wait_late, loads_in_turns;
// --- kept, by clusters of two --------------------------------------------------------------------------------------
Kernel queue_kept, store_before_carving;
// --- broken, by clusters of two -------------------------------------------------------------------------------------
Kernel store_before_start;
Kernel exit_before_store, exit_before_load, exit_before_arrive, exit_before_st_async;
Kernel relaxed_hands_on_nothing, relaxed_without_fence, read_before_barrier, read_before_bytes, written_under_readers,
    written_under_both_blocks, st_async_over_write, queue_overrun, fifth_write_unordered;
Kernel init_not_ordered, bytes_too_many;
Kernel wait_without_arrive, arrive_twice, one_warp_never_arrives, one_lane_never_arrives, rank_outside,
    barrier_elsewhere;

// --- launched as one that may overlap the launch before it: kept, and broken
// ------------------------------------------
Kernel one_waits_for_the_launch_before;
Kernel load_before_dependency, store_before_dependency, copy_before_dependency, tma_before_dependency;

}  // namespace lab::cluster_kernels
