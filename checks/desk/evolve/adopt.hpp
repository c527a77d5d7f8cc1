// Whether a search's winner may become the stage's own: decided by one run of the benchmark in which the stage, the
// stage with the winner's levers and the peers took turns.
#pragma once
#include <string>
#include <vector>

#include "checks/bench/bench_samples.hpp"

namespace lab::desk {

inline constexpr double MOST_LOSS = 0.01;  // on any other shape

struct Adoption {
  bool good = false;
  std::vector<std::string> lines;  // a shape each, then why or why not
};

// `searched` is the shape of the log. The winner must be 3 % faster there, and nowhere 1 % slower.
Adoption adoption_of(const BenchRun& run, const std::string& stage, const std::string& evolved,
                     const std::string& searched);

// desk-records adopt MAKE STAGE LOG ROUNDS SHAPES [write]
int adopt_command(const std::vector<std::string>& args);

}  // namespace lab::desk
