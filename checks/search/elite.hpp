// The search without its compiler and its clock: what is known of each candidate, which three are the best, what is tried next.
// The same measurements give the same children.
#pragma once
#include <cstdint>
#include <optional>
#include <set>

#include "checks/search/tunables.hpp"

namespace lab::search {

inline constexpr double MUST_GAIN = 0.03;  // of the time of the one that a child replaces

struct Candidate {
  std::string id;
  Setting setting;
  std::string parent;  // "" of those that the search starts with
  int generation = 0;
  // "elite": one of the three when it came, "slower", "wrong", "too large", "broken" (does not build, run or end)
  std::string verdict, reason;
  std::optional<int> registers;
  std::optional<std::size_t> smem;  // bytes
  bool right = false;
  std::vector<double> us;               // a call, one figure a round
  std::optional<double> again, beside;  // measured in alternation with the one to be replaced, and that one's
  double time() const;                  // the median; infinite without figures
};

// The three fastest that are right.
class Elite {
 public:
  // Decides a candidate's verdict and reason, and takes it in where it belongs.
  void judge(Candidate& candidate);
  // The member that it would replace, if it is right; nullptr where it would not enter, or there is room.
  const Candidate* would_replace(const Candidate& candidate) const;
  const std::vector<Candidate>& members() const { return members_; }  // the fastest first

 private:
  std::vector<Candidate> members_;
};

struct Proposal {
  Candidate candidate;  // with a verdict where it is refused before anything is built
  std::string source;   // what to compile
};

// A child of one of the elite: two tunables have other values. Never one of `known` (ids); nothing when no new one was found. The
// same for the same seed, generation and place in it.
std::optional<Proposal> propose(const Tunables& tunables, const Shape& shape, const Elite& elite,
                                std::set<std::string>& known, std::uint64_t seed, int generation, int place);

// Where a search starts: the stage as it is, then its table's other rows.
std::vector<Proposal> beginnings(const Tunables& tunables, const Shape& shape, const Setting& own);

// nvcc's log into the candidate; a verdict "broken" or "too large" where it says that this is none.
void read_build_log(Candidate& candidate, const std::string& log, bool built);

// What `validate` printed and its exit status, 124 where it was stopped, into the candidate.
void read_validation(Candidate& candidate, const std::string& printed, int status);

// A row of writeups/results/evolve.csv, but for the columns of its problem (stage to fitness). `start`: the stage as it is.
std::string candidate_row(const Candidate& candidate, const Setting& start);

// "N=96 SLOTS=5": the values in which two settings differ, as the second has them.
std::string difference(const Setting& from, const Setting& to);

// The result of a search: the elite with its settings, how many candidates were what.
std::string summary(const std::vector<Candidate>& candidates, const Elite& elite, const std::string& unit);

}  // namespace lab::search
