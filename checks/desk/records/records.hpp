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

// compute-sanitizer's logs, in a summary of the form that the CPU's racecheck prints, and as rows of
// writeups/results/tools.csv.

inline constexpr const char* SANITIZER_TOOLS[] = {"memcheck", "racecheck", "initcheck", "synccheck"};

struct SanitizerLog {
  std::string tool, shape;  // "racecheck", "1,1,128,64,0"
  std::string text;
};

struct ToolFinding {
  std::string tool, what;  // "race", "Invalid __shared__ write of size 16 bytes: misaligned", ...
  std::string where;       // "at stages/v1_scalar/kernel.cu:12", two places of a race, or ""
  long times = 0;
  std::vector<std::string> shapes, kernels;
};
struct ToolReport {
  std::string stage, bug;
  std::vector<ToolFinding> findings;                      // in the order of their first mention
  std::map<std::string, std::vector<std::string>> lines;  // tool -> "12" of kernel.cu, "NAME.patch:3" of a bug's patch
  std::size_t runs = 0, ended = 0;                        // `ended`: with the tool's own summary
  bool clean() const { return findings.empty() && ended == runs; }
};

// One build's logs. A line that no record belongs to is passed over.
ToolReport read_sanitizer_logs(const std::string& stage, const std::string& bug, const std::vector<SanitizerLog>& logs);

std::string sanitizer_text(const ToolReport& report);

// `machine`: lines "gpu NAME", "driver ...", "cuda ...", "sanitizer ...", "date ...".
std::string sanitizer_csv(const std::string& machine, const std::vector<ToolReport>& reports);

}  // namespace lab::desk
