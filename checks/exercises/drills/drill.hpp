// One instruction, one kernel of ten lines: `__global__ void drill(const half* in, float* out)`, or, with the copy
// engine, drill(map, out) and drill_tensor(), of which the host makes the map. Beside each such kernel, NAME.cu, stands
// NAME.cpp, which says what it is given and what must come out, bit for bit. A mechanism of 60 lines is laid out the
// same way; NAME.cpp may launch it itself, at several sizes, and look at the order of what it does.
#pragma once
#include <cuda_fp16.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/backend.hpp"
#include "common/fp16.hpp"
#include "common/tensor_map.hpp"

namespace lab {

struct Drill {
  std::string name = "drill";  // of several launches: what reports and bounds call this one
  std::vector<fp16> in;
  std::vector<float> right;  // what `out` must hold; halves there, if all of `out` is written as halves
  bool halves = false;
  unsigned threads = 32;
  unsigned shared_bytes = 0;
  void (*kernel)(const half* in, float* out) = nullptr;  // one of these three
  void (*with_map)(TensorMap map, float* out) = nullptr;
  TensorShape tensor;                                              // of `in`, for the second
  std::function<cudaError_t(const half* in, float* out)> start{};  // launches by itself
  // What is wrong with the order in which things happened, or "".
  std::function<std::string(std::span<const ExecEvent>)> order{};
};
// NAME.cpp defines it. Small whole numbers: then no order of additions changes a bit.
std::vector<Drill> the_drills();

// What `make grade` chooses inputs by: others than a learner has seen.
inline unsigned input_seed = 0;
// -8 .. 7, another one for each place.
inline float small_number(unsigned place) { return float(int((place + input_seed * 7919u) * 2654435761u >> 28) - 8); }

}  // namespace lab

__global__ void drill(const half* in, float* out);
__global__ void drill(lab::TensorMap map, float* out);
lab::TensorShape drill_tensor();
