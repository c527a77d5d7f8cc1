// The words of `lab counts` (writeups/counters.md, "By one word"): which event or counter each of them is.
#pragma once
#include <map>
#include <string>

#include "common/backend.hpp"

namespace lab {

// Watches a launch; with add(), what its report has counted comes on top.
class WordCounter final : public ExecWatcher {
 public:
  void see(const ExecEvent& e) override;
  void add(const ExecReport& report);  // of all its blocks together
  std::map<std::string, long> counts = {{"reads", 0},         {"read-bytes", 0},    {"writes", 0},   {"copies", 0},
                                        {"written-bytes", 0}, {"warp-barriers", 0}, {"barriers", 0}, {"tma-loads", 0},
                                        {"tma-bytes", 0},     {"phases", 0},        {"wgmma", 0}};
};

// By the same words: "FILE:LINE" that most of it comes from, "" where two lines share that.
std::map<std::string, std::string> dearest_lines(const ExecReport& report);

void print_counts(const std::map<std::string, long>& counts, const std::map<std::string, std::string>& dearest);

}  // namespace lab
