// Kernels for checks/tests/test_counters.cpp, instrumented: each asks for things that a person can count.
#pragma once
namespace lab::counters_kernels {

using Kernel = void(float* out);

Kernel down_a_column_4, down_a_column_8, down_a_column_16;  // of rows of `pitch` bytes
Kernel one_word_for_all, half_of_the_lanes, twice_as_often_in_odd_lanes, whole_vectors;
Kernel other_places_each_time;
Kernel global_every_word, global_every_other, global_scattered;
Kernel ldmatrix_rows, ldmatrix_swizzled, copies_16;
Kernel exponentials_of_some, reductions, waits_for_the_slowest, late_for_a_named_barrier;
extern int pitch;  // set before a launch

}  // namespace lab::counters_kernels
