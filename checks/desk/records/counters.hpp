// make counters over all stages: what the CPU execution counts of each, kept as counted-1; held against what Nsight
// Compute counted on an H200; and the least times that follow, beside the measured ones.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checks/desk/records/json_text.hpp"

namespace lab::desk {

// One figure that both can count.
struct Compared {
  const char* column;
  std::vector<std::pair<const char*, const char*>> ours;  // kind and member of counters-1, added up
  const char* metric;                                     // of profile-1, or
  const char* opcode = nullptr;                           // how often this SASS instruction was executed
};
std::span<const Compared> compared();

// Nothing where the profile lacks the figure.
struct Pair {
  double counted = 0, measured = 0;
  double off() const;  // counted / measured - 1; 0 where both are 0
};
std::optional<Pair> pair_of(const Compared& what, const Json& totals, const Json& profile);

// Why the two may differ by more than 5 %.
struct Explained {
  const char* letter;
  const char* column;
  std::vector<const char*> stages;  // short names
  const char* why;
};
std::span<const Explained> explained();
// The letter, "" where nothing is said.
std::string explanation(const std::string& column, const std::string& stage);

// A line for each stage from `first` on whose difference is larger than 5 % and not explained, or explained and not
// there. `counted` is counted-1; `profile_of` gives a stage's profile-1.
struct Measured {
  std::string stage, short_name;
  Json profile;
};
std::vector<std::string> unexplained(const Json& counted, const std::vector<Measured>& measured,
                                     const std::string& shape);

// Markdown. Cells: "=" the same, else the difference in per cent and the letter of its reason; "" where neither counts.
std::string validation_table(const Json& counted, const std::vector<Measured>& measured, const std::string& shape);

// Markdown: the least times of each stage and what binds, beside the measured median where `benches` (bench-1, the
// later ones count) have one. "" in a cell: not counted, or not measured.
std::string floors_table(const Json& counted, const std::vector<std::pair<std::string, std::string>>& stages,
                         const std::vector<Json>& benches, const std::string& shape);

// What `counted` and `now` say differently of `shape`, a line each.
std::vector<std::string> differences(const Json& counted, const Json& now, const std::string& shape);

// counted-1 from the counters-1 of each stage and shape.
std::string counted_json(const std::vector<Json>& counters);

}  // namespace lab::desk
