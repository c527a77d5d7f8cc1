#include "common/emulator/block.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "common/emulator/cluster.hpp"
#include "common/emulator/memory.hpp"
#include "common/emulator/spare.hpp"
#include "common/emulator/switch.hpp"
#include "common/emulator/unwritten.hpp"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace lab::cpu {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t STACK_BYTES = 256 * 1024;  // redzones make frames several times larger
#else
constexpr std::size_t STACK_BYTES = 64 * 1024;
#endif
// Below each stack lies a stretch that faults. The distance between stacks is an odd number of pages, and their tops
// start at different places in a page: otherwise every fiber's hot lines would share a few cache and TLB sets.
constexpr std::size_t STACK_GUARD = 17 * 4096;
constexpr std::size_t STACK_STRIDE = STACK_GUARD + STACK_BYTES;

Spare<Stacks> spare_stacks;

}  // namespace

constinit thread_local Block* running_block = nullptr;
constinit thread_local Block* observed_block = nullptr;
constinit thread_local std::uintptr_t Attributed::copying = 0;

Block::Block(const ExecOptions& options) : options_(options), checking_(options.check), stacks_(spare_stacks.take()) {
  if (options.count) counting_ = std::make_unique<Counting>();
  if (stacks_.memory) return;
  void* memory =
      mmap(nullptr, STACK_STRIDE * MAX_THREADS, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stacks_.memory = static_cast<std::byte*>(memory);
}

Block::~Block() { spare_stacks.give(stacks_); }

bool Block::owns_stack(const void* address) const {
  const auto* byte = static_cast<const std::byte*>(address);
  return byte >= stacks_.memory && byte < stacks_.memory + STACK_STRIDE * MAX_THREADS;
}

// --- fibers -----------------------------------------------------------------------------------------------

void fiber_entry_body() { running_block->fiber_main(); }

void Block::start_fibers() {
  fibers_.resize(threads_);
  for (int i = 0; i < threads_; ++i) {
    Fiber& fiber = fibers_[i];
    const dim3 size = config_->block;
    fiber.copies.clear();
    fiber = {.copies = std::move(fiber.copies)};  // with the memory that it has
    fiber.index = {unsigned(i) % size.x, unsigned(i) / size.x % size.y, unsigned(i) / (size.x * size.y)};
    fiber.linear = std::uint16_t(i), fiber.warp = std::uint8_t(i / LANES), fiber.lane = std::uint8_t(i % LANES);
    std::byte* stack = stacks_.memory + STACK_STRIDE * i + STACK_GUARD;
    if (i >= stacks_.ready && mprotect(stack, STACK_BYTES, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(stack, STACK_BYTES);  // fibers that never returned have left their red zones there
#endif
    fiber.stack = stack, fiber.stack_bytes = STACK_BYTES - std::size_t(i) * 13 * 64 % 4096;
    if (checking_) fill_unwritten(stack + fiber.stack_bytes);
    fiber.context = first_context(stack, fiber.stack_bytes, fiber_entry_body);
  }
  stacks_.ready = std::max(stacks_.ready, threads_);
}

void Block::fiber_main() {
  (*thread_)();
  leave();
}

void Block::leave() {
  Fiber& fiber = *current_;
  ++fiber.groups_committed;
  copy_wait(0, false);  // the bytes arrive some time; no thread may rely on when
  fiber.exited = true;
  Warp& warp = warps_[fiber.warp];
  warp.exited |= 1u << fiber.lane;
  make_waiting(fiber);
  --live_;
  if (!fiber.returned && !ended_) ended_ = &fiber;
  leave_meetings(warp, 1u << fiber.lane);
  if (warp.exited == 0xFFFFFFFFu) {
    warpgroups_.warp_left(fiber.warp);
    if (counting_) counting_->meet(fiber.warp);
  }
  if (live_ > 0 && at_barrier_ == live_) release_barrier();
  progressed();
  cluster_->thread_left(fiber);
  if (live_ == 0) {
    mbarriers_.block_is_over();
    engine_.land_all();
    if (checking_) {
      mbarriers_.check_end();
      shadow_.check_all_read();
      shadow_.check_visits();
      registers_.check_end();
      check_named_end();
    }
    switch_to(&root_);
  }
  wait_for_turn();
  __builtin_unreachable();
}

// --- block barrier ----------------------------------------------------------------------------------------

void Block::barrier(std::uintptr_t pc) {
  switch_point(pc);
  Fiber& fiber = *current_;
  fiber.waits_at = pc;
  make_waiting(fiber);
  tell(ExecEvent::Kind::arrive, 0, 0, pc);
  if (at_barrier_++ == 0) barrier_pc_ = pc, barrier_first_ = &fiber;
  const int site = std::exchange(fiber.site, 0);
  if (at_barrier_ == 1) barrier_site_ = site;
  if (checking_ && (different_lines(pc, barrier_pc_) || site != barrier_site_))
    report(Finding::Kind::barrier, {barrier_pc_, barrier_first_->warp, barrier_first_->lane},
           {pc, fiber.warp, fiber.lane}, "threads of one block wait at different barriers");
  if (at_barrier_ == live_) release_barrier();
  wait_for_turn();
}

// A thread that has returned is not waited for, and need not come. One that has reached the kernel's end should have
// come: the condition of the barrier, or of its loop, was not the same for all threads.
void Block::release_barrier() {
  at_barrier_ = 0;
  if (checking_ && barrier_site_ && ended_)
    report(Finding::Kind::barrier, {}, {barrier_pc_, barrier_first_->warp, barrier_first_->lane}, [&] {
      return joined("warp ", ended_->warp, " lane ", ended_->lane,
                    " has reached the kernel's end without it: __syncthreads() is for all threads of the block or for "
                    "none");
    });
  if (counting_) count_barrier();
  progressed();
  tell(ExecEvent::Kind::release, 0, 0, barrier_pc_);
  if (checking_) shadow_.block_barrier();
  for (Fiber& fiber : fibers_)
    if (!fiber.exited) make_ready(fiber.warp, 1u << fiber.lane);
}

// --- asynchronous work --------------------------------------------------------------------------------------

void Block::park(std::uintptr_t pc, Wait::At what, int which) {
  current_->waits_at = pc, current_->waits_for = what, current_->which = which;
  own_warp().parked |= 1u << current_->lane;
  make_waiting(*current_);
  wait_for_turn();
}

void Block::wake_all(Wait::At what, int which) {
  each_parked(what, [&](const Fiber& fiber) {
    if (fiber.which == which) wake(fiber.linear);
  });
}

void Block::idle() {
  while (!ready_warps_) {
    if (mbarriers_.answer_polls(false) || engine_.land_awaited()) continue;
    if (answer_active() || wake_spinning(false)) continue;
    if (cluster_->size() > 1) {
      if (doomed_) deadlock();
      yield();
    } else if (!wait_for_blocks() && !answer_polls()) {
      deadlock();
    }
  }
}

bool Block::answer_polls() {
  constexpr int PATIENCE = 1000, SPINS = 20000;  // polls in vain by each polling thread
  if (++idle_polls_ <= PATIENCE && mbarriers_.answer_polls(true)) return true;
  return idle_polls_ <= SPINS && wake_spinning(true);
}

void Block::interrupted(std::uintptr_t pc) {
  interrupt_ = 0;
  if (expired_) out_of_time(pc);
  const bool interleaves = cluster_->interleaves();
  if (!interleaves || options_.copies == Copies::random) {
    engine_.maybe_land();
    if (engine_.in_flight()) interrupt_ = 1;
  }
  warpgroups_.maybe_happen();
  if (warpgroups_.may_happen()) interrupt_ = 1;
  if (interleaves) {
    interrupt_ = 1;
    if (cluster_->lets_another_go_on()) yield();
  }
}

// --- events for a watcher ------------------------------------------------------------------------------------

void Block::tell_watcher(ExecEvent::Kind kind, std::size_t offset, std::size_t bytes, std::uintptr_t pc, int lane,
                         int warp) {
  const Fiber& fiber = *current_;
  ExecEvent event{kind,       linear_, warp < 0 ? fiber.warp : warp, lane < 0 ? fiber.lane : lane, "", 0, int(offset),
                  int(bytes), 0};
  if (pc) event.line = source_line(pc).line;
  using Kind = ExecEvent::Kind;
  if (kind == Kind::read || kind == Kind::write || kind == Kind::copy || kind >= Kind::tma_issue)
    if (const CarvedArray* const array = shared_.array_at(offset)) {
      const std::size_t row = std::size_t(array->pitch) * array->element;
      event.array = array->name;
      event.row = int((offset - array->offset) / row), event.byte = int((offset - array->offset) % row);
    }
  options_.watcher->see(event);
}

// --- one block --------------------------------------------------------------------------------------------

void Block::prepare(const LaunchConfig& config, const std::function<void()>& thread, std::uint32_t linear) {
  config_ = &config, thread_ = &thread, linear_ = linear;
  threads_ = int(config.block.x * config.block.y * config.block.z);
  warp_count_ = (threads_ + LANES - 1) / LANES;
  live_ = threads_, at_barrier_ = 0, ended_ = nullptr, ready_warps_ = 0;
  turn_ = warp_count_ - 1;
  random_ = (options_.seed * 0x9E3779B97F4A7C15ull) ^ ((linear + 1ull) * 0xD1B54A32D192ED03ull);
  if (!random_) random_ = 1;
  blockDim = config.block, gridDim = config.grid;
  index_ = {linear % config.grid.x, linear / config.grid.x % config.grid.y, linear / (config.grid.x * config.grid.y)};
  votes_ = {}, gathering_.clear();
  shared_.reset(config.smem, options_.gaps);
  if (checking_) shadow_.reset(shared_, findings_, config.name, linear, threads_);
  if (counting_) counting_->reset();
  start_fibers();
  for (int w = 0; w < warp_count_; ++w) {
    const int lanes = std::min(LANES, threads_ - w * LANES);
    const std::uint32_t present = lanes == LANES ? 0xFFFFFFFFu : (1u << lanes) - 1u;
    warps_[w].exited = ~present, warps_[w].open = 0, warps_[w].ready = 0, warps_[w].parked = 0;
    make_ready(w, present);
  }
  std::fill(std::begin(named_), std::end(named_), NamedBarrier{});
  warpgroups_.reset(random_);
  error_ = cudaSuccess;
  expired_ = 0;
  interrupt_ = 0;
  idle_polls_ = 0;
  mbarriers_.reset();
  engine_.reset(random_);
  registers_.reset(threads_);
  resume_ = nullptr;
  started_ = doomed_ = gave_up_ = false;
  overlaps_ = config.overlaps_previous, dependency_waits_.clear();
}

void Block::join_cluster(Cluster& cluster, int rank) {
  cluster_ = &cluster, rank_ = rank;
  if (cluster.interleaves()) interrupt_ = 1;
}

void Block::adopt_plan(const Block& other) {
  shared_.adopt(other.shared_, [&](const CarvedArray& array) {
    if (checking_) shadow_.allow(array.offset, array.granted);
  });
}

// --- one step ---------------------------------------------------------------------------------------------

void Block::yield() {
  Fiber& fiber = *current_;
  resume_ = &fiber;
  const bool gone = std::exchange(fiber.exited, false);  // its stack is still needed
  switch_to(&root_);
  fiber.exited = gone;
}

void Block::step() {
  running_block = this, observed_block = checking_ || counting_ ? this : nullptr;
  in_runtime_ = 0;
  blockIdx = index_;
  started_ = true;
  current_ = &root_;
#if defined(__SANITIZE_ADDRESS__)
  pthread_attr_t attributes;  // AddressSanitizer wants to know which stack it comes back to
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &root_.stack, &root_.stack_bytes);
  pthread_attr_destroy(&attributes);
#endif
  if (sigsetjmp(fault_return_, 1) == 0)
    switch_to(resume_ ? std::exchange(resume_, nullptr) : pick());
  else
    report_fault();
  current_ = &root_;
  running_block = observed_block = nullptr;
}

cudaError_t Block::finish() {
  if (error_ == cudaSuccess && !checking_) {
    if (const std::string broken = shared_.broken_guard(); !broken.empty()) {
      error_ = cudaErrorIllegalAddress;
      message_ = joined(config_->name, ": block ", linear_, ": ", broken);
      report(Finding::Kind::out_of_bounds, {}, {}, broken);
    }
  }
  return error_;
}

void Block::abandon() {
  switch_to(&root_);
  __builtin_unreachable();
}

std::string Block::place(const Fiber& fiber) const {
  return joined(config_->name, ": block (", blockIdx.x, ",", blockIdx.y, ",", blockIdx.z, ") warp ", fiber.warp,
                " lane ", fiber.lane);
}

void Block::note(Finding::Kind kind, const std::string& what, std::uintptr_t pc) {
  const Fiber& fiber = *current_;
  std::string at;
  if (pc && source_line(pc).line) at = " at " + place_text(pc);
  message_ = place(fiber) + at + ": " + what;
  report(kind, {}, {pc, fiber.warp, fiber.lane}, what);
}

void Block::fail(cudaError_t error, Finding::Kind kind, const std::string& what, std::uintptr_t pc) {
  in_runtime_ = 1;  // addr2line may take its time
  error_ = error;
  note(kind, what, pc);
  abandon();
}

void Block::fault(const Fault& fault) {
  in_runtime_ = 1;
  fault_ = fault;
  siglongjmp(fault_return_, 1);
}

void Block::report_fault() {
  const std::uintptr_t pc = Attributed::copying ? Attributed::copying : fault_.pc;
  Attributed::copying = 0;
  Finding::Kind kind = Finding::Kind::fault;
  std::string what;
  if (fault_.time_is_up) {
    error_ = cudaErrorLaunchTimeout, kind = Finding::Kind::time_limit;
    what = joined("time limit: ", ran_for(), " and this lane comes to no barrier.", where_lanes_stand(hang_));
  } else if (owns_stack(fault_.address)) {
    error_ = cudaErrorLaunchFailure;
    what = joined("its stack of ", STACK_BYTES, " B overflowed");
  } else if (fault_.general_protection) {  // x86 gives no address with it
    error_ = cudaErrorMisalignedAddress, kind = Finding::Kind::misaligned;
    what = "misaligned address: a 16-byte access to an address that is no multiple of 16";
  } else {
    error_ = cudaErrorIllegalAddress;
    what = joined("memory fault at address 0x", std::hex, std::uintptr_t(fault_.address), " (",
                  describe_global(fault_.address), ")");
  }
  note(kind, what, pc);
}

}  // namespace lab::cpu
