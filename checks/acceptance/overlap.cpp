#include "checks/acceptance/overlap.hpp"

#include <algorithm>
#include <iterator>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/device_tensors.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/report.hpp"
#include "common/backend.hpp"
#include "common/gpu_access.hpp"

namespace lab {
namespace {

struct Pair {
  Shape one, other;
};
// On two multiprocessors the first of each has enough query tiles that a stage may deal them out as it goes.
constexpr Pair PAIRS[] = {{{1, 6, 300, 64, true}, {1, 5, 450, 64, true}},
                          {{1, 4, 390, 128, false}, {1, 7, 200, 64, true}}};
// A GPU takes these as well: a long launch beside short ones.
constexpr Pair LONG_PAIRS[] = {{{1, 12, 16384, 64, false}, {16, 16, 1024, 64, false}},
                               {{4, 16, 2048, 128, true}, {16, 16, 512, 64, true}}};
std::vector<Pair> pairs_here() {
  std::vector<Pair> all(std::begin(PAIRS), std::end(PAIRS));
  if (!can_schedule()) all.insert(all.end(), std::begin(LONG_PAIRS), std::end(LONG_PAIRS));
  return all;
}

constexpr int LONGEST_BACKWARD = 1024;
constexpr int TIMES = 3;  // that the other is launched beside the one
constexpr std::uint64_t SEEDS = 3;
constexpr int FEW = 2;

ExecOptions one_block_at_a_time() {
  ExecOptions options;
  options.workers = 1;
  options.crowded = true;
  options.multiprocessors = FEW;
  return options;
}

}  // namespace

std::vector<std::string> overlapping_launches(const MakeOverlapping& make, const Shape& one, const Shape& other) {
  if (can_schedule()) set_exec_options(one_block_at_a_time());
  const std::unique_ptr<Overlapping> problems[] = {make(one, 1), make(other, 2)};
  const ExclusiveGpu exclusive;
  std::vector<std::string> lines;
  // After `how`: what each problem says, or why nothing can be said.
  const auto judge = [&](cudaError_t launched, const std::string& how) {
    const cudaError_t finished = synchronize_within(problems[0]->seconds() + TIMES * problems[1]->seconds());
    const cudaError_t error = launched != cudaSuccess ? launched : finished;
    const std::string message = take_exec_report().message;
    if (error != cudaSuccess)
      lines.push_back(how + ": " + cudaGetErrorName(error) + (message.empty() ? "" : ": " + message));
    for (const auto& problem : problems)
      if (const std::string what = error == cudaSuccess ? problem->wrong() : ""; !what.empty())
        lines.push_back(how + ": " + what);
    return finished != cudaErrorNotReady;
  };
  const auto poison = [&] {
    for (const auto& problem : problems) problem->poison();
  };
  const StreamCall once = [&](cudaStream_t stream) { return problems[0]->launch(stream); };
  const StreamCall again = [&](cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < TIMES && error == cudaSuccess; ++i) error = problems[1]->launch(stream);
    return error;
  };
  for (const Overlap how : {Overlap::streams, Overlap::graph_branches}) {
    if (can_schedule() && how == Overlap::graph_branches) continue;  // the same to the CPU
    for (std::uint64_t seed = 1; seed <= SEEDS; ++seed) {
      const std::string name = how == Overlap::streams ? "on two streams" : "as two branches of a graph";
      const cudaError_t launched = start_overlapping({once, again}, how, seed, poison);
      if (!judge(launched, can_schedule() ? format("overlapping, order of blocks %d", int(seed)) : name)) return lines;
    }
  }
  poison();
  cudaError_t launched = cudaSuccess;
  for (const auto& problem : problems)
    if (launched == cudaSuccess) launched = problem->launch(test_stream());
  judge(launched, "alone, after launches that overlapped");
  set_exec_options({});
  return lines;
}

std::vector<Case> overlap_cases(std::uint64_t seed, bool backward) {
  std::vector<Case> cases;
  for (const Pair& pair : pairs_here())
    if (!backward || pair.one.S <= LONGEST_BACKWARD) cases.push_back({Group::overlap, pair.one, Family::unit, seed});
  return cases;
}

CaseResult run_overlap_case(const Case& test, const MakeOverlapping& make) {
  CaseResult result;
  result.test = test;
  const std::vector<Pair> pairs = pairs_here();
  const Shape other = std::ranges::find(pairs, test.shape, &Pair::one)->other;
  for (const std::string& line : overlapping_launches(make, test.shape, other))
    result.problems.push_back({Tells::race, line});
  result.note = format("beside %d launches of %s", TIMES, text(other).c_str());
  result.launches = 1;
  return result;
}

}  // namespace lab
