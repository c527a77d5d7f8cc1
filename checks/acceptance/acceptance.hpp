// The acceptance of a stage, of the forward pass or the backward: what a case is, what running one tells, and how the
// cases are run. The same for every stage and backend.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/fault.hpp"
#include "checks/key_values.hpp"
#include "common/shape.hpp"
#include "reference/inputs.hpp"

namespace lab {

struct AcceptanceOptions {
  bool full = false;         // every query tile of the large shapes, not a sample
  bool quick = false;        // cheapest cases first, stop at the first red one
  std::size_t cheapest = 0;  // quick, with this number of cases; 0: all of them
  bool once = false;         // each case is launched for the oracle alone, and not repeated: a question, no acceptance
  std::uint64_t seed = 1;
  // Where all stages are tested, on the CPU: of each case fewer tiles run, and they are repeated once, by turns under
  // one of the other runs.
  bool turns = false;
};

enum class Group {
  notes,       // the five shapes and inputs of the notes, at their 1e-3
  families,    // the same shapes, inputs that can tell a wrong kernel, the bound of tolerance.hpp
  ragged,      // lengths that no tile divides, odd B and H, the same bound
  scales,      // other scales than 1/sqrt(D), zero and negative ones among them
  amplitudes,  // q and k up to the largest half: a finite input has a finite output, within the same bound
  special,     // one NaN or infinity per head, held to what attention makes of it
  far,         // tensors of more than 2^32 elements: only the last head is touched
  tiles,       // small problems for the tiles of the launcher that none of these use; the same bound
  overlap,     // launches beside each other (overlap.hpp)
};
inline constexpr int GROUPS = 9;

struct Case {
  Group group;
  Shape shape;
  Family family;
  std::uint64_t seed;
  std::optional<float> scale = {};  // none: 1 / sqrt(D)
  double amplitude = 1;             // of q and k
  int multiprocessors = 0;          // that the launcher finds (ExecOptions)
  Magnitudes magnitudes = {};       // of a backward case
};
float scale_of(const Case& test);

struct CaseResult {
  Case test;
  std::vector<Fault> problems;  // empty: green
  Comparison compared;          // with the oracle
  std::size_t tiles_checked = 0, tiles_repeated = 0, tiles_total = 0;
  bool skipped = false;  // this machine cannot run it; `problems` stays empty and `note` says why
  std::string note;      // or what else its line says
  std::string hang;      // the first wait of a launch that hangs, as data
  int launches = 0;
  double microseconds = -1;  // a launch, where a GPU measured it
  bool green() const { return problems.empty(); }
};

class Report;
struct Acceptance {
  AcceptanceOptions options;
  std::vector<Case> cases;  // in the order of the report
  std::function<CaseResult(const Case& test, std::size_t number)> run;
  std::function<double(const Case& test)> cost;  // for the progress line
  Report& report;
  double seconds = 1e9;  // with `quick`, no case begins later
};
// Prints the report, ends it with `N passed, M failed`, and returns 0 if all is green, else 1.
int run_acceptance(const Acceptance& acceptance);

// lab test [full=1] [quick=1] [cheapest=N] [once=1] [turns=1] [seed=N]; cheapest= is for machines where all cases would
// take too long, once= for kernels that are most likely wrong.
AcceptanceOptions acceptance_options(std::span<char*> args);

}  // namespace lab
