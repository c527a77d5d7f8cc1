#include "checks/bits/cases.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/sampling.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

using Keys = BitsCase::Keys;

struct Source {
  Family family;
  Keys keys = Keys::drawn;
  float amplitude = 1;
};
// The lengths of these four lists share no factor with each other, with the four (D, causal) or with QUICK_STEP, so
// that case i, the i-th of each, brings all pairs together sooner or later, in the quick part too.
constexpr Source SOURCES[] = {{Family::unit},
                              {Family::notes},
                              {Family::unit, Keys::drawn, 30},
                              {Family::peaked},
                              {Family::unit, Keys::drawn, 1000},
                              {Family::offset},
                              {Family::unit, Keys::same, 1000},
                              {Family::swamped},
                              {Family::unit, Keys::drawn, 6000},
                              {Family::cancelling},
                              {Family::unit, Keys::same, 6000},
                              {Family::special},
                              {Family::unit, Keys::drawn, 12000},
                              {Family::impulse},
                              {Family::unit, Keys::same, 12000},
                              {Family::climbing},
                              {Family::unit, Keys::constant, 12000}};
constexpr int LENGTHS[] = {1, 17, 64, 100, 129, 150, 192, 200, 256, 300, 320};
constexpr std::optional<float> SCALES[] = {{}, 0.05f, 0.3f, {}, 0.7f, 1.7f, 0.01f};
constexpr int MULTIPROCESSORS[] = {132, 1, 4};
constexpr int HEADS[] = {1, 2, 3};
constexpr std::size_t CYCLED = 118, QUICK_STEP = 5;
// So long that the ring of slots goes around several times.
constexpr Shape LONG_SHAPE[] = {{1, 1, 1030, 64, false}, {1, 1, 1030, 128, true}};

template <class T, std::size_t N>
const T& nth(const T (&list)[N], std::size_t i) {
  return list[i % N];
}

std::vector<BitsCase> cycled_cases() {
  std::vector<BitsCase> cases;
  for (std::size_t i = 0; i < CYCLED; ++i) {
    const Source& source = nth(SOURCES, i);
    const Shape shape{1, nth(HEADS, i / 3), nth(LENGTHS, i), i % 2 ? 128 : 64, i / 2 % 2 == 1};
    const float scale = nth(SCALES, i).value_or(float(default_scale(shape.D)));
    cases.push_back({shape, source.family, source.keys, source.amplitude, scale, nth(MULTIPROCESSORS, i)});
  }
  return cases;
}

BitsCase plain(const Shape& shape, int multiprocessors) {
  BitsCase test{shape};
  test.scale = float(default_scale(shape.D)), test.multiprocessors = multiprocessors;
  return test;
}

// For the instances of the kernel that no other case uses.
std::vector<BitsCase> instance_cases(const std::vector<BitsCase>& others) {
  std::set<const void*> used;
  for (const BitsCase& test : others)
    for (const Launched& l : launches_of(subject(), test.shape, test.multiprocessors)) used.insert(l.kernel);
  std::vector<BitsCase> cases;
  for (const auto& [use, problem] : use_problems(subject()))
    if (use.ragged && used.insert(use.kernel).second) cases.push_back(plain(problem.shape, problem.multiprocessors));
  return cases;
}

}  // namespace

std::vector<BitsCase> bits_cases(bool quick) {
  std::vector<BitsCase> cases = cycled_cases();
  for (const Shape& shape : LONG_SHAPE) cases.push_back(plain(shape, 132));
  if (!quick) {
    std::ranges::copy(instance_cases(cases), std::back_inserter(cases));
    return cases;
  }
  std::vector<BitsCase> some;
  for (std::size_t i = 0; i < cases.size(); i += QUICK_STEP) some.push_back(cases[i]);
  return some;
}

std::string text(const BitsCase& test) {
  constexpr const char* KEYS[] = {"", " k=q", " constant"};
  const std::string amplitude = test.amplitude == 1 ? "" : format("*%g", test.amplitude);
  return name(test.family) + amplitude + KEYS[int(test.keys)] + " " + text(test.shape) +
         format(" scale %g", test.scale) +
         (test.multiprocessors ? format(" multiprocessors %d", test.multiprocessors) : "");
}

Inputs inputs_of(const BitsCase& test) {
  constexpr float LARGEST_HALF = 65504;
  Inputs in = make_inputs(test.family, test.shape, 1);
  if (test.keys == Keys::same) in.k = in.q;
  if (test.amplitude == 1) return in;
  for (std::vector<fp16>* tensor : {&in.q, &in.k})
    for (fp16& x : *tensor) {
      const float drawn = test.keys == Keys::constant ? 1 : to_float(x);
      x = to_fp16(std::clamp(test.amplitude * drawn, -LARGEST_HALF, LARGEST_HALF));
    }
  return in;
}

}  // namespace lab
