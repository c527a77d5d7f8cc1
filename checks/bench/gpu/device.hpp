// The benchmark's needs of a GPU beyond launching: normal numbers and comparisons made in place, and the clocks and
// power that a figure was measured at.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace lab::gpu {

// Fills with N(0,1) times `factor` plus `offset`, a hash of (seed, index): drawing the long shapes' numbers on the host
// would take longer than timing them.
void fill_normal(half* to, std::size_t size, std::uint64_t seed, cudaStream_t stream, float factor = 1,
                 float offset = 0);

// Elements of `now` that are NaN, or differ in any bit from `before` (if that is not null).
std::size_t count_bad(const half* now, const half* before, std::size_t size, cudaStream_t stream);

// A number that changes with any bit of the tensor and its place.
std::uint64_t digest(const half* tensor, std::size_t size, cudaStream_t stream);

// As NVML reads them now: the clock, and the energy since the driver was loaded, a counter that moves every 100 ms or
// less. Nothing where NVML is not to be had.
struct State {
  double sm_mhz = 0, joules = 0;
};
std::optional<State> state_now();

}  // namespace lab::gpu
