// Kernels for the checker's tests of wgmma: one warpgroup each, unless said otherwise. Instrumented, as those of
// checks/tests/test_checker_kernels.cpp are.
#pragma once
namespace lab::wgmma_kernels {

using Kernel = void(int* out);

inline constexpr unsigned SMEM = 17 * 1024;

// --- right ---------------------------------------------------------------------------------------------
Kernel one_product, two_groups_in_flight, accumulators_untouched, scores_become_operand, products_in_turn,
    a_shared_then_changed;
// --- registers before their wait --------------------------------------------------------------------------
Kernel read_at_once, wait_one_too_few, wait_before_commit, d_overwritten, a_overwritten, a_read_in_flight,
    a_place_reused, a_changed_unwatched;
// --- fences -------------------------------------------------------------------------------------------
Kernel no_fence_at_all, d_touched_after_fence, a_packed_after_fence, d_read_then_product, shape_changed;
// --- the rest ------------------------------------------------------------------------------------------
Kernel never_waited, never_committed, operand_overwritten, no_proxy_fence, no_barrier;

}  // namespace lab::wgmma_kernels
