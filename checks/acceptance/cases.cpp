#include "checks/acceptance/cases.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "checks/acceptance/backward_bound.hpp"
#include "checks/acceptance/format.hpp"
#include "common/backend.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

// --- the forward pass ---------------------------------------------------------------------------------------

constexpr Shape LONG_CAUSAL_128{2, 8, 2048, 128, true};
constexpr int RAGGED_LENGTHS[] = {1, 15, 16, 17, 63, 64, 65, 100, 127, 129, 500, 513};

// The last head starts past 2^32 elements, and the grid is as high as CUDA allows. 8.6 GB per tensor: on the CPU these
// are addresses, of which a few pages are touched.
constexpr Shape FAR{1, 65535, 513, 128, false};
static_assert(FAR.elements() - std::size_t(FAR.S) * FAR.D > std::size_t(1) << 32);

// Each amplitude with each kind of k, each kind at both D, causal and not, at a length that 64 divides and at others,
// with other scales. Lengths of up to 330 keys take the kernels past several maxima and a last tile that is not
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
    {1000, Family::constant, {2, 1, 100, 64, true}, 0.3f},
    {6000, Family::unit, {1, 1, 200, 128, true}, 0.05f},
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
    {30000, Family::constant, {1, 1, 128, 128, false}, 0.0625f},
    {65504, Family::unit, {1, 1, 200, 128, false}},
    {65504, Family::unit, {1, 2, 100, 64, true}, 0.3f},
    {65504, Family::matched, {2, 1, 129, 64, true}, 5e26f},
    {65504, Family::constant, {1, 1, 200, 128, true}},
    {65504, Family::constant, {1, 2, 65, 64, false}, 5e26f},
    {65504, Family::unit, {1, 2, 200, 64, false}, 2e-10f},
};

// --- the backward pass --------------------------------------------------------------------------------------

constexpr int BACKWARD_LENGTHS[] = {1, 15, 17, 31, 32, 33, 63, 64, 65, 100, 127, 129};
// Two heads, and tiles enough that a stage may split its queries and, under the mask, leave blocks without any.
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

std::string magnified(const Magnitudes& by) {
  std::string text;
  for (const auto& [name, factor] : {std::pair{"q", by.q}, {"k", by.k}, {"v", by.v}, {"dO", by.dout}})
    if (factor != 1) text += format("%s%s * %g", text.empty() ? "; " : ", ", name, factor);
  return text + (by.first ? format(" from row %zu on", by.first) : "");
}

}  // namespace

float scale_of(const Case& test) { return test.scale ? *test.scale : float(default_scale(test.shape.D)); }

std::string text(const Shape& s) { return format("(%d,%d,%d,%d)%s", s.B, s.H, s.S, s.D, s.causal ? " causal" : ""); }

std::string beside(const Case& c) {
  return (c.multiprocessors ? format("; %d multiprocessor%s", c.multiprocessors, c.multiprocessors == 1 ? "" : "s")
                            : "") +
         (c.amplitude == 1 ? "" : format("; amplitude %g", c.amplitude)) +
         (c.scale ? format("; scale %g", *c.scale) : "") + magnified(c.magnitudes);
}

std::string text(const Case& c) {
  return format("%s %s%s, seed %llu", name(c.family), text(c.shape).c_str(), beside(c).c_str(),
                (unsigned long long)c.seed);
}

Shape tensors_of(const Case& test) {
  Shape shape = test.shape;
  if (test.group == Group::far) shape.B = shape.H = 1;
  return shape;
}

Problem problem_of(const Subject& subject, const Case& test) {
  const Shape shape = tensors_of(test);
  return {shape, scale_of(test), test.family,
          subject.backward ? make_backward_inputs(test.family, shape, test.seed, test.amplitude, test.magnitudes)
                           : make_inputs(test.family, shape, test.seed, {}, test.amplitude),
          test.group == Group::notes && !subject.backward};
}

std::vector<Case> forward_cases(std::uint64_t seed) {
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
        Shape shape{2, 3, S, D, causal};
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
  // At 1e-30 all keys weigh the same. At 8 a last tile of
  // one key lies so far below the maximum that exp of the difference, taken the wrong way round, is infinite.
  constexpr std::pair<Shape, float> SCALED[] = {{{1, 3, 200, 64, false}, 0.3f},  {{1, 3, 200, 64, true}, 0.05f},
                                                {{1, 2, 100, 128, true}, 1.7f},  {{1, 2, 100, 128, false}, 0.7f},
                                                {{1, 2, 129, 64, true}, 1e-30f}, {{1, 1, 1030, 128, false}, 0.02f},
                                                {{1, 8, 65, 64, false}, 8.0f},   {{1, 8, 65, 128, false}, 8.0f}};
  for (const auto& [shape, scale] : SCALED) cases.push_back({Group::scales, shape, Family::unit, seed, scale});
  for (const Large& c : LARGE) cases.push_back({Group::amplitudes, c.shape, c.family, seed, c.scale, c.amplitude});
  for (const int D : {64, 128})
    for (const bool causal : {false, true})
      cases.push_back({Group::special, {1, SPECIALS, 139, D, causal}, Family::special, seed});
  cases.push_back({Group::far, FAR, Family::unit, seed});
  return cases;
}

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
    for (const int S : BACKWARD_LENGTHS)
      for (const bool causal : {false, true}) {
        // Both B and H above 1 tell their strides apart; where that costs too much, they take turns.
        Shape shape{2, 3, S, D, causal};
        if (S > 33) (S % 2 ? shape.B : shape.H) = 1;
        if (S > 65) shape.B = 1, shape.H = 2;
        cases.push_back({Group::ragged, shape, Family::unit, seed});
      }
  // Grids so long that a stage may have a tile for them (fills_a_gpu of b3).
  for (const Shape& shape : {Shape{1, 67, 130, 64, false}, Shape{5, 53, 40, 64, true}})
    cases.push_back({Group::ragged, shape, Family::unit, seed});
  if (!can_schedule()) cases.push_back({Group::ragged, MANY_HEADS, Family::unit, seed});
  // Longer, to be split; D = 64 is among the notes' shapes.
  cases.push_back({Group::ragged, SPLIT, Family::unit, seed});
  for (const bool causal : {false, true})
    cases.push_back({Group::ragged, {1, 1, 300, 128, causal}, Family::unit, seed});
  // Key blocks that wait for each other, three of a head and nine; ten of the only head, whose parts lie apart.
  if (subject().together > 1)
    for (const Shape& shape : {Shape{1, 45, 260, 64, false}, Shape{1, 5, 1030, 128, true}, Shape{1, 1, 1153, 64, true}})
      cases.push_back({Group::ragged, shape, Family::unit, seed});
  // Scores far from 0 where zeros stand for what lies past the end.
  for (const Shape& shape : {Shape{1, 2, 100, 64, false}, Shape{2, 1, 65, 128, true}})
    cases.push_back({Group::ragged, shape, Family::offset, seed});
  constexpr std::pair<Shape, float> SCALED[] = {{{1, 2, 100, 64, false}, 0.3f}, {{1, 2, 100, 64, true}, 0.05f},
                                                {{1, 1, 100, 128, true}, 1.7f}, {{1, 2, 65, 64, true}, 1e-30f},
                                                {{1, 2, 65, 64, false}, 8.0f},  {{1, 1, 65, 128, false}, 0.7f}};
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

std::vector<Case> cases_of(const Subject& subject, const AcceptanceOptions& options) {
  return subject.backward ? backward_cases(options.seed, options.full || !can_schedule()) : forward_cases(options.seed);
}

void leave_cheapest(std::vector<Case>& cases, const std::function<double(const Case&)>& cost, std::size_t count) {
  std::ranges::stable_sort(cases, {}, cost);
  std::size_t place = 0;
  if (count) std::erase_if(cases, [&](const Case& c) { return place++ >= count && c.shape != SPLIT; });
}

}  // namespace lab
