#include "common/emulator/launch.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "common/emulator/block.hpp"
#include "common/emulator/cluster.hpp"
#include "common/emulator/memory.hpp"
#include "common/emulator/overlap.hpp"
#include "common/emulator/residents.hpp"
#include "common/target.hpp"

namespace lab {
namespace {

ExecOptions options;
ExecReport last_report;
cpu::FindingLog findings;
cpu::Counting::ByPlace tallies;  // of all blocks since the last report
cudaError_t last_error = cudaSuccess;
cudaError_t async_error = cudaSuccess;
std::unordered_map<const void*, int> max_dynamic_smem;
std::unordered_set<const void*> large_clusters;  // kernels that may have more blocks per cluster than every GPU allows

std::string dims(dim3 d) { return joined("(", d.x, ",", d.y, ",", d.z, ")"); }

}  // namespace

void set_exec_options(const ExecOptions& chosen) { options = chosen; }
const ExecOptions& exec_options() { return options; }
void set_launch_message(const std::string& message) {
  if (last_report.message.empty()) last_report.message = message;
}
bool to_be_made(const Launched& launch) {
  last_report.launched.push_back(launch);
  return !options.dry;
}

const char* backend_name() { return "cpu"; }
bool can_schedule() { return true; }
void poison_shared_memory() {}  // every block starts with it

static int worker_count() {
  if (options.workers > 0) return options.workers;
  return std::max(1, int(std::thread::hardware_concurrency()));
}

std::string skipped_here() { return ""; }

std::string device_name() {
  const int workers = worker_count();
  return joined("CPU, ", workers, workers == 1 ? " worker" : " workers");
}

ExecReport take_exec_report() {
  ExecReport taken = std::move(last_report);
  taken.findings = findings.resolve();
  taken.counts = cpu::by_line(std::exchange(tallies, {}));
  last_report = {};
  findings.clear();
  return taken;
}

namespace cpu {
namespace {

std::uintptr_t program_counter(void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return std::uintptr_t(machine.gregs[REG_RIP]) - code_base;
#elif defined(__aarch64__)
  return machine.pc - code_base;
#else
  (void)machine;
  return 0;
#endif
}

int time_signal() { return SIGRTMIN; }

void on_time(int, siginfo_t*, void* context) {
  if (Block* block = this_block(); block && block->running()) block->time_is_up(program_counter(context));
}

// Counts the processor time of the OS thread that makes it: a busy machine takes nothing from a block's time.
class BlockTimer {
 public:
  BlockTimer() {
    struct sigaction action {};
    action.sa_sigaction = on_time;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
    sigaction(time_signal(), &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = time_signal();
    event._sigev_un._tid = pid_t(syscall(SYS_gettid));
    made_ = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) == 0;
  }
  ~BlockTimer() {
    if (made_) timer_delete(timer_);
  }
  BlockTimer(const BlockTimer&) = delete;
  BlockTimer& operator=(const BlockTimer&) = delete;
  // From now on; then as often again, every second at most. 0 stops it.
  void start(double seconds) {
    itimerspec when{};
    when.it_value.tv_sec = time_t(seconds), when.it_value.tv_nsec = long((seconds - double(time_t(seconds))) * 1e9);
    when.it_interval = seconds < 1 ? when.it_value : timespec{1, 0};
    if (made_) timer_settime(timer_, 0, &when, nullptr);
  }

 private:
  timer_t timer_{};
  bool made_ = false;
};

#if !defined(__SANITIZE_ADDRESS__)  // whose own handler a fault is for, then
// A fault inside a kernel is the launch's error, as on a GPU; one anywhere else is this program's own.
void on_fault(int signal, siginfo_t* info, void* context) {
  Block* block = this_block();
  if (block && block->running()) {
    Block::Fault fault;
    fault.address = info->si_addr, fault.general_protection = info->si_code == SI_KERNEL;
    fault.pc = program_counter(context);
    block->fault(fault);
  }
  ::signal(signal, SIG_DFL);
  raise(signal);
}
#endif

void install_fault_handler() {
#if !defined(__SANITIZE_ADDRESS__)
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
#endif
}

// Fibers' stacks are small: the handler needs its own.
struct SignalStack {
  std::vector<char> bytes = std::vector<char>(64 * 1024);
  SignalStack() {
    stack_t stack{};
    stack.ss_sp = bytes.data(), stack.ss_size = bytes.size();
    sigaltstack(&stack, nullptr);
  }
  ~SignalStack() {
    stack_t off{};
    off.ss_flags = SS_DISABLE;
    sigaltstack(&off, nullptr);
  }
};

struct Refusal {
  cudaError_t error;
  std::string why;
};

constexpr unsigned PORTABLE_CLUSTER = 8, LARGEST_CLUSTER = 16;  // blocks; the second only after an opt-in

Refusal cluster_refusal(const LaunchConfig& c) {
  const dim3 g = c.grid, k = c.cluster;
  if (k.x == 1 && k.y == 1 && k.z == 1) return {cudaSuccess, ""};
  const std::uint64_t blocks = 1ull * k.x * k.y * k.z;
  const unsigned allowed = large_clusters.contains(c.kernel) ? LARGEST_CLUSTER : PORTABLE_CLUSTER;
  if (!blocks || blocks > allowed)
    return {cudaErrorInvalidClusterSize,
            joined("a cluster of ", dims(k), ", ", blocks, " blocks; 1 to ", allowed, " are allowed",
                   allowed == PORTABLE_CLUSTER && blocks && blocks <= LARGEST_CLUSTER
                       ? ", 16 with cudaFuncAttributeNonPortableClusterSizeAllowed"
                       : "")};
  if (g.x % k.x || g.y % k.y || g.z % k.z)
    return {cudaErrorInvalidConfiguration,
            "a grid of " + dims(g) + " in clusters of " + dims(k) + "; a multiple of the cluster is allowed"};
  return {cudaSuccess, ""};
}

// The refusals of cudaLaunchKernel before anything runs.
Refusal refusal(const LaunchConfig& c) {
  const dim3 g = c.grid, b = c.block;
  if (!g.x || !g.y || !g.z) return {cudaErrorInvalidConfiguration, "an empty grid " + dims(g)};
  if (g.x > 2147483647u || g.y > 65535u || g.z > 65535u)
    return {cudaErrorInvalidConfiguration, "a grid of " + dims(g) + "; (2147483647,65535,65535) are allowed"};
  const unsigned long threads = 1ul * b.x * b.y * b.z;
  if (!threads || threads > MAX_THREADS || b.x > 1024 || b.y > 1024 || b.z > 64)
    return {cudaErrorInvalidConfiguration, joined("a block of ", dims(b), ", ", threads,
                                                  " threads; 1 to 1024 threads and (1024,1024,64) are allowed")};
  std::size_t allowed = SMEM_WITHOUT_OPT_IN;
  if (const auto found = max_dynamic_smem.find(c.kernel); found != max_dynamic_smem.end())
    allowed = std::size_t(found->second);
  if (c.smem > allowed)
    return {cudaErrorInvalidValue,
            joined("invalid argument: asks for ", c.smem, " B of dynamic shared memory, the kernel's attribute allows ",
                   allowed, " B")};
  return cluster_refusal(c);
}

}  // namespace

cudaError_t allow_large_clusters(const void* kernel, bool allow) {
  if (allow)
    large_clusters.insert(kernel);
  else
    large_clusters.erase(kernel);
  return cudaSuccess;
}

cudaError_t set_max_dynamic_smem(const void* kernel, int bytes) {
  const Target& target = stage_target();
  if (bytes < 0 || std::size_t(bytes) > target.smem_per_block) {
    set_launch_message(joined("cudaFuncSetAttribute: ", bytes, " B of dynamic shared memory, the ", target.name,
                              " budget allows ", target.smem_per_block, " B"));
    set_last_error(cudaErrorInvalidValue);
    return cudaErrorInvalidValue;
  }
  max_dynamic_smem[kernel] = bytes;
  return cudaSuccess;
}

const std::vector<Launched>& launched() { return last_report.launched; }

void set_last_error(cudaError_t error) { last_error = error; }
void set_async_error(cudaError_t error) { async_error = error; }

namespace {

// ExecOptions::block_order of `count` units; empty for ascending.
std::vector<std::uint32_t> ordered(std::uint64_t count, std::uint64_t seed) {
  if (seed == 0) return {};
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  if (seed == 1) {
    std::ranges::reverse(order);
    return order;
  }
  std::mt19937_64 random(seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

// The sample of ExecOptions::blocks, in clusters.
std::vector<std::uint32_t> sample_of(const LaunchConfig& config) {
  const std::uint64_t total = 1ull * config.grid.x * config.grid.y * config.grid.z;
  std::set<std::uint32_t> clusters;
  for (const std::uint32_t linear : options.blocks)
    if (linear < total) clusters.insert(cluster_of_block(config, linear));
  return {clusters.begin(), clusters.end()};
}

}  // namespace

cudaError_t launch(const LaunchConfig& config, const std::function<void()>& thread) {
  if (const Refusal refused = refusal(config); refused.error != cudaSuccess) {
    set_launch_message(std::string(config.name) + ": " + refused.why);
    set_last_error(refused.error);
    return refused.error;
  }
  static const bool handler_installed = (install_fault_handler(), true);
  (void)handler_installed;
  if (!to_be_made({config.kernel, config.smem, config.stream, config.grid, config.block, config.cluster}))
    return cudaSuccess;
  begin_global_launch(config.arguments);
  const int unit_blocks = int(config.cluster.x * config.cluster.y * config.cluster.z);
  const std::uint64_t total = 1ull * config.grid.x * config.grid.y * config.grid.z;
  const std::uint64_t units = total / std::uint64_t(unit_blocks);  // clusters, of one block mostly
  const std::vector<std::uint32_t> sample = sample_of(config);
  const std::uint64_t chosen = options.blocks.empty() ? units : sample.size();
  const std::vector<std::uint32_t> order = ordered(chosen, options.block_order);
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> failed{~0ull};  // the first position whose block failed: the same for any worker count
  struct UnitDone {                          // what a block or a cluster adds to the report, if none before it fails
    std::uint64_t position, switches;
    FindingLog findings;
    std::vector<CountedBlock> counted;
  };
  std::mutex merge;
  std::vector<UnitDone> all_done;
  std::uint64_t reported = ~0ull;
  cudaError_t error = cudaSuccess;
  const auto run_units = [&, call = overlapping_call()] {
    join_overlapping_call(call);
    const SignalStack signal_stack;
    BlockTimer timer;
    Cluster unit(options, unit_blocks);
    std::vector<UnitDone> done;
    for (std::uint64_t i = next++; i < chosen && i < failed.load(); i = next++) {
      before_block();
      const std::uint32_t place = order.empty() ? std::uint32_t(i) : order[i];
      const std::uint32_t which = options.blocks.empty() ? place : sample[place];
      UnitDone now{i, 0, {}, {}};
      unit.each_block([&](Block& block) { now.switches -= block.switches(); });
      timer.start(options.block_seconds * unit_blocks);
      const cudaError_t result = unit.run(config, thread, blocks_of_cluster(config, which));
      timer.start(0);
      unit.each_block([&](Block& block) {
        now.switches += block.switches();
        now.findings.merge(block.take_findings());
        if (block.counting()) now.counted.push_back({block.linear(), block.counting()->of_this_block()});
      });
      if (unit.block(0).gave_up()) break;
      done.push_back(std::move(now));
      if (result == cudaSuccess) continue;
      std::uint64_t before = failed.load();
      while (i < before && !failed.compare_exchange_weak(before, i)) {
      }
      const std::lock_guard guard(merge);
      if (i < reported)
        reported = i, error = result, last_report.message = unit.message(), last_report.hang = unit.hang();
      residents().fail();
      break;
    }
    const std::lock_guard guard(merge);
    unit.each_block([](Block& block) {
      if (block.counting()) add(tallies, block.counting()->take());
    });
    std::move(done.begin(), done.end(), std::back_inserter(all_done));
  };
  std::mutex starting;
  std::deque<std::thread> workers;  // one that runs may start another
  int begun = 0;
  const auto work = [&] {
    run_units();
    {
      const std::lock_guard guard(starting);
      --begun;
    }
    residents().leave();
  };
  const auto start = [&] {
    const std::lock_guard guard(starting);
    if (next >= chosen || (options.room && begun == options.room)) return false;
    ++begun;
    workers.emplace_back(work);
    return true;
  };
  int at_once = int(std::min<std::uint64_t>(std::uint64_t(worker_count()), chosen));
  if (options.room) at_once = std::min(at_once, options.room);
  residents().begin(at_once, start);
  for (int i = 0; i < at_once; ++i)
    if (!start()) residents().leave();  // those before have taken all blocks
  for (std::size_t i = 0;; ++i) {
    std::thread* worker = nullptr;
    {
      const std::lock_guard guard(starting);
      if (i < workers.size()) worker = &workers[i];
    }
    if (!worker) break;
    worker->join();
  }
  for (const UnitDone& done : all_done) {
    if (done.position > reported) continue;  // with fewer workers it would not have run
    findings.merge(done.findings);
    last_report.blocks_run += std::uint64_t(unit_blocks);
    last_report.switches += done.switches;
    last_report.counted_blocks.insert(last_report.counted_blocks.end(), done.counted.begin(), done.counted.end());
  }
  std::ranges::sort(last_report.counted_blocks, {}, &CountedBlock::block);
  if (error != cudaSuccess) set_async_error(error);
  return cudaSuccess;
}

}  // namespace cpu
}  // namespace lab

cudaError_t cudaPeekAtLastError() { return lab::last_error; }
cudaError_t cudaGetLastError() {
  const cudaError_t error = lab::last_error;
  lab::last_error = cudaSuccess;
  return error;
}
// A GPU's context is lost after an error inside a kernel; here the next launch starts fresh.
cudaError_t cudaDeviceSynchronize() {
  const cudaError_t error = lab::async_error;
  lab::async_error = cudaSuccess;
  return error;
}
// Remembered, and of no effect: nothing here has an L2.
static std::size_t limits[8] = {};
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) { return limits[limit] = value, cudaSuccess; }
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) { return *value = limits[limit], cudaSuccess; }
cudaError_t lab::synchronize_within(double) { return cudaDeviceSynchronize(); }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }
