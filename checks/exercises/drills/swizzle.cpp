// Inputs of `swizzle`, and the right answer: the tile twice, and the place of each element, which for slabs of 64
// columns is common/hopper/swizzle.cuh's and for slabs of 32 wgmma's (common/wgmma_layout.hpp).
#include "common/hopper/swizzle.cuh"
#include "checks/exercises/drills/drill.hpp"
#include "common/wgmma_layout.hpp"

__global__ void mechanism(lab::TensorMap map, int rows, int columns, int width, float* out);

namespace {

int place_in_wide(int rows, int row, int column) {
  if (rows == 8) return lab::swizzled<8>(row, column);
  if (rows == 24) return lab::swizzled<24>(row, column);
  return rows == 64 ? lab::swizzled<64>(row, column) : lab::swizzled<136>(row, column);
}

int place_in_narrow(int rows, int row, int column) {
  return column / 32 * rows * 32 + int(lab::wgmma_layout::swizzled(std::uint32_t(row * 64 + column % 32 * 2), 64)) / 2;
}

lab::Drill of(int rows, int columns, int width) {
  lab::Drill d;
  d.name = std::to_string(rows) + " x " + std::to_string(columns) + ", width " + std::to_string(width);
  d.in = lab::small_numbers(rows * columns);
  for (int copy = 0; copy < 2; ++copy)
    for (const lab::fp16 x : d.in) d.right.push_back(lab::to_float(x));
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      d.right.push_back(float(width == 64 ? place_in_wide(rows, row, column) : place_in_narrow(rows, row, column)));
  const lab::TensorShape tensor = lab::matrix_of(std::size_t(rows), std::size_t(columns), unsigned(rows),
                                                 unsigned(width), width == 64 ? lab::Swizzle::b128 : lab::Swizzle::b64);
  on_map(d, mechanism, tensor, {64, rows * columns * sizeof(half) + 32}, rows, columns, width);
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() {
  return {of(8, 64, 64), of(24, 128, 64), of(64, 64, 64), of(136, 64, 64), of(8, 32, 32), of(40, 96, 32)};
}
