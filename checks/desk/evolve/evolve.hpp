// The elite loop: levers, candidates, what is built and judged, the log.
#pragma once
#include "checks/desk/records/records.hpp"
#include "checks/expression.hpp"

namespace lab::desk {

// Changes of a kernel that the elite loop may make: stages/STAGE/levers.conf. A lever is a place in kernel.cu with a
// few allowed texts, an argument of the table of tiles at its end, or a patch that is there or not. The kernel's own
// values reproduce kernel.cu byte for byte. writeups/extending.md has the format.

using Numbers = std::map<std::string, long>;

// Of each lever the value, as a text of C++.
using Setting = std::map<std::string, std::string>;

struct Lever {
  std::string name, trades;         // in one line, what more of it gives and takes
  std::string when = {};            // the expression over D and causal that says where it matters; "" everywhere
  std::vector<std::string> values;  // at least two
  std::vector<std::string> at;      // pieces of kernel.cu that stand there once, the value in braces
  bool patch = false;               // stages/STAGE/levers/NAME.patch: 0 without, 1 with
  bool in_table = false;
  std::string own = {};  // what kernel.cu says; "" of a table's argument
};

struct Must {
  std::string expression, reason;
};

class Levers {
 public:
  // Of a stage; `root` is the repository's. Throws BadInput, with file and line, where levers.conf is not as it must
  // be or says of kernel.cu what does not hold.
  explicit Levers(const std::string& stage, const std::string& root = ".");
  Levers(const std::string& stage, const std::string& conf, const std::string& kernel, const std::string& root);

  const std::string& stage() const { return stage_; }
  const std::vector<Lever>& all() const { return levers_; }
  const Lever* find(const std::string& name) const;
  // Those that matter for the shape. D, the first of the table's arguments, is the shape's.
  std::vector<const Lever*> for_shape(const Shape& shape) const;

  // The rows of the table that have the shape's D, each with the kernel's own values elsewhere.
  std::vector<Setting> rows(const Shape& shape) const;
  // The row that the stage takes for the shape, by the plan that its binary prints: the numbers of "attention<64,4>",
  // or where it names no kernel the row for which the conf's `row:` holds.
  Setting own(const Shape& shape, const std::string& plan) const;

  // Names in an expression of the conf: D, causal, levers whose values are whole numbers, and the conf's lets.
  Numbers numbers(const Setting& setting, const Shape& shape) const;
  // Why the setting cannot be built or run; "" if nothing speaks against it. Throws BadInput for a value that is not
  // among the lever's.
  std::string objection(const Setting& setting, const Shape& shape) const;

  // The kernel with these values for a compiler: of the table that one row only, taken by every shape of its D. #line
  // directives name the lines of kernel.cu and of patches.
  std::string narrowed(const Setting& setting, const Shape& shape) const;
  const std::string& kernel() const { return kernel_; }

 private:
  struct Line {
    std::string text, path;
    int number;
  };
  void read(const std::string& conf);
  void check_against_kernel();
  std::vector<Line> patched(const Setting& setting) const;
  // Whether adopting the setting for the shape changes this row of the table.
  std::string with_values(const Setting& setting, const Shape& shape, const std::string& source) const;

  std::string stage_, root_, path_, source_, kernel_;
  std::vector<std::string> arguments_;  // of the table
  std::size_t identity_ = 0;            // the number of leading columns that identify a row
  std::string takes_, row_;
  std::vector<Lever> levers_;
  std::vector<std::pair<std::string, std::string>> lets_;
  std::vector<Must> musts_;
};

// A short name for a candidate: of what is compiled, so that two settings that come to the same are one.
std::string candidate_id(const std::string& stage, const std::string& source);

// The elite loop without its compiler and its clock: what is known of each candidate, which three are the best, what is
// tried next. The same measurements give the same children, so a search that was stopped goes on from its log.

inline constexpr double MUST_GAIN = 0.03;  // of the time of the one that a child replaces

struct Candidate {
  std::string id;
  Setting levers;
  std::string parent = {};                // "" of those that the search starts with
  std::vector<std::string> changed = {};  // names of levers: the two in which it differs from its parent
  int generation = 0;
  // "elite": one of the three when it came, "slower", "wrong", "too large", "broken" (does not build, run or end)
  std::string verdict = {}, reason = {};
  std::optional<int> registers = {};
  std::optional<std::size_t> smem = {}, spills = {};  // bytes
  std::optional<bool> right = {};                     // nothing where it was not run
  std::vector<double> us = {};                        // a call each, or one figure of the model
  // Measured once more in turns with the one that it would replace: medians of both.
  std::optional<double> again = {}, beside = {};
  double time() const;  // the median; infinite without
};

class Elite {
 public:
  // The candidate's outcome: takes it in if it is among the three, and sets its verdict and reason, unless it has a
  // verdict.
  void judge(Candidate& candidate);
  // Whom it would replace: the slowest of three; null as long as there are fewer, or where it gains less than 3 %.
  const Candidate* would_replace(const Candidate& candidate) const;
  // The fastest first.
  const std::vector<Candidate>& members() const { return members_; }

 private:
  std::vector<Candidate> members_;
};

struct Proposal {
  Candidate candidate;  // with a verdict where it is refused before anything is built
  std::string source;   // what to compile
};

// A child of one of the elite: two levers have other values. Never one of `known` (ids), never a setting twice; nothing
// when no new one was found. The same for the same seed, generation and place in it.
std::optional<Proposal> propose(const Levers& levers, const Shape& shape, const Elite& elite,
                                std::set<std::string>& known, std::uint64_t seed, int generation, int place);

// Where a search starts: the stage as it is, then its table's other rows.
std::vector<Proposal> beginnings(const Levers& levers, const Shape& shape, const Setting& own);

// A candidate's fitness: built, judged by the referee, and timed on a GPU; without one, a model stands for the
// time.

// Copies nvcc's log into the candidate; a verdict "broken" or "too large" where it says that this is none.
void read_build_log(Candidate& candidate, const std::string& log, bool built);

// What `judge` printed and how it ended, into the candidate.
void read_judge(Candidate& candidate, const std::string& out, int status, bool timed_out);

// Whether it is refused, and by a safeguard among `predicted`: "oracle, canaries or stream".
bool caught_as_predicted(const Candidate& candidate, const std::string& predicted);

// A row of writeups/results/evolve.csv, where a search is logged, but for the columns of its problem (stage to fitness). `start` is the
// setting of the stage as it is.
std::string candidate_row(const Candidate& candidate, const Setting& start);
// Takes from a row all but what a proposal has. Throws BadInput, with `where`, for what is none.
void read_row(Candidate& candidate, const std::string& row, const std::string& where);

// The fields of a line of CSV; quotes around one that has a comma.
std::vector<std::string> csv_fields(const std::string& line);

// The result of a search, a few lines: the elite with its levers, how many candidates were what.
std::string summary(const std::vector<Candidate>& candidates, const Elite& elite, bool timed);

// "N=96 SLOTS=5": the values in which two settings differ, as the second has them.
std::string difference(const Setting& from, const Setting& to);

}  // namespace lab::desk
