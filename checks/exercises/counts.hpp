// The words of `lab counts` (writeups/counters.md, "By one word"): which event or counter each of them is.
#pragma once
#include <map>
#include <string>

#include "common/backend.hpp"
#include "common/shape.hpp"

namespace lab {

// Watches a launch; with add(), what its report has counted comes on top.
class WordCounter final : public ExecWatcher {
 public:
  WordCounter();
  void see(const ExecEvent& e) override;
  void add(const ExecReport& report);  // of all its blocks together
  std::map<std::string, long> counts;
};

// By the same words: "FILE:LINE" that most of it comes from, "" where two lines share that.
std::map<std::string, std::string> dearest_lines(const ExecReport& report);

void print_counts(const std::map<std::string, long>& counts, const std::map<std::string, std::string>& dearest);

// The work of one block of the linked stage, counted by the CPU execution.
struct BlockCounts {
  std::map<std::string, long> counts;               // of the block, or cluster, that takes the tile
  std::map<std::string, std::string> dearest = {};  // by the same words: "FILE:LINE" that most of it comes from, or ""
  std::string failure = "";                         // "" if the launch went well
};
BlockCounts count_block(const Shape& shape, unsigned tile);

}  // namespace lab
