#include "checks/backward/cases.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "checks/acceptance/cases.hpp"
#include "common/backend.hpp"

namespace lab {
namespace {

constexpr int RAGGED_LENGTHS[] = {1, 15, 17, 31, 32, 33, 63, 64, 65, 100, 127, 129};
// So few heads, though more than one, and so many tiles that a stage may split its queries, and under the mask leave
// blocks without any.
constexpr Shape SPLIT{1, 2, 200, 128, true};
// Gradients that are finite halves, of dS that are not, up to what the largest halves make of it: 1e11. `LARGEST` makes
// every element the largest half, or its negative.
constexpr double LARGEST = 1e12;
struct Magnified {
  Shape shape;
  Family family;
  float scale;
  Magnitudes by;
};
constexpr Magnified MAGNIFIED[] = {
    {{1, 2, 130, 128, false}, Family::unit, 1e-4f, {1, 0.01, 1000, 1000}},
    {{1, 2, 210, 128, true}, Family::unit, 1e-5f, {1, 1, 3000, 3000}},
    {{1, 1, 100, 64, false}, Family::unit, 1e-7f, {1, 1, LARGEST, LARGEST}},
    {{1, 1, 100, 64, true}, Family::unit, 1e-3f, {1, 1, LARGEST, 1}},
    {{1, 1, 100, 128, true}, Family::unit, 1e-3f, {1, 1, 1, LARGEST}},
    // Most of a row's weight on one key, and q and k close to the largest half, too.
    {{1, 1, 130, 64, true}, Family::peaked, 2.5e-9f, {7000, 7000, 3000, 3000}},
    {{1, 1, 100, 128, false}, Family::peaked, 1.8e-9f, {7000, 7000, 3000, 3000}},
    // scale dS is no half, and K is small; or dS is a half, and K large, and scale dS would be a subnormal one.
    {{1, 2, 65, 128, false}, Family::unit, 10, {1e-3, 1e-3, 1000, 1000}},
    {{1, 2, 65, 64, true}, Family::unit, 1e-5f, {1, 20000, 1, 1}},
    // In one of two heads, and of two tiles of keys; and from the last row of a tile on.
    {{1, 2, 200, 64, false}, Family::unit, 1e-5f, {1, 1, 3000, 3000, 200 + 128}},
    {{1, 1, 129, 128, true}, Family::unit, 1e-3f, {1, 1, 1000, 3000, 127}},
};
constexpr Family TELLING[] = {Family::unit,       Family::peaked,  Family::offset,  Family::swamped,
                              Family::cancelling, Family::impulse, Family::matched, Family::constant};

}  // namespace

// dK takes from every query and dQ from every key, so no sample of blocks stands for a head: every block runs, and the
// shapes are small.
std::vector<Case> backward_cases(std::uint64_t seed, bool full) {
  std::vector<Case> cases;
  for (Shape shape : NOTES_SHAPES) {
    if (!full && shape.S > 512) continue;
    if (!full) shape.H = 1;
    cases.push_back({Group::notes, shape, Family::notes, seed});
    cases.push_back({Group::notes, shape, Family::unit, seed});
  }
  for (const Family family : TELLING)
    for (const int D : {64, 128})
      for (const bool causal : {false, true}) cases.push_back({Group::families, {1, 1, 130, D, causal}, family, seed});
  for (const int D : {64, 128})
    for (const int S : RAGGED_LENGTHS)
      for (const bool causal : {false, true}) {
        // Both B and H above 1 tell their strides apart; where that costs too much, they take turns.
        Shape shape{2, 3, S, D, causal};
        if (S > 33) (S % 2 ? shape.B : shape.H) = 1;
        if (S > 65) shape.B = 1, shape.H = 2;
        cases.push_back({Group::ragged, shape, Family::unit, seed});
      }
  // Grids so long that a stage may have a tile for them (common/fills_a_gpu.hpp).
  for (const Shape& shape : {Shape{1, 67, 130, 64, false}, Shape{5, 53, 40, 64, true}})
    cases.push_back({Group::ragged, shape, Family::unit, seed});
  if (!can_schedule()) cases.push_back({Group::ragged, MANY_HEADS, Family::unit, seed});
  // Longer, to be split; D = 64 is among the notes' shapes.
  cases.push_back({Group::ragged, SPLIT, Family::unit, seed});
  for (const bool causal : {false, true})
    cases.push_back({Group::ragged, {1, 1, 300, 128, causal}, Family::unit, seed});
  // Scores far from 0 where zeros stand for what lies past the end.
  for (const Shape& shape : {Shape{1, 2, 100, 64, false}, Shape{2, 1, 65, 128, true}})
    cases.push_back({Group::ragged, shape, Family::offset, seed});
  constexpr std::pair<Shape, float> SCALED[] = {{{1, 2, 100, 64, false}, 0.3f}, {{1, 2, 100, 64, true}, -0.125f},
                                                {{1, 1, 100, 128, true}, 1.7f}, {{1, 2, 65, 64, true}, 0.0f},
                                                {{1, 2, 65, 64, false}, 8.0f},  {{1, 1, 65, 128, false}, -0.7f}};
  for (const auto& [shape, scale] : SCALED) cases.push_back({Group::scales, shape, Family::unit, seed, scale});
  // As large as the bound of first order allows.
  constexpr std::pair<Shape, double> LARGE[] = {
      {{1, 1, 100, 64, false}, 4}, {{1, 1, 100, 64, true}, 8}, {{1, 1, 100, 128, true}, 6}};
  for (const auto& [shape, amplitude] : LARGE)
    for (const Family family : {Family::unit, Family::matched, Family::constant})
      cases.push_back({Group::amplitudes, shape, family, seed, {}, amplitude});
  for (const Magnified& c : MAGNIFIED)
    cases.push_back({Group::amplitudes, c.shape, c.family, seed, c.scale, 1, 0, c.by});
  for (const int D : {64, 128})
    for (const bool causal : {false, true})
      cases.push_back({Group::special, {1, SPECIALS, 139, D, causal}, Family::special, seed});
  return cases;
}

double cost(const Case& c) { return double(c.shape.rows()) * c.shape.S * c.shape.D; }

std::vector<Case> cheapest_cases(std::vector<Case> cases, std::size_t count) {
  std::ranges::stable_sort(cases, {}, cost);
  std::size_t place = 0;
  std::erase_if(cases, [&](const Case& c) { return place++ >= count && c.shape != SPLIT; });
  return cases;
}

std::vector<Case> random_backward_cases(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t end) { return int(random() % end); };
  std::vector<Case> cases;
  for (std::size_t i = 0; i < count; ++i) {
    const Shape shape{1 + below(2), 1 + below(3), 1 + below(200), below(2) ? 64 : 128, below(2) == 0};
    const Family family = TELLING[below(std::size(TELLING))];
    cases.push_back({Group::ragged, shape, family, random() % 1000});
  }
  return cases;
}

}  // namespace lab
