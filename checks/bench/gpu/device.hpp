// The benchmark's needs of a GPU beyond launching: normal numbers and comparisons made in place, and the clock that a
// figure was measured at.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace lab::gpu {

// Fills with N(0,1), a hash of (seed, index): drawing the long shapes' numbers on the host would take longer than timing them.
void fill_normal(half* to, std::size_t size, std::uint64_t seed, cudaStream_t stream);

// Elements that are NaN; one that no thread has written is.
std::size_t count_nan(const half* tensor, std::size_t size, cudaStream_t stream);

// The clock as NVML reads it now; 0 where NVML is not to be had.
double sm_mhz_now();

}  // namespace lab::gpu
