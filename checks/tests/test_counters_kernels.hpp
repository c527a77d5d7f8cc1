// Instrumented kernels, of which a person can count what they ask for; and two for test_reports.cpp.
#pragma once
namespace lab::counters_kernels {

using Kernel = void(float* out);

Kernel down_a_column_4, down_a_column_8, down_a_column_16;  // of rows of `pitch` bytes
Kernel one_word_for_all, half_of_the_lanes, twice_as_often_in_odd_lanes, whole_vectors;
Kernel other_places_each_time;
Kernel global_every_word, global_every_other, global_scattered;
Kernel ldmatrix_rows, ldmatrix_swizzled, copies_16;
Kernel exponentials_of_some, reductions, waits_for_the_slowest, late_for_a_named_barrier;
Kernel races_everywhere, spins_on_plain;
extern int pitch;  // set before a launch

}  // namespace lab::counters_kernels
