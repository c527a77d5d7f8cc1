#include "common/emulator/cluster_access.hpp"

#include <algorithm>
#include <cstring>

#include "common/cpu/instructions.h"

namespace lab::cpu {
namespace {

std::string block_text(unsigned rank) { return "block " + std::to_string(rank) + " of the cluster"; }

void check_rank(Block& block, unsigned rank, const char* instruction, std::uintptr_t pc) {
  const int size = block.cluster().size();
  if (rank < unsigned(size)) return;
  block.fail(cudaErrorLaunchFailure, Finding::Kind::cluster,
             std::string(instruction) + " for block " + std::to_string(rank) + " of a cluster of " +
                 std::to_string(size) + (size == 1 ? " block" : " blocks"),
             pc);
}

void check_place(const Reached& reached, std::size_t offset, unsigned bytes, const char* instruction,
                 std::uintptr_t pc) {
  if (offset + bytes > SharedMemory::ARENA)
    reached.own.fail(cudaErrorIllegalAddress, Finding::Kind::out_of_bounds,
                     std::string(instruction) + " to an address outside shared memory", pc);
  if (const std::size_t past = offset % bytes)
    reached.own.fail(cudaErrorMisalignedAddress, Finding::Kind::misaligned,
                     "misaligned address: " + std::string(instruction) + " of " + std::to_string(bytes) + " bytes to " +
                         reached.target.shared().describe(offset) + ", " + std::to_string(past) +
                         " bytes past a multiple of " + std::to_string(bytes),
                     pc);
}

// A plain access: reported to the checker, and the block may not end before it.
void plain_access(const Reached& reached, std::size_t offset, unsigned bytes, bool write, std::uintptr_t pc) {
  reached.own.tell(write ? ExecEvent::Kind::write : ExecEvent::Kind::read, offset, bytes, pc);
  if (!reached.target.checking()) return;
  Shadow& shadow = reached.target.shadow();
  if (reached.thread.peer) shadow.visited(reached.thread, pc, write);
  if (write)
    shadow.write(offset, bytes, reached.thread, pc);
  else
    shadow.read(offset, bytes, reached.thread, pc);
}

// A place in the shared memory of a block of the cluster, of its address in the cluster's window.
struct Remote {
  unsigned rank;
  std::size_t offset;
};
Remote mapped(std::uint32_t address, std::uintptr_t pc) {
  Block& block = *this_block();
  const unsigned rank = address >> 24 ? (address >> 24) - 1 : unsigned(block.rank());
  check_rank(block, rank, "mapa", pc);
  const std::size_t mine = address & 0xFFFFFF;
  if (mine < SharedMemory::WINDOW_START || mine >= SharedMemory::WINDOW)
    block.fail(cudaErrorIllegalAddress, Finding::Kind::out_of_bounds, "mapa of an address outside shared memory", pc);
  return {rank, block.shared().offset_of_window(mine)};
}

}  // namespace

static void count_store(Block& block, unsigned bytes, std::uintptr_t pc) {
  if (block.counting()) block.counting()->lane(Counted::remote_store, block.self().warp, block.self().lane, pc, bytes);
}

Reached reach(unsigned rank, const char* instruction, bool write, std::uintptr_t pc) {
  Block& own = *this_block();
  check_rank(own, rank, instruction, pc);
  Block& target = own.cluster().block(int(rank));
  ThreadId thread = own.thread_id();
  if (&target == &own) return {own, target, thread};
  // A GPU's error "cluster target block not present".
  if (!target.started())
    own.fail(cudaErrorLaunchFailure, Finding::Kind::before_start,
             std::string(instruction) + " to " + block_text(rank) + ", which has not started", pc);
  if (target.over())
    own.fail(cudaErrorLaunchFailure, Finding::Kind::early_exit,
             std::string(instruction) + " to " + block_text(rank) + ", which has ended: its shared memory is gone", pc);
  thread.peer = std::uint8_t(own.rank() + 1);
  target.adopt_plan(own);
  if (target.checking()) target.shadow().check_started(thread, pc, write);
  return {own, target, thread};
}

int barrier_of(const Reached& reached, std::size_t offset, const char* instruction, std::uintptr_t pc) {
  const int found = reached.target.mbarriers().at(offset);
  if (found < 0)
    reached.own.fail(cudaErrorLaunchFailure, Finding::Kind::mbarrier,
                     std::string(instruction) + " on " + reached.target.shared().describe(offset) + " of " +
                         block_text(unsigned(reached.target.rank())) +
                         ", which no thread has initialised yet (mbarrier.init)",
                     pc);
  return found;
}

// --- the PTX wrappers' entry points ---------------------------------------------------------------------------

unsigned cluster_rank() { return unsigned(this_block()->rank()); }
unsigned cluster_size() { return unsigned(this_block()->cluster().size()); }
void cluster_arrive(bool release) {
  this_block()->cluster().arrive(*this_block(), release, caller(__builtin_return_address(0)));
}
void cluster_wait() { this_block()->cluster().wait(*this_block(), caller(__builtin_return_address(0))); }

void remote_store(std::uint32_t address, const void* value, unsigned bytes) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  const Remote to = mapped(address, pc);
  this_block()->switch_point(pc);
  const Reached reached = reach(to.rank, "st.shared::cluster", true, pc);
  check_place(reached, to.offset, bytes, "st.shared::cluster", pc);
  plain_access(reached, to.offset, bytes, true, pc);
  count_store(reached.own, bytes, pc);
  std::memcpy(reached.target.shared().base() + to.offset, value, bytes);
}

void remote_load(std::uint32_t address, void* value, unsigned bytes) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  const Remote from = mapped(address, pc);
  this_block()->switch_point(pc);
  const Reached reached = reach(from.rank, "ld.shared::cluster", false, pc);
  check_place(reached, from.offset, bytes, "ld.shared::cluster", pc);
  plain_access(reached, from.offset, bytes, false, pc);
  std::memcpy(value, reached.target.shared().base() + from.offset, bytes);
}

void remote_store_async(std::uint32_t address, const void* value, unsigned bytes, std::uint32_t barrier_address) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  const Remote to = mapped(address, pc), barrier = mapped(barrier_address, pc);
  this_block()->switch_point(pc);
  if (barrier.rank != to.rank)
    this_block()->fail(cudaErrorLaunchFailure, Finding::Kind::cluster,
                       "st.async to " + block_text(to.rank) + " with an mbarrier of " + block_text(barrier.rank) +
                           "; it must lie in the same block's shared memory",
                       pc);
  const Reached reached = reach(to.rank, "st.async", true, pc);
  check_place(reached, to.offset, bytes, "st.async", pc);
  BulkCopy store;
  store.st_async = true, store.mbarrier = barrier_of(reached, barrier.offset, "st.async", pc);
  store.shared = reached.target.shared().base() + to.offset, store.bytes = store.footprint = bytes, store.pc = pc;
  std::memcpy(store.value, value, bytes);
  reached.target.engine().issue_from(reached.thread, store);
  count_store(reached.own, bytes, pc);
}

void remote_arrive(std::uint32_t address) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  const Remote barrier = mapped(address, pc);
  Block& own = *this_block();
  if (int(barrier.rank) == own.rank())
    return own.mbarriers().arrive(own.shared().base() + barrier.offset, 0, false, pc);
  own.switch_point(pc);
  const char* const instruction = "mbarrier.arrive.shared::cluster";
  const Reached reached = reach(barrier.rank, instruction, true, pc);
  const int index = barrier_of(reached, barrier.offset, instruction, pc);
  MBarriers& barriers = reached.target.mbarriers();
  if (barriers.state(index).pending == 0)
    own.fail(cudaErrorLaunchFailure, Finding::Kind::mbarrier,
             std::string(instruction) + " on " + barriers.name(index) + " of " + block_text(barrier.rank) +
                 barriers.full_text(index),
             pc);
  own.tell(ExecEvent::Kind::mbarrier_arrive, barrier.offset, 0, pc);
  if (own.checking()) reached.target.shadow().visited(reached.thread, pc, true);
  barriers.arrive_from(index, reached.thread, own.shadow(), pc);
}

void Block::dependency_met() {
  if (overlaps_ && checking_) dependency_waits_.push_back({thread_id(), shadow_.stamp_of(thread_id())});
}

// PTX ISA, griddepcontrol.wait: it makes the executing thread wait. Another one knows of it what orders it after that.
bool Block::dependency_open() {
  if (!overlaps_ || current_->after_dependency) return false;
  const ThreadId own = thread_id();
  current_->after_dependency = std::ranges::any_of(
      dependency_waits_, [&](const DependencyWait& wait) { return shadow_.after(own, wait.thread, wait.stamp); });
  return !current_->after_dependency;
}

void grid_dependency_wait() {
  this_block()->switch_point(caller(__builtin_return_address(0)));
  this_block()->dependency_met();
}

void launch_dependents() { this_block()->switch_point(caller(__builtin_return_address(0))); }

}  // namespace lab::cpu
