// Measurements and what is made of them: JSON as it is committed, tables, and the blocks of the pages.
#pragma once
#include <array>
#include <functional>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>

#include "checks/bench/bench_samples.hpp"
#include "checks/budget/ptxas.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/runs.hpp"
#include "common/shape.hpp"

namespace lab::desk {

// JSON as the lab keeps it: read strictly, written so that a diff of two files reads line by line.

using Json = nlohmann::ordered_json;

// Throws BadInput "WHAT: not JSON: ..."; a member that comes twice is an error too.
Json parse_json(std::string_view text, const std::string& what);

// A results file of one schema. Throws BadInput where there is none, it is no JSON, or its schema differs;
// `remade_by` is the command that makes it.
Json load_results(const std::filesystem::path& path, std::string_view schema, std::string_view remade_by);

// {"a": 1, "b": [2, 3]}: a value on one line. Numbers that are not whole get as many digits as `digits` says.
std::string one_line(const Json& value, int digits = 6);

// The same with a line for each member or element of what lies less than `levels` deep.
std::string laid_out(const Json& value, int levels, int digits = 6);

// "v3j_shorter_loop, 2,8,2048,64: NVIDIA H200\n": what the facts of a measurement have under these keys, and the GPU.
std::string title_of(const Json& facts, const std::vector<const char*>& keys);

// The binaries under build/, as a pattern with two words to fill in: build/cpu/STAGE/VARIANT/lab.

// Throws BadInput for a pattern without the two words.
std::string lab_path(std::string pattern, const std::string& stage, const std::string& variant);

// The variant that has a bug planted; `otherwise` for none.
std::string variant_of(const std::string& bug, const std::string& otherwise);

// The stage of build/BACKEND/STAGE/VARIANT/lab. Throws BadInput for a path with fewer parts.
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

// The JSON of a benchmark's run (schema bench-1, writeups/results/README.md).

// Throws BadInput for a fact that is no number of JSON.
std::string bench_json(const BenchRun& run);

// The JSON of a sweep (schema sweep-1): of each shape the microseconds of every program.
std::string sweep_json(const BenchRun& run);

// What `desk-records bench` left in build/bench.
BenchRun last_bench_run();

// Digests of outputs: what `lab bits` prints, and how it is held to what a GPU recorded (bits-1).

// {"CASE": "DIGEST", ...} of lines "DIGEST CASE". Throws BadInput for a line that is no such thing, or a case that
// comes twice.
Json digests_in(const std::string& printed);

struct BitsVerdict {
  std::size_t equal = 0, cases = 0;
  std::vector<std::string> lines;  // what is not as recorded: the first of each kind, and how many there are
  bool good() const { return cases > 0 && lines.empty(); }
};

// Of one stage. `whole`: `now` has all cases, so that one which only the record has is a difference too.
BitsVerdict compare_bits(const Json& recorded, const Json& now, bool whole);

// The file: where it was recorded, and the stages' digests, {"STAGE": {"CASE": "DIGEST"}}.
std::string bits_json(const Json& where, const Json& stages);

// make counters over all stages: what the CPU execution counts of each, kept as counted-1.

// What `counted` and `now` say differently of `shape`, a line each.
std::vector<std::string> differences(const Json& counted, const Json& now, const std::string& shape);

// counted-1 from the counters-1 of each stage and shape.
std::string counted_json(const std::vector<Json>& counters);

// The output of a compilation whose log starts with the line `key` (its command) and is newer than its `inputs`.
std::optional<std::string> said_before(const std::string& log, const std::string& key,
                                       std::filesystem::file_time_type inputs);

// Why a compilation is not good, as one line: nvcc's own error; of ptxas, that wgmma lost its pipeline, or
// that it saw no kernel. "" if nothing does.
std::string trouble_in(const Ran& nvcc);

// make resources: every kernel as ptxas sees it, held against the budget of its stage, as a table and as JSON.

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

// Schema resources-1. `nvcc` is its release, "13.0".
std::string resources_json(const std::vector<ResourceRow>& rows, const std::string& nvcc);

// compute-sanitizer's logs, in a summary of the form that the CPU's racecheck prints, and as schema tools-1.

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
std::string sanitizer_json(const std::string& machine, const std::vector<ToolReport>& reports);

// The pages' tables that come from running binaries and from committed results, as Markdown.

// What `lab blindness` printed: the mission shape under two kinds of inputs, not causal and causal, and schedules.
struct Blindness {
  struct Answer {
    std::string largest, verdict;  // "0.000119" or "NaN" or "-"; "pass", "fail"; "refused", "hangs", "stops"
  };
  std::array<Answer, 2> notes, unit;  // not causal, causal
  std::string schedules;              // "differ" or "agree", "" where the backend cannot choose
};
// Throws BadInput naming `binary` where one of the four answers is missing or no answer.
Blindness read_blindness(const std::string& printed, const std::string& binary);

// A line of `make blindness`.
std::string blindness_row(const std::string& title, const Blindness& answers);

// The CPU checker's findings, from the output of `lab racecheck`, in a table's cell.
std::string checker_cell(const Verdict& racecheck);

// The findings of one of compute-sanitizer's tools in a build, from tools-1: "not run", "-" or its kinds in short.
std::string tool_cell(const Json& tools, const std::string& stage, const std::string& bug, const std::string& tool);

// A line of `make tools-table`.
std::string tools_row(const std::string& title, const Blindness& answers, const Verdict& racecheck, const Json& tools,
                      const std::string& stage, const std::string& bug);
std::string tools_footer(const Json& tools, const std::string& path);

// "REGISTERS | SMEM" over the correct kernels of a stage at `arch`, smallest to largest.
std::string resources_cell(const Json& resources, const std::string& stage, const std::string& arch);

// The blocks of the Markdown pages that a command fills, so that no page can go stale. A block, at the start of a line:
//   <!-- begin: COMMAND | FILTER -->
//   <!-- end -->
// COMMAND runs at the repository's root and must succeed; written "! COMMAND", it must fail. Its output loses
// colours, make's and git's own lines and the number of workers, then goes through FILTER. A table goes in as it is,
// all else fenced. A block whose command starts with another word than make, git, sed and such is filled by a different
// program.

struct Block {
  std::string command;            // as the page has it, with its filter and "! "
  std::size_t first = 0;          // index of the line after the begin marker
  std::vector<std::string> body;  // the lines up to the end marker
};

// Throws BadInput where a block has no end.
std::vector<Block> blocks_of(const std::vector<std::string>& page);

// Where two texts part, a few lines of each.
std::string difference(const std::vector<std::string>& page, const std::vector<std::string>& now);

// A command's output, without colours and the lines that differ from run to run.
std::string cleaned(const std::string& printed);

// "diff", "cpp" or "text", by the command without its filter.
std::string language_of(std::string_view command);

// Lines as they stand on a page: a table as it is, else fenced; C++ loses the indentation that all its lines share.
std::vector<std::string> framed(std::vector<std::string> lines, const std::string& language);

// The hunks of a unified diff that have a line with `pattern`, below the names of the two files.
std::string hunks_with(const std::string& diff, const std::string& pattern);

// Runs command lines of sh, each only once: blocks share commands. Several threads may ask; one that asks for a
// command in progress waits for it.
class Runner {
 public:
  using Shell = std::function<Ran(const std::string& command, const std::string& input)>;
  explicit Runner(Shell shell = capture_sh) : shell_(std::move(shell)) {}

  // The lines that a block should have. Throws std::runtime_error with the reason where there are none.
  std::vector<std::string> body(const std::string& command);

 private:
  Ran ran(const std::string& command);

  Shell shell_;
  std::mutex lock_;
  std::map<std::string, std::shared_future<Ran>> begun_;
};

// The name that a code host gives a heading, for links: "How the checker works" -> "how-the-checker-works".
std::string anchor_of(const std::string& heading);
// Links of a page into this repository whose file, or whose heading or anchor in a .md file, is not there.
std::vector<std::string> broken_links(const fs::path& page);

struct Tally {
  int good = 0, bad = 0;
  std::string complaints;
};
// Brings one page up to date, or with `check` only says where it is not, and which of its links are broken.
void renew_page(const std::string& path, bool check, Runner& runner, Tally& tally);

}  // namespace lab::desk
