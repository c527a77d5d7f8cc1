#include "checks/acceptance/cases.hpp"

#include <array>
#include <optional>
#include <utility>

#include "reference/attention.hpp"

namespace lab {
namespace {

constexpr Shape LONG_CAUSAL_128{2, 8, 2048, 128, true};
constexpr int RAGGED_LENGTHS[] = {1, 15, 16, 17, 63, 64, 65, 100, 127, 129, 500, 513};

// The last head starts past 2^32 elements, and the grid is as high as CUDA allows. 8.6 GB per tensor: on the CPU these
// are addresses, of which a few pages are touched.
constexpr Shape FAR{1, 65535, 513, 128, false};
static_assert(FAR.elements() - std::size_t(FAR.S) * FAR.D > std::size_t(1) << 32);

// Each amplitude with each kind of k, each kind at both D, causal and not, at a length that 64 divides and at others,
// with a negative scale. Lengths of up to 330 keys take the kernels past several maxima and a last tile that is not
// whole. At a scale of 5e26 scores reach 2e38 in exp2's units, near fp32's largest number; at 2e-10 they are near 0.
struct Large {
  double amplitude;
  Family family;
  Shape shape;
  std::optional<float> scale = {};
};
constexpr Large LARGE[] = {
    {1000, Family::unit, {1, 2, 320, 64, false}},
    {1000, Family::matched, {1, 1, 129, 128, true}},
    {1000, Family::constant, {2, 1, 100, 64, true}, -0.3f},
    {6000, Family::unit, {1, 1, 200, 128, true}, -0.05f},
    {6000, Family::matched, {1, 2, 320, 64, false}},
    {6000, Family::matched, {1, 2, 65, 128, false}},
    {6000, Family::constant, {1, 1, 330, 128, false}},
    {12000, Family::unit, {1, 2, 320, 64, false}},
    {12000, Family::unit, {2, 1, 192, 128, false}},
    {12000, Family::matched, {1, 1, 300, 64, true}},
    {12000, Family::constant, {1, 1, 64, 64, false}},
    {20000, Family::constant, {1, 2, 320, 64, false}},
    {20000, Family::constant, {1, 1, 150, 128, true}},
    {30000, Family::unit, {1, 2, 129, 64, true}},
    {30000, Family::matched, {1, 1, 256, 128, false}},
    {30000, Family::constant, {1, 1, 330, 64, true}},
    {30000, Family::constant, {1, 1, 128, 128, false}, -0.0625f},
    {65504, Family::unit, {1, 1, 200, 128, false}},
    {65504, Family::unit, {1, 2, 100, 64, true}, -0.125f},
    {65504, Family::matched, {2, 1, 129, 64, true}, 5e26f},
    {65504, Family::constant, {1, 1, 200, 128, true}},
    {65504, Family::constant, {1, 2, 65, 64, false}, -5e26f},
    {65504, Family::unit, {1, 2, 200, 64, false}, 2e-10f},
};

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
    // The shorter one tells an output that is rounded between tiles, and costs little. Three heads are not split:
    // parts of the keys to several blocks, each of which would have less to lose.
    for (const int S : {512, 2048})
      cases.push_back({Group::families, {1, S == 2048 && D == 64 ? 3 : 1, S, D, false}, Family::swamped, seed});
    cases.push_back({Group::families, {1, 2, 128, D, false}, Family::cancelling, seed});
  }
  // So long that what an O in fp16 does not lose adds up to three times the bound, in tiles of 64 keys. Two heads: of
  // odd ones V is large.
  cases.push_back({Group::families, {1, 2, 1024, 64, false}, Family::climbing, seed});
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
  // Heads enough for the tiles that a stage keeps for large grids, at lengths that they do not divide.
  for (const int D : {64, 128})
    for (const bool causal : {false, true})
      cases.push_back({Group::ragged, {3, 45, 200, D, causal}, Family::unit, seed});
  // On few multiprocessors four warpgroups share several query tiles under a mask, longer ones than the ring and
  // shorter: the first group, which passes over tiles at the end of each, is the furthest ahead.
  cases.push_back({Group::ragged, {1, 3, 390, 64, true}, Family::unit, seed});
  // Scores far from 0 where zeros stand for the keys past the end.
  for (const Shape& shape : {Shape{1, 2, 100, 64, false}, Shape{2, 1, 129, 128, true}, Shape{1, 1, 1030, 64, true},
                             Shape{1, 2, 500, 128, false}})
    cases.push_back({Group::ragged, shape, Family::offset, seed});
  // With a negative scale the largest product is the smallest score; at 0 all keys weigh the same. At 8 a last tile of
  // one key lies so far below the maximum that exp of the difference, taken the wrong way round, is infinite.
  constexpr std::pair<Shape, float> SCALED[] = {{{1, 3, 200, 64, false}, 0.3f}, {{1, 3, 200, 64, true}, -0.125f},
                                                {{1, 2, 100, 128, true}, 1.7f}, {{1, 2, 100, 128, false}, -0.7f},
                                                {{1, 2, 129, 64, true}, 0.0f},  {{1, 1, 1030, 128, false}, -0.05f},
                                                {{1, 8, 65, 64, false}, 8.0f},  {{1, 8, 65, 128, false}, 8.0f}};
  for (const auto& [shape, scale] : SCALED) cases.push_back({Group::scales, shape, Family::unit, seed, scale});
  for (const Large& c : LARGE) cases.push_back({Group::amplitudes, c.shape, c.family, seed, c.scale, c.amplitude});
  for (const int D : {64, 128})
    for (const bool causal : {false, true})
      cases.push_back({Group::special, {1, SPECIALS, 139, D, causal}, Family::special, seed});
  cases.push_back({Group::far, FAR, Family::unit, seed});
  return cases;
}

}  // namespace lab
