// runner KERNEL bits: a digest of each case's output, for `make bits` to hold to an H200's.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <set>
#include <span>
#include <stdexcept>
#include <vector>

#include "checks/acceptance/sampling.hpp"
#include "checks/bits/cases.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/runner/commands.hpp"
#include "reference/hash.hpp"

namespace lab {
namespace {

// FNV-1a over the output's bytes. Every NaN counts as the same one, for nothing fixes its sign and payload; only an
// element that was never written, which holds the poison, differs from it.
std::uint64_t digest(const std::vector<fp16>& out, std::uint64_t hash = FNV_START) {
  constexpr std::uint16_t NAN_BITS = 0x7E00;
  for (const fp16 x : out) {
    const std::uint16_t bits = x != FP16_NAN && std::isnan(to_float(x)) ? NAN_BITS : x.bits;
    for (const unsigned shift : {0u, 8u}) hash = fnv1a(hash, bits >> shift & 0xFFu);
  }
  return hash;
}

// b9's parts apart; its schedule for one key block, for two, and for ten; b6's order, which b9 has too on few multiprocessors.
constexpr std::pair<Shape, int> GRADIENTS[] = {{{1, 1, 300, 64, false}, 132},  {{1, 1, 300, 64, true}, 132},
                                               {{1, 2, 129, 128, true}, 132},  {{1, 1, 200, 128, false}, 132},
                                               {{1, 70, 130, 64, true}, 132},  {{5, 30, 100, 64, false}, 132},
                                               {{1, 1, 1153, 64, false}, 132}, {{1, 1, 1153, 64, true}, 132},
                                               {{1, 1, 1060, 128, true}, 132}, {{1, 1, 1100, 64, true}, 4}};

}  // namespace

// The same of a backward stage that claims the same bits in every run: of its three outputs together.
int backward_bits_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"quick"};
  const bool quick = KeyValues(args, keys).flag("quick");
  if (!subject().same_bits) throw BadInput("stage.conf says same_bits=\"no\": there are no bits to hold to a record");
  for (std::size_t i = 0; i < std::size(GRADIENTS); i += quick ? 3 : 1) {
    const auto& [shape, multiprocessors] = GRADIENTS[i];
    ExecOptions options;
    options.multiprocessors = multiprocessors;
    const Trial t = run_trial(shape, Family::unit, options);
    if (!t.ok()) throw std::runtime_error(text(shape) + ": " + t.error());
    std::uint64_t hash = FNV_START;
    for (const std::vector<fp16>& out : t.outputs) hash = digest(out, hash);
    std::printf("%016llx %s multiprocessors %d\n", (unsigned long long)hash, text(shape).c_str(), multiprocessors);
    std::fflush(stdout);
  }
  return 0;
}

int bits_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"quick"};
  const bool quick = KeyValues(args, keys).flag("quick");
  std::set<const void*> kernels, ran;
  for (const auto& [use, problem] : use_problems(subject())) kernels.insert(use.kernel);
  for (const BitsCase& test : bits_cases(quick)) {
    ExecOptions options;
    options.multiprocessors = test.multiprocessors;
    const Trial t = run_trial(test.shape, inputs_of(test), test.scale, {.options = options}, test.family);
    if (!t.ok()) throw std::runtime_error(text(test) + ": " + (t.message.empty() ? "the launch failed" : t.message));
    for (const Launched& l : t.report.launched) ran.insert(l.kernel);
    std::printf("%016llx %s\n", (unsigned long long)digest(t.out), text(test).c_str());
    std::fflush(stdout);
  }
  if (!quick && ran.size() < kernels.size()) {
    std::fprintf(stderr, "lab: %zu of %zu instances of the kernel ran\n", ran.size(), kernels.size());
    return 1;
  }
  return 0;
}

}  // namespace lab
