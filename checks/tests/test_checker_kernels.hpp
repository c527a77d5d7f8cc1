// Kernels for checks/tests/test_checker.cpp: small, each with one thing right or wrong. They are instrumented, as a
// checked stage is; the tests that launch them are not.
#pragma once
namespace lab::checker_kernels {

using Kernel = void(int* out);

// --- order between warps -------------------------------------------------------------------------
Kernel inter_write_read, inter_write_write, inter_read_write_many, inter_with_barriers, inter_shuffles_order_nothing;
// --- order inside a warp -------------------------------------------------------------------------
Kernel intra_write_read, intra_write_write, intra_read_write, full_sync_orders, missing_second_sync;
Kernel shuffle_orders_nothing, vote_orders_nothing, reduction_orders_nothing;
Kernel wmma_store_unordered, wmma_store_synced, wmma_load_unordered, wmma_load_uninitialised, wmma_load_past_end;
// --- __syncwarp of some lanes --------------------------------------------------------------------
Kernel partial_orders_its_lanes, partial_orders_no_others, both_halves, chain, chain_of_four, chain_backwards,
    chain_too_late;
Kernel own_sync_is_no_order, stale_after_full_sync, mixed_readers_ordered, mixed_readers_one_forgotten;
Kernel readers_before_and_after_sync, two_readers_one_writes;
// --- initialisation and bounds -------------------------------------------------------------------
Kernel read_uninitialised, half_initialised, initialised_by_all;
Kernel past_request, past_short_request, into_gap, past_static, before_first, before_static, past_global,
    past_global_by_half, inside_global;
// --- cp.async ------------------------------------------------------------------------------------
Kernel copy_read_by_issuer, copy_read_by_other, copy_written_by_other, copy_no_barrier, copy_no_syncwarp, copy_right;
Kernel copy_one_group_early, copy_buffer_reused_early, copy_left_behind, copy_twice, copy_two_stages, copy_zero_filled,
    copy_past_request, copy_past_global;
// --- barriers ------------------------------------------------------------------------------------
Kernel two_barriers, exited_before_barrier;
// --- atomics -------------------------------------------------------------------------------------
Kernel atomic_histogram, atomic_widths;
// --- correct kernels -----------------------------------------------------------------------------
Kernel reduction, transpose, ping_pong;
// --- the compiler's ABI --------------------------------------------------------------------------
Kernel sizes_past_end, sizes_up_to_end, sizes_across_end, ranges_past_end, sizes_past_global;
// --- lines that a bug's patch added --------------------------------------------------------------
Kernel added_by_patch;

}  // namespace lab::checker_kernels
