#include "checks/acceptance/overlap.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/format.hpp"
#include "common/backend.hpp"
#include "common/gpu_access.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

struct Pair {
  Shape one, other;
};
// On two multiprocessors the first of each has enough query tiles that a stage may deal them out as it goes.
constexpr Pair PAIRS[] = {{{1, 6, 300, 64, true}, {1, 3, 300, 64, true}},
                          {{1, 4, 390, 128, false}, {1, 4, 200, 64, true}}};
// A GPU takes these as well: a long launch beside short ones.
constexpr Pair LONG_PAIRS[] = {{{1, 12, 16384, 64, false}, {16, 16, 1024, 64, false}},
                               {{4, 16, 2048, 128, true}, {16, 16, 512, 64, true}}};
// Every block of a backward launch runs, and an oracle takes every gradient: several tiles will do.
constexpr Pair BACKWARD_PAIRS[] = {{{1, 2, 200, 64, true}, {1, 3, 130, 64, true}},
                                   {{1, 2, 130, 128, false}, {1, 3, 100, 64, true}}};
std::vector<Pair> pairs_here(const Subject& subject) {
  if (subject.backward) return {std::begin(BACKWARD_PAIRS), std::end(BACKWARD_PAIRS)};
  std::vector<Pair> all(std::begin(PAIRS), std::end(PAIRS));
  if (!can_schedule()) all.insert(all.end(), std::begin(LONG_PAIRS), std::end(LONG_PAIRS));
  return all;
}

constexpr int TIMES = 3;  // that the other is launched beside the one
constexpr std::uint64_t SEEDS = 2;

const ExecOptions ONE_BLOCK_AT_A_TIME{.workers = 1, .multiprocessors = 2, .room = 1};

// Rows that the oracle takes: all of a small problem, of a large one a few of the first head and of the last.
std::vector<RowBlock> rows_of(const Subject& subject, const Shape& shape) {
  const int heads = shape.B * shape.H;
  if (subject.backward || (shape.S <= 512 && heads <= 8)) return all_rows(shape);
  std::vector<RowBlock> rows;
  for (const int head : {0, heads / 2, heads - 1})
    for (const int part : {0, 1, 2, 3}) rows.push_back({head, (shape.S - 4) * part / 3, 4});
  return rows;
}

// A problem that can be launched on any stream, again and again.
class Overlapping {
 public:
  Overlapping(const Subject& subject, const Shape& shape, std::uint64_t seed)
      : subject_(subject),
        problem_(problem_of(subject, {Group::overlap, shape, Family::unit, seed})),
        rows_(rows_of(subject, shape)),
        right_(oracle(subject, problem_, rows_)),
        tensors_(subject, problem_.in) {
    tensors_.call(shape, problem_.scale);  // makes the workspace
  }
  cudaError_t launch(cudaStream_t stream) {
    Call call = tensors_.call(problem_.shape, problem_.scale);
    call.stream = stream;
    return subject_.launch(call);
  }
  void poison() { tensors_.poison(); }
  // About the last launch's outputs, in one line; "": they are right.
  std::string wrong() {
    std::vector<std::vector<fp16>> out;
    const std::vector<Fault> strays = tensors_.fetch(out);
    if (first_.empty()) first_ = out;
    Comparison seen;
    for (std::size_t i = 0; i < out.size(); ++i)
      compare(problem_.shape, rows_, out[i], right_[i], seen, {.output = int(i)});
    const std::string title = text(problem_.shape) + ": ";
    if (!strays.empty()) return title + strays[0].what;
    if (!seen.good()) return title + lines_of(seen, subject_.outputs).front();
    return subject_.same_bits && out != first_ ? title + "other bits than at first" : "";
  }
  double seconds() const { return subject_.seconds(problem_.shape); }

 private:
  const Subject& subject_;
  Problem problem_;
  std::vector<RowBlock> rows_;
  std::vector<Expected> right_;
  Tensors tensors_;
  std::vector<std::vector<fp16>> first_;  // of the first launch: the same inputs give the same bits
};

}  // namespace

std::vector<std::string> overlapping_launches(const Subject& subject, const Shape& one, const Shape& other) {
  if (can_schedule()) set_exec_options(ONE_BLOCK_AT_A_TIME);
  const auto first = std::make_unique<Overlapping>(subject, one, 1),
             second = std::make_unique<Overlapping>(subject, other, 2);
  Overlapping* const problems[] = {first.get(), second.get()};
  const ExclusiveGpu exclusive;
  std::vector<std::string> lines;
  // After `how`: what each problem says, or why nothing can be said.
  const auto judge = [&](cudaError_t launched, const std::string& how) {
    const cudaError_t finished = synchronize_within(first->seconds() + TIMES * second->seconds());
    const cudaError_t error = launched != cudaSuccess ? launched : finished;
    const std::string message = take_exec_report().message;
    if (error != cudaSuccess)
      lines.push_back(how + ": " + cudaGetErrorName(error) + (message.empty() ? "" : ": " + message));
    for (Overlapping* const problem : problems)
      if (const std::string what = error == cudaSuccess ? problem->wrong() : ""; !what.empty())
        lines.push_back(how + ": " + what);
    return finished != cudaErrorNotReady;
  };
  const auto poison = [&] {
    for (Overlapping* const problem : problems) problem->poison();
  };
  const StreamCall once = [&](cudaStream_t stream) { return first->launch(stream); };
  const StreamCall again = [&](cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < TIMES && error == cudaSuccess; ++i) error = second->launch(stream);
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
  for (Overlapping* const problem : problems)
    if (launched == cudaSuccess) launched = problem->launch(test_stream());
  judge(launched, "alone, after launches that overlapped");
  set_exec_options({});
  return lines;
}

std::vector<Case> overlap_cases(const Subject& subject, std::uint64_t seed) {
  std::vector<Case> cases;
  for (const Pair& pair : pairs_here(subject)) cases.push_back({Group::overlap, pair.one, Family::unit, seed});
  return cases;
}

CaseResult run_overlap_case(const Subject& subject, const Case& test) {
  CaseResult result;
  result.test = test;
  const std::vector<Pair> pairs = pairs_here(subject);
  const Shape other = std::ranges::find(pairs, test.shape, &Pair::one)->other;
  for (const Shape& shape : {test.shape, other})
    if (const std::string why = dry_run(subject, shape).not_taken(); !why.empty()) {
      result.skipped = true, result.note = why;
      return result;
    }
  for (const std::string& line : overlapping_launches(subject, test.shape, other))
    result.problems.push_back({Evidence::race, line});
  result.note = format("beside %d launches of %s", TIMES, text(other).c_str());
  result.launches = 1;
  return result;
}

}  // namespace lab
