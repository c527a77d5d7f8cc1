// Inputs of `store`, and the right answer: its elements doubled, in halves, up to the result's last row.
#include "checks/exercises/drills/drill.hpp"

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
    return lab::with_map(reinterpret_cast<const half*>(out), lab::matrix_of(std::size_t(rows), COLUMNS, ROWS, COLUMNS),
                         [&](lab::TensorMap map) {
                           return start(mechanism, {128, ROWS * COLUMNS * sizeof(half)}, in, std::move(map), tiles);
                         });
  };
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() { return {of(1, 64), of(3, 150)}; }
