// A ring of SLOTS slots, each with an mbarrier for `full` and one for `empty`, which tiles go through in order: where
// tile t is, computed from t. (v3j counts along instead.)
#pragma once
#include <cuda_runtime.h>

namespace lab {

// Count: int, or unsigned where more tiles than an int counts may go through.
template <int SLOTS, class Count = int>
struct Ring {
  Count before = 0;  // tiles that went through before tile 0
  __device__ __forceinline__ Count slot(int t) const { return (before + t) % SLOTS; }
  // Of the phase in which the slot becomes full with tile t.
  __device__ __forceinline__ Count parity(int t) const { return (before + t) / SLOTS % 2; }
  struct Place {
    Count slot, parity;
  };
  __device__ __forceinline__ Place at(int t) const { return {slot(t), parity(t)}; }
};

}  // namespace lab
