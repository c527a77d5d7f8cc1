// The JSON of a benchmark's run (schema bench-1, writeups/results/README.md).
#pragma once
#include <string>

#include "checks/bench/bench_samples.hpp"

namespace lab::desk {

// Throws BadInput for a fact that is no number of JSON.
std::string bench_json(const BenchRun& run);

// The JSON of a sweep (schema sweep-1): of each shape the microseconds of every program.
std::string sweep_json(const BenchRun& run);

// What `desk-records bench` left in build/bench.
BenchRun last_bench_run();

}  // namespace lab::desk
