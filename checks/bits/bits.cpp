// runner KERNEL bits [quick=1]: a digest of each case's output, or of all outputs of a backward stage, for `make bits` to hold to an H200's, bit
// by bit. The cases are the same for every stage of a pass, and those besides that this one needs, so that all instances of its kernel run.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/sampling.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/runner/commands.hpp"
#include "reference/attention.hpp"
#include "reference/hash.hpp"

namespace lab {
namespace {

struct Source {
  Family family;
  double amplitude = 1;
};
// The lengths of these four lists share no factor with each other, with the four (D, causal) or with QUICK_STEP, so
// that case i, the i-th of each, brings all pairs together sooner or later, in the quick part too.
constexpr Source SOURCES[] = {{Family::unit},          {Family::notes},          {Family::unit, 30},
                              {Family::peaked},        {Family::unit, 1000},     {Family::offset},
                              {Family::matched, 1000}, {Family::swamped},        {Family::unit, 6000},
                              {Family::cancelling},    {Family::matched, 6000},  {Family::special},
                              {Family::unit, 12000},   {Family::impulse},        {Family::matched, 12000},
                              {Family::climbing},      {Family::constant, 12000}};
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

std::vector<Case> cycled_cases() {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < CYCLED; ++i) {
    const Source& source = nth(SOURCES, i);
    const Shape shape{1, nth(HEADS, i / 3), nth(LENGTHS, i), i % 2 ? 128 : 64, i / 2 % 2 == 1};
    cases.push_back(
        {Group::ragged, shape, source.family, 1, nth(SCALES, i), source.amplitude, nth(MULTIPROCESSORS, i)});
  }
  return cases;
}

// On 132 multiprocessors, so that on any GPU a launcher chooses the same instances.
Case plain(const Shape& shape, int multiprocessors = 132) {
  return {Group::ragged, shape, Family::unit, 1, {}, 1, multiprocessors};
}

// For the instances of the kernel that no other case uses.
std::vector<Case> other_instances(const std::vector<Case>& others) {
  std::set<const void*> used;
  for (const Case& test : others)
    for (const Launched& l : launches_of(subject(), test.shape, test.multiprocessors)) used.insert(l.kernel);
  std::vector<Case> cases;
  for (const auto& [use, problem] : use_problems(subject()))
    if (use.ragged && used.insert(use.kernel).second) cases.push_back(plain(problem.shape, problem.multiprocessors));
  return cases;
}

// b9's parts apart; its schedule for one key block, for two, and for ten; b6's order, which b9 has too on few multiprocessors.
constexpr std::pair<Shape, int> GRADIENTS[] = {{{1, 1, 300, 64, false}, 132},  {{1, 1, 300, 64, true}, 132},
                                               {{1, 2, 129, 128, true}, 132},  {{1, 1, 200, 128, false}, 132},
                                               {{1, 70, 130, 64, true}, 132},  {{5, 30, 100, 64, false}, 132},
                                               {{1, 1, 1153, 64, false}, 132}, {{1, 1, 1153, 64, true}, 132},
                                               {{1, 1, 1060, 128, true}, 132}, {{1, 1, 1100, 64, true}, 4}};

// With `quick` each fifth, of the backward pass each third.
std::vector<Case> bits_cases(bool quick) {
  std::vector<Case> cases;
  if (subject().backward) {
    for (const auto& [shape, multiprocessors] : GRADIENTS) cases.push_back(plain(shape, multiprocessors));
  } else {
    cases = cycled_cases();
    for (const Shape& shape : LONG_SHAPE) cases.push_back(plain(shape));
    if (!quick) std::ranges::copy(other_instances(cases), std::back_inserter(cases));
  }
  std::vector<Case> some;
  const std::size_t step = !quick ? 1 : subject().backward ? 3 : QUICK_STEP;
  for (std::size_t i = 0; i < cases.size(); i += step) some.push_back(cases[i]);
  return some;
}

// "unit*30 (1,2,200,64) causal scale 0.3 multiprocessors 4"; of the backward pass "(1,2,200,64) causal multiprocessors 4".
std::string label(const Case& test) {
  const std::string amplitude = test.amplitude == 1 ? "" : format("*%g", test.amplitude);
  const std::string where = test.multiprocessors ? format(" multiprocessors %d", test.multiprocessors) : "";
  if (subject().backward) return text(test.shape) + where;
  return name(test.family) + amplitude + " " + text(test.shape) + format(" scale %g", scale_of(test)) + where;
}

// The amplitude multiplies halves, as they were when the record was made.
Inputs inputs_of(const Case& test) {
  Case drawn = test;
  drawn.amplitude = 1;
  Inputs in = problem_of(subject(), drawn).in;
  for (std::vector<fp16>* tensor : {&in.q, &in.k})
    for (fp16& x : *tensor)
      if (test.amplitude != 1)
        x = to_fp16(float(std::clamp(test.amplitude * to_float(x), -LARGEST_HALF, LARGEST_HALF)));
  return in;
}

// FNV-1a over the output's bytes. Every NaN counts as the same one, for nothing fixes its sign and payload; only an
// element that was never written, which holds the poison, differs from it.
std::uint64_t digest(const std::vector<fp16>& out, std::uint64_t hash) {
  constexpr std::uint16_t NAN_BITS = 0x7E00;
  for (const fp16 x : out) {
    const std::uint16_t bits = x != FP16_NAN && std::isnan(to_float(x)) ? NAN_BITS : x.bits;
    for (const unsigned shift : {0u, 8u}) hash = fnv1a(hash, bits >> shift & 0xFFu);
  }
  return hash;
}

}  // namespace

int bits_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"quick"};
  const bool quick = KeyValues(args, keys).flag("quick");
  if (subject().backward && !subject().same_bits)
    throw BadInput("stage.conf says same_bits=\"no\": there are no bits to hold to a record");
  for (const Case& test : bits_cases(quick)) {
    const Launching how{.options = {.multiprocessors = test.multiprocessors}};
    const Trial t = run_trial(test.shape, inputs_of(test), scale_of(test), how, test.family);
    if (!t.ok()) throw std::runtime_error(label(test) + ": " + t.error());
    std::uint64_t hash = FNV_START;
    for (const std::vector<fp16>& out : t.outputs) hash = digest(out, hash);
    std::printf("%016llx %s\n", (unsigned long long)hash, label(test).c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace lab
