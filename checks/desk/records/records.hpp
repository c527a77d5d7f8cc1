// Measurements and what is made of them: CSV and tables.
#pragma once

#include "checks/bench/bench_samples.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/runs.hpp"
#include "common/shape.hpp"

namespace lab::desk {

// The stage of build/BACKEND/STAGE/VARIANT/kernel.so. Throws BadInput for a path with fewer parts.
std::string stage_of(const std::string& lab);

// A measurement's record of its machine and tree.

// One field of `nvidia-smi --query-gpu=` for the first GPU; "" where there is none.
std::string gpu_field(const std::string& field);

std::string nvcc_release();  // "13.0", or ""

// The commit of the tree, with -dirty behind it if it was; LAB_COMMIT in the environment stands for a copy without git.
std::string commit();

std::string utc_time();  // "2026-11-21T10:47:36Z"

std::string host();  // kernel, processor, cores

// All of it: date, commit, machine, gpu, driver, cuda.
std::vector<std::pair<std::string, std::string>> measured_on();

// A benchmark's run and a sweep as CSV, with the columns of writeups/results/bench.csv and sweep.csv. Throws BadInput for a fact that
// is no number.
std::string bench_csv(const BenchRun& run, const std::string& name);
std::string sweep_csv(const BenchRun& run);

// What `desk-records bench` left in build/bench.
BenchRun last_bench_run();

}  // namespace lab::desk
