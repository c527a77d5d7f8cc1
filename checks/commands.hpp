// The subcommands of the `lab` binary. To add one: declare its function here and give it a line in all_commands.cpp.
#pragma once
#include <span>

#include "checks/key_values.hpp"

namespace lab {

struct Command {
  const char* name;
  int (*run)(std::span<char*> args);  // the exit status: 0 good, 1 red; throws BadInput for what main turns into 2
  const char* help;
  bool launches = true;  // needs a GPU, on that backend, that can run the stage
};

int test_command(std::span<char*> args);         // acceptance.cpp
int run_command(std::span<char*> args);          // run_files.cpp
int plan_command(std::span<char*> args);         // report.cpp
int trace_command(std::span<char*> args);        // trace/trace.cpp
int racecheck_command(std::span<char*> args);    // racecheck.cpp
int bench_command(std::span<char*> args);        // gpu/bench.cpp
int fingerprint_command(std::span<char*> args);  // fingerprint.cpp
int once_command(std::span<char*> args);         // fingerprint.cpp
int fuzz_command(std::span<char*> args);         // fuzz.cpp
int blindness_command(std::span<char*> args);    // blindness.cpp
int predict_command(std::span<char*> args);      // exercises/predict.cpp
int card_command(std::span<char*> args);         // exercises/predict.cpp
int counts_command(std::span<char*> args);       // exercises/counts.cpp
int counters_command(std::span<char*> args);     // counters/counters.cpp
int bits_command(std::span<char*> args);         // bits/bits.cpp

// The commands of the program at hand: all of them (all_commands.cpp), what a stage's test needs
// (test_commands.cpp), or what an exercise does (learner_commands.cpp).
std::span<const Command> commands();

}  // namespace lab
