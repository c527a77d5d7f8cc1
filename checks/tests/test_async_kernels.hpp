// Kernels for checks/tests/test_async.cpp: for each rule of asynchronous work one that keeps it and one that breaks it.
// `in` and `out` are maps of 64 x 64 tensors with boxes of 8 rows of 64, not swizzled.
#pragma once
#include <cuda_fp16.h>

#include "common/tensor_map.hpp"

namespace lab::async_kernels {

struct Maps {
  TensorMap in, out, swizzled;
  half* data;  // of `in`
};
using Kernel = void(const Maps* maps, int* out);

// --- loads and their waits ---------------------------------------------------------------------------------------
Kernel load_waited, load_not_waited, load_wrong_parity, load_written_unwaited;
Kernel load_one_waits, load_one_waits_then_syncwarp, load_one_waits_then_barrier, load_one_waits_then_mbarrier;
Kernel load_one_waits_then_named, load_polled, load_twice_unwaited;
// --- fence.proxy.async ---------------------------------------------------------------------------------------------
Kernel store_fenced, store_unfenced, store_fenced_by_issuer, store_fence_before_write, store_no_barrier,
    store_fenced_by_stranger;
Kernel store_of_cp_async_fenced, store_of_cp_async_unfenced;
Kernel load_over_written_fenced, load_over_written_unfenced;
// --- readers before writers ------------------------------------------------------------------------------------------
Kernel ring_kept, ring_freed_early, ring_never_freed, ring_one_warp_counted, ring_lane_frees_for_warp,
    ring_lane_frees_unsynced;
Kernel store_overwritten, store_overwritten_after_wait, store_overwritten_by_other, store_overwritten_after_barrier;
Kernel product_waited, product_freed_early, product_one_warp_frees, product_one_warp_waits, product_unfenced,
    product_before_load, product_overwritten;
// --- mbarriers -----------------------------------------------------------------------------------------------------
Kernel init_fenced, init_proxy_fenced, init_not_fenced, init_not_ordered;
Kernel arrive_orders, arrive_written_after, arrive_is_of_one_thread, arrive_after_syncwarp, arrive_chain;
Kernel phase_unseen, wait_late, bytes_too_many, barrier_bytes_read, barrier_bytes_written;
Kernel two_groups_in_turns;
// --- places and ends -------------------------------------------------------------------------------------------------
Kernel tile_off_pattern, tile_on_pattern, load_never_waited, store_never_waited, store_never_committed;

}  // namespace lab::async_kernels
