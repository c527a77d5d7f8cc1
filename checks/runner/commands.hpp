// The runner's commands; each answers a key that it does not know with those that it knows. To add one: declare its function here, and give
// it a line in commands.cpp; those that a stage's test needs, which waits for no more than the runner, are in run.cpp.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "checks/key_values.hpp"
#include "checks/runner/library.hpp"

namespace lab {

struct Command {
  const char* name;
  int (*run)(std::span<char*> args);  // the exit status: 0 good, 1 red; throws BadInput for what main turns into 2
  Pass of;                            // kernel
  bool launches = true;               // needs a GPU, on that backend, that can run the stage
};

int test_command(std::span<char*> args);       // acceptance/acceptance.cpp
int run_command(std::span<char*> args);        // acceptance/run_files.cpp
int plan_command(std::span<char*> args);       // bench/plan.cpp
int trace_command(std::span<char*> args);      // trace/trace.cpp
int racecheck_command(std::span<char*> args);  // races/racecheck.cpp
int bench_command(std::span<char*> args);      // bench/gpu/bench.cpp
int signature_command(std::span<char*> args);  // bugs/signature.cpp
int once_command(std::span<char*> args);       // bugs/gpu_child_process.cpp
int fuzz_command(std::span<char*> args);       // fuzz/fuzz.cpp
int predict_command(std::span<char*> args);    // exercises/predict.cpp
int card_command(std::span<char*> args);       // exercises/predict.cpp
int counts_command(std::span<char*> args);     // exercises/counts.cpp
int counters_command(std::span<char*> args);   // counters/counters.cpp
int bits_command(std::span<char*> args);       // bits/bits.cpp
int validate_command(std::span<char*> args);   // search/validate.cpp
int same_bits_command(std::span<char*> args);  // acceptance/same_bits.cpp

int drill_command(std::span<char*> args);         // exercises/drills/drill.cpp
int order_command(std::span<char*> args);         // exercises/drills/drill.cpp
int drill_counts_command(std::span<char*> args);  // exercises/drills/drill.cpp

int reproduce_command(std::span<char*> args);      // bugs/reproduce.cpp
int check_harness_command(std::span<char*> args);  // bugs/reproduce.cpp
int racechecks_command(std::span<char*> args);     // bugs/reproduce.cpp
int evolve_command(std::span<char*> args);         // search/evolve.cpp

// Runs the command that these words name. Exit status: 0 good, 1 red, 2 bad input, 3 nothing could be looked at (a GPU
// that cannot run this stage, or one that does not show a bug).
constexpr int STAGE_SKIPPED = 3;
int run(std::span<char*> args);
int run(std::vector<std::string> words);

// The export of commands.so: all commands but those of run.cpp.
extern "C" std::span<const Command> lab_commands();

}  // namespace lab
