// One CUDA block on one OS thread: a fiber for every CUDA thread, a scheduler that picks who runs, and the
// rendezvous that warp collectives and barriers are made of.
//
// Lanes run freely between collectives. A lane that reaches one waits until every lane of its mask is there; the
// last to arrive checks and computes for all. Nothing is pre-empted, so for a given schedule and seed every run
// makes the same switches and the same output.
#pragma once
#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/backend.hpp"
#include "common/emulator/addr2line.hpp"
#include "common/emulator/collective.hpp"
#include "common/emulator/copy_engine.hpp"
#include "common/emulator/counting.hpp"
#include "common/emulator/findings.hpp"
#include "common/emulator/global_shadow.hpp"
#include "common/emulator/launch.hpp"
#include "common/emulator/mbarrier.hpp"
#include "common/emulator/registers.hpp"
#include "common/emulator/shadow.hpp"
#include "common/emulator/shared_memory.hpp"
#include "common/emulator/warpgroups.hpp"
#include "common/joined.hpp"

namespace lab::cpu {

inline constexpr int LANES = 32;
inline constexpr int MAX_THREADS = 1024;
inline constexpr int MAX_WARPS = MAX_THREADS / LANES;
inline constexpr int NAMED_BARRIERS = 16;  // number 0 is __syncthreads'

// A cp.async that has been issued and not yet waited for.
struct PendingCopy {
  void* shared;
  const void* global;
  std::uint32_t bytes, zero_fill, group;
  std::uintptr_t pc;
  bool moved = false;
};

// A thread's look at a word that others may change (spin.cpp).
struct Look {
  const void* address = nullptr;
  std::uint64_t value = 0;
  std::uint8_t bytes = 0;
  unsigned number = 0;  // of all the thread's looks
};

struct Fiber {
  void* context = nullptr;  // Boost.Context's saved stack pointer
  uint3 index{};            // threadIdx
  std::uint16_t linear = 0;
  std::uint8_t warp = 0, lane = 0;
  bool exited = false;
  bool returned = false;        // by a return statement, before the kernel's end (plain CUDA)
  std::uintptr_t waits_at = 0;  // program counter of the barrier or collective it waits in
  std::uint32_t groups_committed = 0, groups_done = 0;
  std::vector<PendingCopy> copies;
  Wait::At waits_for{};  // of a thread that is parked; and which mbarrier, barrier, warpgroup
  int which = 0;
  bool told_not_yet = false;                              // that the phase is not complete, until the lane has taken it
  bool polled_in_vain = false;                            // its last answer was that
  std::uint32_t bulk_groups = 0;                          // of its TMA stores: committed
  std::uint32_t bulk_waits_until = 0;                     // it waits for its groups before this one; 0: it does not
  std::uint32_t cluster_arrivals = 0, cluster_waits = 0;  // at its cluster's barrier, so far
  Look looks[4] = {};                                     // its last ones, at different words
  unsigned next_look = 0;
  int looks_in_vain = 0;           // since one showed something new
  unsigned last_look = 0;          // its number
  const void* spins_at = nullptr;  // the word whose change it waits for
  std::uint32_t active = 0;        // __activemask's answer
  bool after_dependency = false;   // it comes after a griddepcontrol.wait
  int site = 0;                    // of the barrier that it comes to, in the source's order (plain CUDA); 0: unknown
  void* stack = nullptr;           // lowest address
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;  // AddressSanitizer's, while the fiber waits
};

class Block;
struct Warp;
// A collective's work, done once by the last lane to arrive.
using Complete = void (*)(Block& block, Warp& warp, std::uint32_t mask);

struct Rendezvous {
  std::uint32_t mask = 0, arrived = 0;
  const Collective* kind = nullptr;
  std::uintptr_t pc = 0;  // of the first lane's call
  Complete complete = nullptr;
};

// One of the block's barriers 1..15, in the use of it that is under way.
struct NamedBarrier {
  int expected = 0, arrived = 0;  // threads; before the first arrival: 0, 0
  std::uint32_t warps = 0;        // that have arrived
  std::uint32_t waiting = 0;      // those of them in bar.sync
  std::uint32_t uses = 0;         // completed
  int first_warp = 0;
  std::uintptr_t first_pc = 0;
  std::uint64_t steps = 0;  // of the last to come (counting.hpp)
};

// A lane's call of bar.sync or bar.arrive.
struct NamedBarrierCall {
  int id, threads;
  bool waits;
  std::uintptr_t pc;
};

// The stacks of a block's fibers, in one stretch of memory.
struct Stacks {
  std::byte* memory = nullptr;
  int ready = 0;  // stacks made accessible so far
};

// Lane slots: a lane is in one rendezvous at a time, so a warp needs one of each a lane.
struct Warp {
  std::uint32_t ready = 0;   // lanes that could run now
  std::uint32_t exited = 0;  // lanes that returned, or that the block never had
  int open = 0;              // rendezvous in use
  std::uint32_t parked = 0;  // lanes that wait in park()
  Rendezvous meeting[LANES];
  alignas(64) std::uint32_t in[LANES];
  alignas(64) std::uint32_t out[LANES];
  alignas(64) int operand[LANES];
  alignas(64) void* payload[LANES];
};

class Cluster;

class Block {
 public:
  explicit Block(const ExecOptions& options);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Runs block number `linear` of the launch in steps: the blocks of a cluster share one OS thread (cluster.hpp).
  void prepare(const LaunchConfig& config, const std::function<void()>& thread, std::uint32_t linear);
  void join_cluster(Cluster& cluster, int rank);  // after prepare()
  void step();                                    // until it is over, has failed, or lets another block go on
  cudaError_t finish();                           // the code of the error that stopped it, if any
  bool started() const { return started_; }
  bool over() const { return live_ == 0; }
  bool failed() const { return error_ != cudaSuccess; }
  bool can_go_on() { return ready_warps_ || engine_.has_awaited() || may_stop_spinning() || !gathering_.empty(); }
  // Nothing in the cluster can go on: this block's polls are answered, a number of times. False if there are none.
  bool answer_polls();
  void doom() { doomed_ = true; }  // its next step ends in a deadlock's report
  Cluster& cluster() { return *cluster_; }
  int rank() const { return rank_; }
  int live() const { return live_; }
  // Knows of the arrays that another block of the launch has carved, which lie in the same places.
  void adopt_plan(const Block& other);
  // In words; `hang` gets the same as data.
  std::string standing(Hang& hang) const { return where_lanes_stand(hang) + mbarriers_.story(); }

  // --- called by fibers -------------------------------------------------------------------------------
  void barrier(std::uintptr_t pc);
  // bar.sync and bar.arrive: a rendezvous of the warp, which then counts as having come to barrier `call.id`.
  void named_barrier(const NamedBarrierCall& call);
  void arrive_named(const NamedBarrierCall& call);  // for the whole warp, from the rendezvous
  void check_named_end();  // the block is over: a finding where arrivals without a wait are left
  // Waits for the lanes of `mask`; `complete` runs once when all are there. The caller has filled its slots.
  void meet(const Collective& kind, std::uint32_t mask, Complete complete, std::uintptr_t pc);
  // Stops the launch; the message starts with kernel, block, warp and lane. Without an error that of most such findings.
  [[noreturn]] void fail(cudaError_t error, Finding::Kind kind, const std::string& what, std::uintptr_t pc);
  template <class... Parts>
  [[noreturn, gnu::noinline]] void fail(Finding::Kind kind, std::uintptr_t pc, const Parts&... parts) {
    fail(error_of(kind), kind, joined(parts...), pc);
  }
  void copy_issue(const PendingCopy& copy);
  void copy_commit();
  void copy_wait(std::uint32_t groups_left, bool completes = true);  // false: bytes move, but readers may not know it

  // --- called by what is asynchronous: mbarriers, the copy engine, the register pool ------------------------
  // A call at which the hardware could let others run: asynchronous work may happen, and the time may be up.
  void switch_point(std::uintptr_t pc) {
    if (interrupt_) [[unlikely]]
      interrupted(pc);
  }
  void interrupt() { interrupt_ = 1; }  // at the next switch point, and at those after it while copies are in flight
  // The running thread waits until wake(): for what, and of several for which.
  void park(std::uintptr_t pc, Wait::At what, int which = 0);
  // The running thread has looked at a word and changed nothing there. One that spins waits.
  void polled(const void* address, std::size_t bytes, std::uintptr_t pc);
  std::uint32_t active_lanes(std::uintptr_t pc);  // __activemask: those that come there before any goes on
  void wake(int thread) {
    warps_[thread / LANES].parked &= ~(1u << thread % LANES);
    make_ready(thread / LANES, 1u << thread % LANES);
  }
  template <class Each>
  void each_parked(Wait::At what, Each each) {
    for (int w = 0; w < warp_count_; ++w)
      for (std::uint32_t lanes = warps_[w].parked; lanes; lanes &= lanes - 1)
        if (Fiber& fiber = fibers_[w * LANES + __builtin_ctz(lanes)]; fiber.waits_for == what) each(fiber);
  }
  void wake_all(Wait::At what, int which = 0);
  // Of a launch that may overlap the one before it: a thread has passed griddepcontrol.wait.
  void dependency_met();
  bool dependency_open();  // it may still be at work: the running thread neither waited nor comes after one that did
  bool any_dependency_met() const { return !dependency_waits_.empty(); }
  void progressed() { idle_polls_ = 0; }  // something has happened that a poll could have waited for
  Schedule schedule() const { return options_.schedule; }
  bool gave_up() const { return gave_up_; }  // it waited for a block that has failed
  Copies copies() const { return options_.copies; }
  Fiber& fiber(int thread) { return fibers_[thread]; }
  ThreadId thread_id() const { return {current_->linear, current_->warp, current_->lane}; }
  MBarriers& mbarriers() { return mbarriers_; }
  CopyEngine& engine() { return engine_; }
  RegisterPool& registers() { return registers_; }

  Fiber& self() { return *current_; }
  bool on_stack(const void* address) const {  // the running thread's
    return std::uintptr_t(address) - std::uintptr_t(current_->stack) < current_->stack_bytes;
  }
  Warp& own_warp() { return warps_[current_->warp]; }
  SharedMemory& shared() { return shared_; }
  Shadow& shadow() { return shadow_; }
  bool checking() const { return checking_; }
  Counting* counting() { return counting_.get(); }  // null: no counting
  // Tells the watcher, if there is one, what the running thread (or another lane of its warp) does at `offset` of the
  // arena.
  void tell(ExecEvent::Kind kind, std::size_t offset, std::size_t bytes, std::uintptr_t pc, int lane = -1) {
    if (options_.watcher) [[unlikely]]
      tell_watcher(kind, offset, bytes, pc, lane);
  }
  // The same of what another thread does, or has had done.
  void tell_of(ThreadId thread, ExecEvent::Kind kind, std::size_t offset, std::size_t bytes, std::uintptr_t pc) {
    if (options_.watcher) [[unlikely]]
      tell_watcher(kind, offset, bytes, pc, thread.lane, thread.warp);
  }
  // The watcher and the checker see an access to shared memory by a thread of the running warp.
  void accessed(std::size_t offset, std::size_t bytes, bool write, const ThreadId& thread, std::uintptr_t pc) {
    tell(write ? ExecEvent::Kind::write : ExecEvent::Kind::read, offset, bytes, pc, thread.lane);
    write ? shadow_.write(offset, bytes, thread, pc) : shadow_.read(offset, bytes, thread, pc);
  }
  // A finding in this block. `detail`, its sentence, and `where` are texts, or make one: for the first of its kind and
  // places only.
  template <class Detail, class Where = const char*>
  void report(Finding::Kind kind, const RawAccess& first, const RawAccess& second, Detail detail, Where where = "",
              const char* hazard = "", bool same_value = false) {
    findings_
        .add(kind, hazard, first, second, config_->name, linear_,
             [&](RawFinding& entry) { entry.where = text_of(where), entry.detail = text_of(detail); })
        .same += same_value;
  }
  struct Votes {  // __syncthreads_count (plain.cpp)
    std::array<int, 3> sums{};
    std::array<std::uint8_t, MAX_THREADS> calls{};
  };
  Votes& votes() { return votes_; }
  void at_site(int site) { current_->site = site; }
  Fragments fragments() const { return options_.fragments; }
  bool spelled_out() const { return options_.spelled_out; }
  bool unwritten() const { return options_.unwritten; }
  bool running() const { return current_ != &root_; }
  const LaunchConfig& config() const { return *config_; }
  std::uint32_t linear() const { return linear_; }
  Warpgroups& warpgroups() { return warpgroups_; }
  Warp& warp(int index) { return warps_[index]; }
  int warp_count() const { return warp_count_; }
  Copies products() const { return options_.products; }
  FindingLog take_findings() {
    finish_global_writes();
    return std::exchange(findings_, {});
  }
  std::uint64_t switches() const { return switches_; }
  const std::string& message() const { return message_; }
  const Hang& hang() const { return hang_; }  // of a launch that could not go on, or took too long
  // Ends the running block from a signal handler: the fault becomes the launch's error.
  struct Fault {
    const void* address = nullptr;
    bool general_protection = false;
    bool time_is_up = false;
    std::uintptr_t pc = 0;
  };
  [[noreturn]] void fault(const Fault& fault);
  // Called by the timer's signal, once when the block's time is up and then again. The next collective ends the
  // launch; a lane that never comes to one is stopped at the end of its next RuntimeCall after the second call, or else, outside of one, at the third.
  void time_is_up(std::uintptr_t pc);

 private:
  friend void fiber_entry_body();
  friend class RuntimeCall;
  void start_fibers();
  void fiber_main();
  void leave();  // the current fiber has returned
  // Where the running lane meets others: a rendezvous under way, or a new one.
  [[gnu::noinline]] Rendezvous& meeting_of(const Collective& kind, std::uint32_t mask, Complete complete,
                                           std::uintptr_t pc);
  void leave_meetings(Warp& warp, std::uint32_t lane);
  void end_meeting(Warp& warp, Rendezvous& meeting);
  [[noreturn, gnu::noinline]] void refuse(const Collective& kind, std::uint32_t mask, std::uintptr_t pc);
  [[gnu::noinline]] void check_aligned(const Rendezvous& meeting, std::uintptr_t pc);
  Fiber* pick();
  void switch_to(Fiber* next);
  void wait_for_turn();
  void release_barrier();
  void yield();  // lets another block of the cluster go on
  bool may_stop_spinning();
  bool answer_active();
  bool wake_spinning(bool all);  // those that may stop, or all; false: none
  std::string spins_on(const Fiber& fiber) const;
  // Other blocks run until a spin may stop; false: none spins, or none can stop.
  bool wait_for_blocks();
  [[gnu::noinline]] void idle();  // no thread is ready: asynchronous work happens, or it is a deadlock
  [[gnu::noinline]] void interrupted(std::uintptr_t pc);
  [[noreturn, gnu::noinline]] void deadlock();
  [[noreturn, gnu::noinline]] void out_of_time(std::uintptr_t pc);
  std::string where_lanes_stand(Hang& hang) const;
  std::string ran_for() const;  // "the block has run for 60 s"
  Wait waits_in(const Fiber& fiber) const;
  [[noreturn]] void abandon();  // back to run(), leaving every fiber where it is
  void report_fault();          // what fault() left, outside the signal handler
  [[gnu::noinline]] void tell_watcher(ExecEvent::Kind kind, std::size_t offset, std::size_t bytes, std::uintptr_t pc,
                                      int lane, int warp = -1);
  void note(Finding::Kind kind, const std::string& what, std::uintptr_t pc);  // an error's message and finding
  bool owns_stack(const void* address) const;
  std::string place(const Fiber& fiber) const;
  [[gnu::noinline]] void count_meeting(const Collective& kind, std::uint32_t mask, std::uintptr_t pc);
  void count_barrier();

  void make_ready(int warp, std::uint32_t lanes) {
    warps_[warp].ready |= lanes;
    if (lanes) ready_warps_ |= 1u << warp;
  }
  void make_waiting(const Fiber& fiber) {
    Warp& warp = warps_[fiber.warp];
    warp.ready &= ~(1u << fiber.lane);
    if (!warp.ready) ready_warps_ &= ~(1u << fiber.warp);
  }

  ExecOptions options_;
  bool checking_ = false;
  std::unique_ptr<Counting> counting_;
  const LaunchConfig* config_ = nullptr;
  const std::function<void()>* thread_ = nullptr;
  std::uint32_t linear_ = 0;

  Fiber root_;  // the OS thread's own stack
  Fiber* current_ = &root_;
  std::vector<Fiber> fibers_;
  Warp warps_[MAX_WARPS];
  std::vector<Fiber*> gathering_;  // in __activemask
  std::uint32_t ready_warps_ = 0;
  int threads_ = 0, warp_count_ = 0;
  int live_ = 0;  // threads that have not returned
  int at_barrier_ = 0;
  std::uintptr_t barrier_pc_ = 0;  // of the first to arrive
  int barrier_site_ = 0;
  const Fiber* barrier_first_ = nullptr;
  const Fiber* ended_ = nullptr;  // the first thread to reach the end of its kernel
  NamedBarrier named_[NAMED_BARRIERS];
  Warpgroups warpgroups_{*this};
  std::uint64_t random_ = 1;
  int turn_ = 0;  // round robin: the warp that ran last

  Votes votes_;
  SharedMemory shared_;
  Shadow shadow_;
  FindingLog findings_;
  cudaError_t error_ = cudaSuccess;
  std::string message_;
  Hang hang_;
  std::uint64_t switches_ = 0;
  volatile std::sig_atomic_t expired_ = 0;
  volatile std::sig_atomic_t in_runtime_ = 0;
  volatile std::sig_atomic_t interrupt_ = 0;  // look up at the next switch point: expired_, or copies that may land
  MBarriers mbarriers_{*this};
  CopyEngine engine_{*this};
  RegisterPool registers_{*this};
  int idle_polls_ = 0;  // times that all pollers were answered and nothing came of it
  Stacks stacks_;
  sigjmp_buf fault_return_;
  Fault fault_;

  Cluster* cluster_ = nullptr;
  int rank_ = 0;
  uint3 index_{};            // blockIdx
  Fiber* resume_ = nullptr;  // the fiber that runs at the next step
  bool started_ = false, doomed_ = false, gave_up_ = false;
  bool overlaps_ = false;  // the launch before
  struct DependencyWait {
    ThreadId thread;
    std::uint32_t stamp;
  };
  std::vector<DependencyWait> dependency_waits_;
};

// While one lives, a memory fault is that of the copy issued at `pc`, whoever runs.
class Attributed {
 public:
  explicit Attributed(std::uintptr_t pc) { copying = pc; }
  ~Attributed() { copying = 0; }
  Attributed(const Attributed&) = delete;
  Attributed& operator=(const Attributed&) = delete;
  static constinit thread_local std::uintptr_t copying;
};

// While one lives, the time limit does not end the block: a lock may be held, or memory be given out. It does so at the
// end, where the kernel goes on at `pc`.
class RuntimeCall {
 public:
  [[gnu::always_inline]] RuntimeCall(Block& block, std::uintptr_t pc)
      : block_(block), pc_(pc), outer_(block.in_runtime_) {
    block_.in_runtime_ = 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  [[gnu::always_inline]] ~RuntimeCall() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    block_.in_runtime_ = outer_;
    if (!outer_ && block_.expired_ > 1) [[unlikely]]
      block_.fault({.time_is_up = true, .pc = pc_});
  }
  RuntimeCall(const RuntimeCall&) = delete;
  RuntimeCall& operator=(const RuntimeCall&) = delete;

 private:
  Block& block_;
  std::uintptr_t pc_;
  std::sig_atomic_t outer_;
};

// Where a call stands, from its return address (__builtin_return_address(0) of what the kernel calls): a place inside
// the call, for its line.
inline std::uintptr_t caller(void* return_address) {
  return reinterpret_cast<std::uintptr_t>(return_address) - code_base - 1;
}

// The block that this OS thread runs now; null outside kernels.
extern constinit thread_local Block* running_block;
inline Block* this_block() { return running_block; }
// The same block if it checks or counts, else null: the one question that the instrumentation of most launches asks.
extern constinit thread_local Block* observed_block;

}  // namespace lab::cpu
