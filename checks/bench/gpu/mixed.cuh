// A hash for numbers made in place: what the benchmark and the validator draw, and the validator's digests.
#pragma once
#include <cstdint>

namespace lab::gpu {

__device__ inline std::uint64_t mixed(std::uint64_t x) {  // the finaliser of splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace lab::gpu
