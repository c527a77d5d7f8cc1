// How a bug is recognised. Beside its patch, whose head describes it, stages/<stage>/bugs/<bug>.cpp has a function look(); the
// runner's `signature` calls it. In the build with the bug every part must show, in the fixed build none may.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checks/acceptance/comparison.hpp"
#include "checks/bugs/hang.hpp"
#include "checks/bugs/trial.hpp"
#include "reference/backward.hpp"

namespace lab {

// One thing that the bug does to what can be observed.
struct Part {
  std::string expected = {};  // what shows if the bug is there, in one line
  bool shown = false;
  std::string seen = {};                // what was observed, with numbers
  std::vector<std::string> lines = {};  // a map of the output or a checker's report, printed with the bug only
  bool possible = true;                 // false: this backend cannot look (and `seen` says why)
  bool always = false;                  // true: must show in the fixed build as well
  std::string excuse = {};              // not empty: the bug may stay hidden here, and this says why
};

// --- parts ----------------------------------------------------------------------------------------------------
// Under which of the schedules that are tried something must show.
enum class Under { every, some };
using Where = std::function<bool(int row, int col)>;
inline bool everywhere(int, int) { return true; }

// One output of a trial: a forward stage's only one, or a gradient.
enum Gradient { dq, dk, dv };
struct Output {
  const Trial& trial;
  std::size_t index;
  Output(const Trial& of, std::size_t which = 0) : trial(of), index(which) {}
  const std::vector<fp16>& values() const { return trial.outputs[index]; }
  const Expected& right() const { return trial.right()[index]; }
  std::string name() const;  // "the output", "dQ"
};
// A wrong answer, [B,H,S,D] in fp64, at the bound that a right one would have in its place; of the elements with `where`.
Comparison compare_with_prediction(const Output& out, const std::vector<double>& predicted,
                                   const Where& where = everywhere);
// The gradients that come of pairs changed by `change`: P, dP and dS of a head are its to rewrite.
Gradients backward_after(const Trial& trial, const ChangePairs& change);

// A mark for each element of an output: '.' right, '#' wrong, 'N' NaN, '~' never written, that is to say with the bits
// of the poison. A NaN where the right answer has one is marked all the same.
std::string marks_of(const Output& out);

// `predicted` ([B,H,S,D], fp64) is what comes out, at the harness's own tolerance, on an input where it differs from
// the right answer by at least 100 times the notes' 1e-3. Only elements with `where` count. Where it is a NaN or an
// infinity, so must the output be.
Part equals_prediction(const Output& out, const std::vector<double>& predicted, const std::string& formula,
                       const Where& where = everywhere);
// The output is NaN at exactly these elements.
Part nan_exactly(const Output& out, const Where& where, const std::string& rule);
// The output still holds the poison at exactly these elements.
Part unwritten_exactly(const Output& out, const Where& where, const std::string& rule);
// The output is wrong somewhere, without a prediction of how.
Part wrong_somewhere(const Trial& trial);
// The output is right, and equals `predicted`, if that is given: the bug is real and does not show here. Holds for the
// fixed build too, so it tells a build by nothing; it fails the signature if it does not hold.
Part still_right(const Output& out, const std::string& why = "all the same", const std::vector<double>& predicted = {});
// The launch is refused, and its message has all of these pieces.
Part refused(const Trial& trial, const std::vector<std::string>& pieces);
// The kernel stops with `error`, and its message has all of these pieces.
Part fails(const Trial& trial, cudaError_t error, const std::vector<std::string>& pieces);
// A block cannot go on, and the report says so: threads stand as `hang` has it (checks/bugs/hang.hpp), at a line with the
// piece `line` ("" stands for any). With `Under::every` the report says so under every
// schedule and time of copying (and of wgmma's products, the same), with `some` under at least one.
//
// A kernel that hangs costs a GPU nothing, since the end of its process ends it. So on a GPU a process of its own
// launches it, for hang_seconds (common/gpu_access.hpp) at most; the hardware does not name the thread. Any other part
// that launches what hangs would end this process: beside this one use checker_reports, or let only can_schedule()
// look at it.
struct ExpectedHang {
  NamedHang hang;
  std::string line;
  Under under = Under::every;
  std::vector<Copies> copies = {Copies::at_wait, Copies::at_issue};  // the times of copying to try
  bool or_stops = false;  // what it does is not defined: on a GPU it may also be stopped with an error
};
Part hangs(const Shape& shape, const ExpectedHang& wanted);
// One launch beside three of the other problem is wrong, or one that comes after them (checks/acceptance/overlap.hpp).
Part overlapping_launches_wrong(const Shape& one, const Shape& other);
// Schedules and copy modes give different outputs. On a GPU: repeated launches differ, or one is wrong.
Part schedules_differ(const Shape& shape, Family family = Family::unit);

// The CPU checker reports `kind` under every schedule (of a backward stage: and order of blocks), or, with Under::some,
// under at least one: what is found first may be the schedule's choice. A report quotes its two lines: `first` and
// `second` are pieces of them, in either order ("" stands for any line, or no such side).
struct ExpectedReport {
  std::optional<Finding::Kind> kind = {};  // without: anything, under any schedule
  std::string first = {}, second = {};
  int multiprocessors = 0;  // that the launcher finds (ExecOptions)
};
Part checker_reports(const Shape& shape, const ExpectedReport& report, Under under = Under::every);
// The CPU execution's counts (common/counts.hpp) at a line with `piece`: the mean `figure` per instruction of this kind.
// For kernels that are right and slow. A GPU counts it for a profiler only.
struct ExpectedCount {
  Counted what{};
  std::string piece;
  std::uint64_t Tally::*figure = &Tally::wavefronts;
  double mean = 0;
  const char* unit = "";  // of the figure, for people
  bool at_least = false;
};
Part counted(const Shape& shape, const ExpectedCount& wanted);
// The checker finds nothing and all schedules agree with the right answer: for harmless changes.
std::vector<Part> nothing_wrong(const Shape& shape);

}  // namespace lab
