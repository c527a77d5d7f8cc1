// Where kernels run, and what the CPU backend lets a caller choose and see. The GPU backend implements the
// same functions; what it cannot choose (a schedule) or see (a race) it says so by `can_schedule() == false`.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

// Which thread runs next when the running one waits. One schedule never shows every bug.
enum class Schedule { ascending, descending, round_robin, random };

// When a cp.async copies its bytes: at the wait that completes it (shows a missing wait) or when it is issued
// (shows a buffer reused too early). The hardware may do either.
enum class Copies { at_wait, at_issue };

// How matrix elements are spread over the lanes of a WMMA fragment. CUDA leaves it open, so correct code gives the same
// bits with any; `measured` is the H200's (common/wmma_layout.hpp).
enum class Fragments { measured, other };

// Whose arithmetic the CPU's tensor cores have (common/cpu/exec/tensor_core.hpp): that of a GPU, bit for bit, or plain
// fp32 sums. A whole kernel takes about 15 % longer with a GPU's, so every run has them.
enum class TensorCore { sm_90, sm_89, fast };

struct ExecOptions {
  Schedule schedule = Schedule::ascending;
  std::uint64_t seed = 1;  // for Schedule::random
  Copies copies = Copies::at_wait;
  Fragments fragments = Fragments::measured;
  TensorCore tensor_core = TensorCore::sm_90;
  int workers = 0;                    // OS threads, each running one block at a time; 0: one a core
  bool check = false;                 // race, init and bounds checks; needs an instrumented kernel
  bool gaps = false;                  // poisoned gaps between the arrays of a shared-memory plan
  std::vector<std::uint32_t> blocks;  // linear block indices to run, ascending; empty: all of them
};

const char* name(Schedule schedule);
const char* name(Copies copies);

const char* backend_name();  // "cpu" or "gpu"
std::string device_name();   // "CPU, 2 workers" or the GPU's name
bool can_schedule();         // true on the CPU: schedules, copy modes and block samples are honoured
bool can_check();            // true if the linked kernel was compiled with the checker's instrumentation

// Leaves NaN in all shared memory before a launch, as far as the backend can: on the CPU every block starts that way.
void poison_shared_memory();

void set_exec_options(const ExecOptions& options);
const ExecOptions& exec_options();

// Something a checker saw, deduplicated over threads and blocks. `text` is the whole report, ready to print.
struct Finding {
  enum class Kind {
    race_inter_warp,  // unordered accesses by two warps
    race_intra_warp,  // unordered accesses by two lanes of a warp
    uninitialised,    // read of shared memory that nothing wrote
    out_of_bounds,    // outside the shared-memory request, an array of its plan, or a global buffer
    before_wait,      // access to a cp.async destination before the wait that completes it
    barrier,          // exited or diverged threads at a barrier
    collective,       // misuse of a warp collective
    misaligned,       // address not a multiple of the access size
    deadlock,         // no thread can go on
    fault,            // memory fault, trap
  };
  struct Access {  // one side of a finding; `valid` is false where there is no such side
    bool valid = false;
    bool write = false;
    int warp = -1, lane = -1;
    std::string file;  // relative to the repository: "stages/v2b_single_warp/kernel.cu"
    int line = 0;
  };
  Kind kind{};
  std::string hazard;  // "RAW", "WAR", "WAW" for races, else ""
  std::string kernel;
  std::uint32_t block = 0;  // linear index of the first block that showed it
  std::string where;        // "S_scores[56][0]", or "shared+0x120", or a global address
  Access first, second;     // the earlier access and the one that showed the trouble
  std::uint64_t count = 0;  // how often, over all blocks
  std::string text;
};
const char* name(Finding::Kind kind);

// What the launches since the last call left: findings sorted by (kind, line), one-line message of the last
// refused launch or failed kernel, and counters.
struct ExecReport {
  std::vector<Finding> findings;
  std::string message;                 // "" if no launch failed
  std::uint64_t switches = 0;          // fiber switches; the same for the same schedule and seed
  std::uint64_t lane_collectives = 0;  // lanes that passed a warp collective
  std::uint64_t blocks_run = 0, blocks_total = 0;
};
ExecReport take_exec_report();

}  // namespace lab
