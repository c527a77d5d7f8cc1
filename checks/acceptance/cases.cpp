#include "checks/acceptance/cases.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>

#include "common/backend.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

constexpr Shape NOTES_SHAPES[] = {{1, 8, 512, 64, false},
                                  {1, 8, 512, 64, true},
                                  {2, 8, 2048, 64, false},
                                  {2, 8, 2048, 64, true},
                                  {2, 8, 2048, 128, false}};
constexpr Shape LONG_CAUSAL_128{2, 8, 2048, 128, true};
constexpr int RAGGED_LENGTHS[] = {1, 15, 16, 17, 63, 64, 65, 100, 127, 129, 500, 513};

// The last head starts past 2^32 elements, and the grid is as high as CUDA allows. 8.6 GB per tensor: on the CPU these
// are addresses, of which a few pages are touched.
constexpr Shape FAR{1, 65535, 513, 128, false};
static_assert(FAR.elements() - std::size_t(FAR.S) * FAR.D > std::size_t(1) << 32);

// A cost of 1 is a 64-row tile at S=2048, D=64: 40 ms (v1) to 90 ms (v2b) of a core on the CPU backend. What
// a case may spend unless full=1: the mission shape runs whole on the notes' inputs.
constexpr double NOTES_COST = 17, CHECKED_COST = 6;  // the launch that the oracle checks
constexpr double REPEATED_COST = 0.5;                // each later one, compared bit by bit
constexpr std::size_t FEWEST_CHECKED = 4, FEWEST_REPEATED = 1;

// `count` of `total`, ascending: one at random from each of `count` equal runs, so that they spread over
// heads and batches; the last is always among them, and the first if there are two.
std::vector<std::uint32_t> sample(std::uint32_t total, std::size_t count, std::uint64_t seed) {
  count = std::min<std::size_t>(count, total);
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t from = total * i / count, to = total * (i + 1) / count;
    chosen.push_back(std::uint32_t(i + 1 == count ? total - 1 : i == 0 ? 0 : from + random() % (to - from)));
  }
  return chosen;
}

}  // namespace

float scale_of(const Case& test) { return test.scale ? *test.scale : float(default_scale(test.shape.D)); }

std::vector<Case> all_cases(std::uint64_t seed) {
  std::vector<Case> cases;
  for (const Shape& shape : NOTES_SHAPES) cases.push_back({Group::notes, shape, Family::notes, seed});
  for (const Family family : {Family::unit, Family::peaked, Family::offset, Family::impulse})
    for (const Shape& shape : NOTES_SHAPES)
      if (family != Family::impulse || shape.S <= 512) cases.push_back({Group::families, shape, family, seed});
  for (const Family family : {Family::unit, Family::peaked})
    cases.push_back({Group::families, LONG_CAUSAL_128, family, seed});
  for (const int D : {64, 128}) {
    cases.push_back({Group::families, {1, 1, 2048, D, false}, Family::swamped, seed});
    cases.push_back({Group::families, {1, 2, 128, D, false}, Family::cancelling, seed});
  }
  for (const int D : {64, 128})
    for (const int S : RAGGED_LENGTHS)
      for (const bool causal : {false, true}) {
        // Both B and H above 1 tell their strides apart; where that costs too much, they take turns.
        Shape shape{3, 5, S, D, causal};
        if (S > 129) (S % 2 ? shape.B : shape.H) = 1;
        cases.push_back({Group::ragged, shape, Family::unit, seed});
      }
  // More keys than the ring of slots holds tiles, and a last tile that is not whole.
  for (const bool causal : {false, true})
    for (const auto& [B, H, S, D] : {std::array{1, 2, 1030, 64}, {2, 1, 1100, 128}, {1, 2, 2049, 64}})
      cases.push_back({Group::ragged, {B, H, S, D, causal}, Family::unit, seed});
  // Scores far from 0 where zeros stand for the keys past the end.
  for (const Shape& shape : {Shape{1, 2, 100, 64, false}, Shape{2, 1, 129, 128, true}, Shape{1, 1, 1030, 64, true},
                             Shape{1, 2, 500, 128, false}})
    cases.push_back({Group::ragged, shape, Family::offset, seed});
  // With a negative scale the largest product is the smallest score; at 0 all keys weigh the same.
  constexpr std::pair<Shape, float> SCALED[] = {{{1, 3, 200, 64, false}, 0.3f}, {{1, 3, 200, 64, true}, -0.125f},
                                                {{1, 2, 100, 128, true}, 1.7f}, {{1, 2, 100, 128, false}, -0.7f},
                                                {{1, 2, 129, 64, true}, 0.0f},  {{1, 1, 1030, 128, false}, -0.05f}};
  for (const auto& [shape, scale] : SCALED) cases.push_back({Group::scales, shape, Family::unit, seed, scale});
  for (const int D : {64, 128})
    for (const bool causal : {false, true})
      cases.push_back({Group::special, {1, 8, 150, D, causal}, Family::special, seed});
  cases.push_back({Group::far, FAR, Family::unit, seed});
  return cases;
}

Coverage coverage(const Case& test, const Tiling& tiling, bool full) {
  const auto some_of = [&](std::uint32_t total, double cost, std::size_t fewest) {
    return sample(total, std::max(fewest, std::size_t(cost / tiling.tile_cost())), test.seed);
  };
  Coverage c;
  if (test.group == Group::far) {  // the last head's first tile and its last, and nothing before them
    c.checked = {tiling.tiles() - tiling.tiles_per_head, tiling.tiles() - 1};
    return c;
  }
  c.checked = full ? sample(tiling.tiles(), tiling.tiles(), test.seed)
                   : some_of(tiling.tiles(), test.group == Group::notes ? NOTES_COST : CHECKED_COST, FEWEST_CHECKED);
  if (!can_schedule()) {
    c.repeated = c.checked;  // a GPU runs every tile each time
    return c;
  }
  // Even full=1 repeats a sample only, a larger one: all schedules on all tiles would take an hour.
  for (const std::uint32_t i :
       some_of(std::uint32_t(c.checked.size()), full ? CHECKED_COST : REPEATED_COST, FEWEST_REPEATED))
    c.repeated.push_back(c.checked[i]);
  return c;
}

// Four repeats, of which the random schedule takes about as long as three.
double case_cost(const Case& test, bool full) {
  const Tiling t(test.shape, stage().plan(test.shape));
  const Coverage c = coverage(test, t, full);
  return (double(c.checked.size()) + 6.0 * double(c.repeated.size())) * t.tile_cost();
}

}  // namespace lab
