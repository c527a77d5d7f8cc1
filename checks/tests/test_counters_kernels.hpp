// Instrumented kernels, of which a person can count what they ask for; and two for test_reports.cpp.
#pragma once
namespace lab::counters_kernels {

using Kernel = void(float* out);

Kernel other_places_each_time, waits_for_the_slowest, late_for_a_named_barrier;
Kernel races_everywhere, spins_on_plain;

}  // namespace lab::counters_kernels
