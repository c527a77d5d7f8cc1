// Measurements and what is made of them: CSV and tables.
#pragma once
#include <array>
#include <functional>

#include "checks/bench/bench_samples.hpp"
#include "checks/budget/ptxas.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/runs.hpp"
#include "common/shape.hpp"

namespace lab::desk {

// The binaries under build/, as a pattern with two words to fill in: build/cpu/STAGE/VARIANT/kernel.so.

// Throws BadInput for a pattern without the two words.
std::string lab_path(std::string pattern, const std::string& stage, const std::string& variant);

// The variant that has a bug planted; `otherwise` for none.
std::string variant_of(const std::string& bug, const std::string& otherwise);

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

// The output of a compilation whose log starts with the line `key` (its command) and is newer than its `inputs`.
std::optional<std::string> said_before(const std::string& log, const std::string& key,
                                       std::filesystem::file_time_type inputs);

// Why a compilation is not good, as one line: nvcc's own error; of ptxas, that wgmma lost its pipeline, or
// that it saw no kernel. "" if nothing does.
std::string trouble_in(const Ran& nvcc);

// make resources: every kernel as ptxas sees it, held against the budget of its stage, as a table and as CSV.

// One kernel of one build, and what is said of it.
struct ResourceRow {
  std::string stage, bug;  // "v1_scalar", "" or a bug's name
  KernelResources used;
  std::size_t smem = 0;  // bytes per block, what a launch asks for included
  int allowed = 0;       // registers, where the stage's own budget counts; 0 where it does not
  std::string over;      // what over_budget() says
};

// From what a stage.conf says. Throws BadInput for a target that common/target.hpp does not know, for what is no
// number, and for more shared memory than the target has.
StageBudget budget_of(const std::string& stage, const std::string& target, const std::string& registers,
                      const std::string& smem);

// Kernel -> bytes of dynamic shared memory, from what `lab plan` printed for several shapes.
std::map<std::string, std::size_t> dynamic_smem(const std::vector<std::string>& plans);

// The same of a backward stage, from what its `lab plan` printed and `nm` of that program.
std::map<std::string, std::size_t> launched_smem(const std::string& plan, const std::string& symbols);

// Throws BadInput where no plan launches the kernel.
ResourceRow judged(const std::string& stage, const std::string& bug, const KernelResources& used,
                   const std::map<std::string, std::size_t>& dynamic, const StageBudget& budget);

// A line for each stage whose largest correct kernel asks for another number of bytes than its stage.conf declares.
std::vector<std::string> wrong_smem(const std::vector<ResourceRow>& rows,
                                    const std::map<std::string, StageBudget>& budgets);

// Correct kernels, and the bugs' that break their budget.
std::string resources_table(const std::vector<ResourceRow>& rows);

// As CSV. `nvcc` is its release, "13.0".
std::string resources_csv(const std::vector<ResourceRow>& rows, const std::string& nvcc);

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
