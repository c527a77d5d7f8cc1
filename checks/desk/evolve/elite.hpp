// The elite loop without its compiler and its clock: what is known of each candidate, which three are the best, what is
// tried next. Everything follows from the list of candidates, so a search that was stopped goes on from its log.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checks/desk/evolve/levers.hpp"

namespace lab::desk {

inline constexpr std::size_t ELITE = 3;
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

// The elite after these, judged in their order.
Elite elite_of(const std::vector<Candidate>& candidates);

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

}  // namespace lab::desk
