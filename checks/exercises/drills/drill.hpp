// One instruction, one kernel of ten lines: `__global__ void drill(const half* in, float* out)`, or, with the copy
// engine, drill(map, out) and drill_tensor(), of which the host makes the map. Beside each such kernel, NAME.cu, stands
// NAME.cpp, which says what it is given and what must come out, bit for bit.
#pragma once
#include <cuda_fp16.h>

#include <vector>

#include "common/fp16.hpp"
#include "common/tensor_map.hpp"

namespace lab {

struct Drill {
  std::vector<fp16> in;
  std::vector<float> right;
  unsigned threads = 32;
  unsigned shared_bytes = 0;
  void (*kernel)(const half* in, float* out) = nullptr;  // one of these two
  void (*with_map)(TensorMap map, float* out) = nullptr;
  TensorShape tensor;  // of `in`, for the second
};
// NAME.cpp defines it. Small whole numbers: then no order of additions changes a bit.
Drill the_drill();

// -8 .. 7, another one for each place.
inline float small_number(unsigned place) { return float(int(place * 2654435761u >> 28) - 8); }

}  // namespace lab

__global__ void drill(const half* in, float* out);
__global__ void drill(lab::TensorMap map, float* out);
lab::TensorShape drill_tensor();
