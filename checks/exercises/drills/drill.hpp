// One instruction, one kernel of ten lines: `__global__ void drill(const half* in, float* out)`, or, with the copy
// engine, drill(map, out) and drill_tensor(), of which the host makes the map. NAME.cu has both parts of it: #ifdef SOLUTION
// stands before the solution's, #else before what is handed out. Beside it NAME.cpp says what it is given and what must
// come out, bit for bit. A mechanism of 60 lines is laid out the same way; NAME.cpp may launch it at several sizes, and
// look at the order of what it does.
#pragma once
#include <cuda_fp16.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/backend.hpp"
#include "common/fp16.hpp"
#include "common/launch.cuh"
#include "common/stage.hpp"
#include "common/tensor_map.hpp"

namespace lab {

struct Drill {
  std::string name = "drill";  // of several launches: what reports and bounds call this one
  std::vector<fp16> in;
  std::vector<float> right;  // what `out` must hold; halves there, if all of `out` is written as halves
  bool halves = false;
  std::function<cudaError_t(const half* in, float* out)> start{};  // launches it; on_input() and on_map() fill it in
  // Says why the order in which things happened is wrong, or "".
  std::function<std::string(std::span<const ExecEvent>)> order{};
};
// NAME.cpp defines it. Small whole numbers: then no order of additions changes a bit.
LAB_EXPORT std::vector<Drill> the_drills();

// `make grade` chooses inputs by it: others than a learner has seen.
extern unsigned input_seed;
// -8 .. 7, another one for each place.
inline float small_number(unsigned place) { return float(int((place + input_seed * 7919u) * 2654435761u >> 28) - 8); }
// The first `count` of them, as a drill's input; and an input's values.
inline std::vector<fp16> small_numbers(std::size_t count) {
  std::vector<fp16> in(count);
  for (std::size_t i = 0; i < count; ++i) in[i] = to_fp16(small_number(unsigned(i)));
  return in;
}
inline std::vector<float> as_floats(const std::vector<fp16>& in) {
  std::vector<float> x;
  for (const fp16 h : in) x.push_back(to_float(h));
  return x;
}

// Adds A B to what must come out, row by row: the input holds A[M][K] and then B[K][N], or the transpose B[N][K].
void multiply(Drill& d, std::size_t M, std::size_t N, std::size_t K, bool transposed);
// A matrix of halves as the copy engine sees it, by boxes.
TensorShape matrix_of(std::size_t rows, std::size_t columns, unsigned box_rows, unsigned box_columns,
                      Swizzle swizzle = Swizzle::b128);

// A launch; it may ask for more than 48 KiB of shared memory.
struct Size {
  unsigned threads = 32;
  std::size_t shared_bytes = 0;
  dim3 blocks = dim3(1), cluster = dim3(1);
  const char* name = "mechanism";
};
template <class Kernel, class... Args>
cudaError_t start(Kernel* kernel, const Size& size, Args... args) {
  if (const cudaError_t error = opt_in_smem(size.name, kernel, size.shared_bytes); error != cudaSuccess) return error;
  return launch_with({size.cluster}, size.name, kernel, size.blocks, dim3(size.threads), size.shared_bytes, nullptr,
                     std::move(args)...);
}
// Calls launch(map of a tensor at `at`).
template <class Launch>
cudaError_t with_map(const half* at, const TensorShape& tensor, Launch launch) {
  TensorMap map;
  const cudaError_t made = make_tensor_map(map, at, tensor);
  return made != cudaSuccess ? made : launch(map);
}
// The drill's launch is kernel(in, more..., out), or kernel(map of a tensor at `in`, more..., out).
template <class Kernel, class... More>
void on_input(Drill& d, Kernel* kernel, const Size& size, More... more) {
  d.start = [=](const half* in, float* out) { return start(kernel, size, in, more..., out); };
}
template <class Kernel, class... More>
void on_map(Drill& d, Kernel* kernel, const TensorShape& tensor, const Size& size, More... more) {
  d.start = [=](const half* in, float* out) {
    return with_map(in, tensor, [&](TensorMap map) { return start(kernel, size, std::move(map), more..., out); });
  };
}
// "1 tile", "3 tiles".
inline std::string number_of(int count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}
// Says which warp asks for a tile, if it is another than this one; or "".
std::string asked_elsewhere(std::span<const ExecEvent> events, int warp);

// How warp 0's products overlap: waits that leave one of two wgmma groups under way, and the most groups at once.
struct Overlap {
  int waits = 0, most = 0;
};
Overlap overlap_of(std::span<const ExecEvent> events);
// "" if there are `wanted` such waits: one for each `of` (a step, a tile) but the first.
std::string too_little(const Overlap& overlap, int wanted, const std::string& of);

}  // namespace lab

// The kernel of one instruction: with its input, or with the map of the tensor drill_tensor().
__global__ void drill(const half* in, float* out);
__global__ void drill(lab::TensorMap map, float* out);
lab::TensorShape drill_tensor();
namespace lab {
inline Drill instruction(unsigned threads, std::size_t shared_bytes) {
  Drill d;
  on_input<void(const half*, float*)>(d, drill, {threads, shared_bytes, dim3(1), dim3(1), "drill"});
  return d;
}
inline Drill instruction_on_map(std::size_t shared_bytes) {
  Drill d;
  on_map<void(TensorMap, float*)>(d, drill, drill_tensor(), {32, shared_bytes, dim3(1), dim3(1), "drill"});
  return d;
}
}  // namespace lab
