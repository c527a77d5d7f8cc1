// What `store` is given, and what must come out: its elements doubled, in halves, up to the result's last row.
#include "checks/exercises/drills/drill.hpp"
#include "common/launch.cuh"

__global__ void mechanism(const half* in, lab::TensorMap map, int tiles);

namespace {

constexpr int ROWS = 64, COLUMNS = 64;

lab::Drill of(int tiles, int rows) {
  lab::Drill d;
  d.name = std::to_string(rows) + " rows";
  d.halves = true;
  d.in = lab::small_numbers(tiles * ROWS * COLUMNS);
  for (int i = 0; i < rows * COLUMNS; ++i) d.right.push_back(2 * lab::to_float(d.in[std::size_t(i)]));
  d.start = [tiles, rows](const half* in, float* out) {
    lab::TensorShape tensor;
    tensor.extent[0] = COLUMNS, tensor.stride[0] = sizeof(half), tensor.box[0] = COLUMNS;
    tensor.extent[1] = std::uint64_t(rows), tensor.stride[1] = COLUMNS * sizeof(half), tensor.box[1] = ROWS;
    lab::TensorMap map;
    if (const cudaError_t error = lab::make_tensor_map(map, reinterpret_cast<const half*>(out), tensor);
        error != cudaSuccess)
      return error;
    return lab::launch("mechanism", mechanism, dim3(1), dim3(128), ROWS * COLUMNS * sizeof(half), nullptr, in,
                       lab::TensorMap(map), tiles);
  };
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() { return {of(1, 64), of(3, 150)}; }
