// The words of `runner KERNEL counts` (writeups/counters.md, "By one word"): which event or counter each of them is.
#pragma once
#include <map>
#include <string>

#include "common/backend.hpp"
#include "common/shape.hpp"

namespace lab {

// Watches a launch; with add(), what its report has counted comes on top.
class WordCounter final : public ExecWatcher {
 public:
  void see(const ExecEvent& e) override;
  void add(const ExecReport& report);  // of all its blocks together
  void print() const;
  std::map<std::string, long> counts = {{"barriers", 0}, {"phases", 0}};
  std::map<std::string, std::string> dearest_lines;  // "FILE:LINE" that most of it comes from; "" where two share that
};

// Counts the work of one block, or cluster: of the one that takes the tile; backward, of the first of each kernel. Returns why it
// cannot be, or "".
std::string count_block(const Shape& shape, unsigned tile, WordCounter& counter);

}  // namespace lab
