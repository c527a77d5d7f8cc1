// The words of `runner KERNEL counts` (writeups/counters.md, "By one word"): which event or counter each of them is.
#pragma once
#include <map>
#include <string>

#include "common/backend.hpp"

namespace lab {

class WordCounter final : public ExecWatcher {
 public:
  void see(const ExecEvent& e) override;
  // The events seen and the report's counters, of all blocks together: "WORD COUNT"; and "most WORD FILE:LINE" for the line
  // that most of them come from, unless two share that.
  void print(const ExecReport& report);
  std::map<std::string, long> counts = {{"barriers", 0}, {"phases", 0}};
};

}  // namespace lab
