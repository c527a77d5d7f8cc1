// Kernels for checks/tests/test_global.cpp, one block and more at the same global memory. Instrumented, as a stage is.
#pragma once
namespace lab::global_kernels {

using Kernel = void(float* out);

Kernel own_elements, own_halves, all_read, atomic_sums, sums_of_four, read_after_own_write;
Kernel written_twice, plain_sum, plain_over_atomic, zeroed_by_one, read_of_a_sum, read_of_another, read_then_written;
Kernel flushed_sum;

}  // namespace lab::global_kernels
