// Inputs of `chain`, and the right answer: the sum of f(Q K^T) V over tiles; and that two products overlap.
#include "checks/exercises/drills/drill.hpp"

__global__ void mechanism(const half* in, int tiles, float* out);

namespace {

constexpr std::size_t N = 64, TILE = N * N;

// Once for each tile but the first: with two groups under way, the wait for the older one alone.
std::string what_is_wrong(int tiles, std::span<const lab::ExecEvent> events) {
  const lab::Overlap overlap = lab::overlap_of(events);
  if (overlap.most > 2) return std::to_string(overlap.most) + " groups are under way at once; two are asked for";
  return too_little(overlap, tiles - 1, "tile");
}

lab::Drill of(int tiles) {
  lab::Drill d;
  d.name = lab::number_of(tiles, "tile");
  d.in = lab::small_numbers((1 + 2 * unsigned(tiles)) * TILE);
  const std::vector<float> x = lab::as_floats(d.in);
  d.right.assign(TILE, 0.0f);
  for (std::size_t t = 0; t < std::size_t(tiles); ++t)
    for (std::size_t row = 0; row < N; ++row)
      for (std::size_t key = 0; key < N; ++key) {
        float score = 0;
        for (std::size_t k = 0; k < N; ++k) score += x[row * N + k] * x[(1 + 2 * t) * TILE + key * N + k];
        for (std::size_t c = 0; c < N && score > 0; ++c) d.right[row * N + c] += x[(2 + 2 * t) * TILE + key * N + c];
      }
  on_input(d, mechanism, {128, 9 * TILE * sizeof(half)}, tiles);
  d.order = [tiles](std::span<const lab::ExecEvent> events) { return what_is_wrong(tiles, events); };
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() { return {of(1), of(4)}; }
