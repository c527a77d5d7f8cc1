// What `producer` is given, and what must come out: a 64 x 64 product; which warp asks, and that products overlap.
#include <string>

#include "checks/exercises/drills/drill.hpp"
#include "common/launch.cuh"

__global__ void mechanism(lab::TensorMap a, lab::TensorMap b, int steps, float* out);

namespace {

constexpr int MULTIPLIERS = 4;

std::string what_is_wrong(int steps, std::span<const lab::ExecEvent> events) {
  using Kind = lab::ExecEvent::Kind;
  for (const lab::ExecEvent& e : events)
    if (e.kind == Kind::tma_issue && e.warp != MULTIPLIERS)
      return "warp " + std::to_string(e.warp) + " asks for a tile; warp 4 is to ask for all";
  return too_little(lab::overlap_of(events), steps - 1, "step");
}

lab::Drill of(int steps) {
  lab::Drill d;
  d.name = std::to_string(steps) + " steps";
  const std::size_t K = 64 * std::size_t(steps), matrix = 64 * K;
  d.in = lab::small_numbers(2 * matrix);
  const std::vector<float> x = lab::as_floats(d.in);
  for (std::size_t row = 0; row < 64; ++row)
    for (std::size_t column = 0; column < 64; ++column) {
      float sum = 0;
      for (std::size_t k = 0; k < K; ++k) sum += x[row * K + k] * x[matrix + column * K + k];
      d.right.push_back(sum);
    }
  d.start = [steps, K, matrix](const half* in, float* out) {
    constexpr std::size_t BYTES = 6 * 64 * 64 * sizeof(half) + 192;
    if (const cudaError_t error = lab::opt_in_smem("mechanism", mechanism, BYTES); error != cudaSuccess) return error;
    lab::TensorShape tensor;
    tensor.extent[0] = K, tensor.stride[0] = sizeof(half), tensor.box[0] = 64;
    tensor.extent[1] = 64, tensor.stride[1] = K * sizeof(half), tensor.box[1] = 64;
    lab::TensorMap a, b;
    if (const cudaError_t error = lab::make_tensor_map(a, in, tensor); error != cudaSuccess) return error;
    if (const cudaError_t error = lab::make_tensor_map(b, in + matrix, tensor); error != cudaSuccess) return error;
    return lab::launch("mechanism", mechanism, dim3(1), dim3(160), BYTES, nullptr, lab::TensorMap(a), lab::TensorMap(b),
                       steps, out);
  };
  d.order = [steps](std::span<const lab::ExecEvent> events) { return what_is_wrong(steps, events); };
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() { return {of(1), of(5)}; }
