// The search without its compiler and its clock: what is known of each candidate, which three are the best, what is tried next.
// The same measurements give the same children.
#pragma once
#include <optional>
#include <set>

#include "checks/runner/forked.hpp"
#include "checks/search/tunables.hpp"
#include "reference/hash.hpp"

namespace lab::search {

inline constexpr const char* COLUMNS =
    "stage,B,H,S,D,causal,fitness,id,parent,verdict,us,registers,smem,reason,settings";

struct Candidate {
  std::string id;
  Setting setting;
  std::string source;  // what to compile
  std::string parent;  // "" of those that the search starts with
  // elite: one of the three when it came; slower; wrong; too large: spills; broken: does not build, run or end
  std::string verdict, reason;
  std::optional<int> registers, smem;  // smem: bytes
  std::vector<double> us;              // a call, one figure a round; empty unless its outputs are right
  double time() const;                 // the median; infinite without figures
};

// The three fastest that are right, the fastest first.
struct Elite {
  std::vector<Candidate> members;
  // Of a candidate that is right: its verdict, and its place.
  void judge(Candidate& c);
};

// Where a search starts: the stage as it is, then its other tiles.
std::vector<Candidate> beginnings(const Tunables& tunables, const Shape& shape, const Setting& own);

// A child of one of the elite: two tunables have other values. Never one of `known` (ids); nothing when no new one was found.
std::optional<Candidate> propose(const Tunables& tunables, const Shape& shape, const Elite& elite,
                                 std::set<std::string>& known, SplitMix64& random);

// Takes registers and spills from nvcc's log, and a verdict where the candidate cannot run.
void read_build_log(Candidate& c, const std::string& log, bool built);
// What `validate` recorded and its exit status.
void read_validation(Candidate& c, const Forked& validation);

// "N=96 SLOTS=5": the values in which two settings differ, as the second has them.
std::string difference(const Setting& start, const Setting& setting);
// A row of writeups/results/evolve.csv, but for the columns of its problem (stage to fitness).
std::string row(const Candidate& c, const Setting& start);
std::string summary(const std::vector<Candidate>& candidates, const Elite& elite, const std::string& unit);

}  // namespace lab::search
