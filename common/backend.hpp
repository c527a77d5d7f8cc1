// Where kernels run, and what the CPU backend lets a caller choose and see. The GPU backend implements the
// same functions; what it cannot choose (a schedule) or see (a race) it says so by `can_schedule() == false`.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/build_info.hpp"
#include "common/counts.hpp"
#include "common/hang.hpp"

namespace lab {

// Which thread runs next when the running one waits. One schedule never shows every bug.
// `leaders`: lane 0 of each warp before lane 1 of any. Lane 0 mostly speaks for its warp: it runs ahead, and the others
// look at what it has given away after another warp's has taken it.
enum class Schedule { ascending, descending, round_robin, random, leaders };

// When asynchronous work (cp.async, the copy engine, wgmma) happens: as late as its wait allows (shows a missing wait),
// when it is issued (shows a buffer reused too early), or at some moment between, by the seed. The hardware may do any.
enum class Copies { at_wait, at_issue, random };

// How matrix elements are spread over the lanes of a WMMA fragment. CUDA leaves it open, so correct code gives the same
// bits with any; `measured` is the H200's (common/wmma_layout.hpp).
enum class Fragments { measured, other };

class ExecWatcher;

struct ExecOptions {
  Schedule schedule = Schedule::ascending;
  std::uint64_t seed = 1;  // for Schedule::random and Copies::random
  Copies copies = Copies::at_wait;
  Copies products = Copies::at_wait;  // wgmma's
  Fragments fragments = Fragments::measured;
  int workers = 0;     // OS threads, each running one block at a time; 0: one a core
  bool check = false;  // race, init and bounds checks; needs an instrumented kernel
  bool count = false;  // what a GPU's counters would count (common/counts.hpp); needs an instrumented kernel
  // Warp reductions lane by lane, as a GPU makes them (common/warp.cuh), not as one rendezvous with the same additions.
  bool spelled_out = false;
  int multiprocessors = 0;         // what a launcher that counts them finds; 0: an H200's 132, or the GPU's
  double block_seconds = 60;       // processor time that a block may take before the launch is stopped
  bool unwritten = false;          // reads of global memory that nothing has written; needs all launches checked
  bool gaps = false;               // poisoned gaps between the arrays of a shared-memory plan
  ExecWatcher* watcher = nullptr;  // told of every event; needs `check` for reads and writes, and workers = 1
  std::vector<std::uint32_t> blocks = {};  // linear block indices to run, ascending; empty: all of them
  // The order in which blocks are started: 0 ascending, 1 descending, else shuffled by this seed. One after the other
  // with workers = 1; with more they overlap.
  std::uint64_t block_order = 0;
  // Blocks that have room at once; 0: all. One that waits for another keeps its place, and with no room none starts in its
  // stead: in the ascending order a kernel whose blocks wait only for earlier ones ends with a room of 1.
  int room = 0;
  bool dry = false;  // launches are recorded (ExecReport::launched), and none is made
};

// One thing that a thread did, told in the order in which the schedule let it happen. Kernels compiled with the
// checker's instrumentation tell of every access to shared memory; `array`, `row` and `byte` say where it lies ("" and
// the arena's offset outside every array of the plan).
struct ExecEvent {
  enum class Kind {
    read,
    write,
    copy,            // a cp.async is issued; `array` is where its bytes will land
    commit,          // of the copies issued so far, as one group
    wait,            // until at most `bytes` groups are left
    sync,            // a __syncwarp is complete; told once, by the last lane
    arrive,          // at a block barrier
    release,         // all are there: one event per barrier, warp and lane of the last to arrive
    product,         // an mma.sync or WMMA product; told once, by the last lane
    cluster_arrive,  // a thread at its cluster's barrier
    cluster_pass,    // a thread goes on after its wait for it, which took time or not
    bar_arrive,  // a warp at a named barrier, told once per warp; `bytes` is the barrier's number, `byte` 1 if it waits
    bar_release,  // as many as it waited for are there
    bar_pass,     // a warp goes on after its bar.sync, which took time or not; told once per warp
    // Of these, `array` and `row` name the copy's place in shared memory or the mbarrier; an event of a copy or a
    // completed phase names the issuing thread, or the last to arrive.
    tma_issue,          // a copy of `bytes` bytes
    tma_land,           // it happens
    mbarrier_land,      // `bytes` bytes count at the mbarrier; 0: a thread of another block arrives there
    mbarrier_arrive,    // expecting `bytes` more bytes
    mbarrier_complete,  // phase `bytes` is complete
    mbarrier_wait,      // a thread has to wait for phase `bytes`
    mbarrier_pass,      // a thread goes on after its wait for phase `bytes`, which took time or not
    // Told once per warp; `array` and `row` of an issue are where its B lies.
    wgmma_issue,   // a product with N = `bytes` may begin
    wgmma_commit,  // of those issued so far, as one group
    wgmma_wait,    // at most `bytes` groups are left
  };
  Kind kind{};
  std::uint32_t block = 0;
  int warp = 0, lane = 0;
  const char* array = "";
  int row = 0;   // of the array
  int byte = 0;  // from the row's first
  int bytes = 0;
  int line = 0;  // of the kernel's source, 0 where the call does not say
};

// Sees a launch happen, event by event (ExecOptions::watcher). Called on the thread that runs the block.
class ExecWatcher {
 public:
  virtual ~ExecWatcher() = default;
  virtual void see(const ExecEvent& event) = 0;
};

const char* name(Schedule schedule);
const char* name(Copies copies);
// Those that checks try.
inline constexpr Schedule SCHEDULES[] = {Schedule::ascending, Schedule::descending, Schedule::round_robin,
                                         Schedule::random};
inline constexpr Copies COPY_TIMES[] = {Copies::at_wait, Copies::at_issue};

const char* backend_name();  // "cpu" or "gpu"
std::string device_name();   // "CPU, 2 workers" or the GPU's name
std::string
skipped_here();  // the line that says why the GPU at hand cannot run the stage; "" if it can, and on the CPU
// One line on why a launch was refused; take_exec_report() hands it on. The first stays: a launcher that is refused a tensor
// map says only that it was.
void set_launch_message(const std::string& message);
bool can_schedule();  // true on the CPU: schedules, copy modes and block samples are honoured

// Leaves NaN in all shared memory before a launch, as far as the backend can: on the CPU every block starts that way.
void poison_shared_memory();

void set_exec_options(const ExecOptions& options);
const ExecOptions& exec_options();

// Something a checker saw, deduplicated over threads and blocks. `text` is the whole report, ready to print.
struct Finding {
  // In the order in which a report tells them: a cause comes before what it brings about.
  enum class Kind {
    arrivals,           // more of a warp's lanes arrive at an mbarrier than a phase expects
    race_inter_warp,    // unordered accesses by two warps
    race_intra_warp,    // unordered accesses by two lanes of a warp
    race_inter_block,   // two blocks of a launch at one element of global memory, one of them writing without an atomic
    uninitialised,      // read of memory that nothing wrote
    out_of_bounds,      // outside the shared-memory request, an array of its plan, or a global buffer
    before_wait,        // access to a cp.async destination before the wait that completes it
    before_phase,       // access to a TMA load's destination before its mbarrier's phase was seen complete
    proxy,              // asynchronous work on what threads wrote, and no fence.proxy.async between
    in_flight,          // asynchronous work without a wait when the block ended
    barrier,            // exited or diverged threads at a barrier
    mbarrier,           // misuse of an mbarrier
    cluster,            // misuse of a cluster's barrier, or of a rank
    before_start,       // access to another block's shared memory that may not run yet
    before_dependency,  // global memory touched before griddepcontrol.wait, in a launch that may overlap the one before
    early_exit,         // a block ended, and another of its cluster may still touch its shared memory
    collective,         // misuse of a warp collective
    // wgmma: D read before the wait that covers it; D or A written before that; D or A touched, and no wgmma_fence
    // before the product.
    read_before_wait,
    changed_before_wait,
    fence_missing,
    misaligned,  // address not a multiple of the access size
    deadlock,    // no thread can go on
    time_limit,  // a block ran for longer than ExecOptions::block_seconds
    fault,       // memory fault, trap
  };
  struct Access {  // one side of a finding; `valid` is false where there is no such side
    bool valid = false;
    bool write = false;
    int warp = -1, lane = -1;
    int rank = -1;     // of its block in the cluster, if it is another than `block`
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
  // Of a race: every time the write left the value that was there. Benign on today's GPUs; the order is undefined.
  bool same_value = false;
  // One race is one finding: all kinds and hazards that it showed as ("inter-warp race (RAW)"), and the instances of the
  // kernel in which it did.
  std::set<std::string> ways, kernels;
  std::string head, text;  // the report, without and with these
  bool is(Kind k) const;   // in any of its ways
  // Findings with the same key are one fault. Of a race one barrier orders all that happens between its two lines; which
  // comes first, and whether a copy has landed by then, is the schedule's choice.
  using Place = std::pair<std::string, int>;
  using Key = std::tuple<Kind, Place, Place, std::string>;
  Key key() const;
};
const char* name(Finding::Kind kind);
// "\n    also as ..., in 2 instances of the kernel: ..."; "" for one way and one instance.
std::string ways_text(const Finding& finding);

// Waits for the launches before it, but not for ever: cudaErrorNotReady if a GPU still runs after `seconds` (it may
// hang, and then only the end of the process frees it). The CPU stops a block by itself (ExecOptions::block_seconds).
cudaError_t synchronize_within(double seconds);

// A launch as it was asked for. The kernel is an address.
struct Launched {
  const void* kernel;
  std::size_t dynamic_smem;
  cudaStream_t stream;
  dim3 grid, block, cluster;
};
// Of a launch that is about to be made: false if it is to be recorded alone (ExecOptions::dry).
bool to_be_made(const Launched& launch);

// The record of the launches since the last call: findings sorted by (kind, line), one-line message of the last
// refused launch or failed kernel, and counters.
struct ExecReport {
  std::vector<Finding> findings;
  std::string message;             // "" if no launch failed
  Hang hang;                       // of a launch on the CPU that could not go on, or took too long
  std::vector<Launched> launched;  // those that were refused are not among them
  std::uint64_t switches = 0;      // fiber switches; the same for the same schedule and seed
  std::uint64_t blocks_run = 0;
  // With ExecOptions::count, of the blocks that ran: sorted by line and kind, and block by block.
  std::vector<CountedLine> counts;
  std::vector<CountedBlock> counted_blocks;
};
ExecReport take_exec_report();

}  // namespace lab
