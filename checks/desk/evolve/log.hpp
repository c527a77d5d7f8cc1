// The log of a search, schema evolve-1: writeups/results/README.md says what is in it.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "checks/desk/evolve/elite.hpp"

namespace lab::desk {

struct SearchLog {
  std::string stage, shape, backend;  // of the shape its word: "2,8,2048,64,causal"
  std::string fitness;                // "time" or "model": what `us` is
  std::string kernel;                 // candidate_id of kernel.cu and levers.conf: a search goes on with no other
  std::uint64_t seed = 1;
  std::vector<std::pair<std::string, std::string>> machine;  // date, gpu, driver, ...
  std::vector<std::pair<std::string, std::string>> levers;   // name, what it trades
  std::vector<Candidate> candidates;
};

std::string log_json(const SearchLog& log);
// Throws BadInput for what is not of the schema.
SearchLog read_log(const std::string& json, const std::string& path);

// The result of a search, a few lines: the elite with its levers, how many candidates were what.
std::string log_text(const SearchLog& log);

// "N=96 SLOTS=5": the values in which two settings differ, as the second has them.
std::string difference(const Setting& from, const Setting& to);

// The start (first) and the elite measured once more, each a median a turn: evolve-confirm-1, and lines to read.
struct Confirmation {
  std::string json, text;
};
Confirmation confirmation(const SearchLog& log, const std::vector<std::pair<std::string, std::string>>& machine,
                          const std::vector<Candidate>& candidates, const std::vector<std::vector<double>>& turns);

}  // namespace lab::desk
