// Kernels for the checker's tests of ldmatrix, stmatrix, cp.async by every thread, and named barriers. Instrumented, as
// those of checks/tests/test_checker_kernels.cpp are.
#pragma once
namespace lab::sm80_kernels {

using Kernel = void(int* out);

// --- ldmatrix and stmatrix: one warp, unless said otherwise ---------------------------------------
Kernel ldmatrix_right, ldmatrix_unordered, ldmatrix_other_warp, ldmatrix_uninitialised, ldmatrix_past_end;
Kernel ldmatrix_orders_nothing, mma_orders_nothing, ldmatrix_before_wait, stmatrix_unordered, stmatrix_right;
// --- cp.async, every thread its own copies ---------------------------------------------------------
Kernel copies_by_all, copies_one_group_early, copies_not_committed, copies_other_threads_wait;
// --- named barriers ---------------------------------------------------------------------------------
Kernel named_producer_consumer, named_third_reads, named_third_writes, arrive_acquires_nothing, named_chain,
    named_chain_backwards, named_written_after_arrive, named_two_groups, named_across_groups, named_reused_by_others;
Kernel named_readers_done, named_one_reader_forgotten, named_reader_of_round_two_forgotten, named_then_block;
Kernel named_orders_own_lanes, arrive_orders_no_lanes;

}  // namespace lab::sm80_kernels
