#include "common/emulator/cluster_access.hpp"

#include <algorithm>
#include <cstring>

#include "common/cpu/instructions.h"

namespace lab::cpu {
namespace {

std::string block_text(unsigned rank) { return joined("block ", rank, " of the cluster"); }

void check_rank(Block& block, unsigned rank, const char* instruction, std::uintptr_t pc) {
  const int size = block.cluster().size();
  if (rank >= unsigned(size))
    block.fail(Finding::Kind::cluster, pc, instruction, " for block ", rank, " of a cluster of ", size,
               size == 1 ? " block" : " blocks");
}

void check_place(const Reached& reached, std::size_t offset, unsigned bytes, const char* instruction,
                 std::uintptr_t pc) {
  if (offset + bytes > SharedMemory::ARENA)
    reached.own.fail(Finding::Kind::out_of_bounds, pc, instruction, " to an address outside shared memory");
  if (const std::size_t past = offset % bytes)
    reached.own.fail(Finding::Kind::misaligned, pc, "misaligned address: ", instruction, " of ", bytes, " bytes to ",
                     reached.target.shared().describe(offset), ", ", past, " bytes past a multiple of ", bytes);
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
    block.fail(Finding::Kind::out_of_bounds, pc, "mapa of an address outside shared memory");
  return {rank, block.shared().offset_of_window(mine)};
}

void count_store(Block& block, unsigned bytes, std::uintptr_t pc) {
  if (block.counting()) block.counting()->lane(Counted::remote_store, block.self().warp, block.self().lane, pc, bytes);
}

// A plain access: reported to the checker, and the block may not end before it.
std::byte* plain_access(std::uint32_t address, unsigned bytes, bool write, std::uintptr_t pc) {
  const char* const instruction = write ? "st.shared::cluster" : "ld.shared::cluster";
  const auto [rank, offset] = mapped(address, pc);
  this_block()->switch_point(pc);
  const auto [own, target, thread] = reach(rank, instruction, write, pc);
  check_place({own, target, thread}, offset, bytes, instruction, pc);
  own.tell(write ? ExecEvent::Kind::write : ExecEvent::Kind::read, offset, bytes, pc);
  if (target.checking()) {
    Shadow& shadow = target.shadow();
    if (thread.peer) shadow.visited(thread, pc, write);
    write ? shadow.write(offset, bytes, thread, pc) : shadow.read(offset, bytes, thread, pc);
  }
  if (write) count_store(own, bytes, pc);
  return target.shared().base() + offset;
}

}  // namespace

Reached reach(unsigned rank, const char* instruction, bool write, std::uintptr_t pc) {
  Block& own = *this_block();
  check_rank(own, rank, instruction, pc);
  Block& target = own.cluster().block(int(rank));
  ThreadId thread = own.thread_id();
  if (&target == &own) return {own, target, thread};
  // A GPU's error "cluster target block not present".
  if (!target.started())
    own.fail(Finding::Kind::before_start, pc, instruction, " to ", block_text(rank), ", which has not started");
  if (target.over())
    own.fail(Finding::Kind::early_exit, pc, instruction, " to ", block_text(rank),
             ", which has ended: its shared memory is gone");
  thread.peer = std::uint8_t(own.rank() + 1);
  target.adopt_plan(own);
  if (target.checking()) target.shadow().check_started(thread, pc, write);
  return {own, target, thread};
}

int barrier_of(const Reached& reached, std::size_t offset, const char* instruction, std::uintptr_t pc) {
  const int found = reached.target.mbarriers().at(offset);
  if (found < 0)
    reached.own.fail(Finding::Kind::mbarrier, pc, instruction, " on ", reached.target.shared().describe(offset), " of ",
                     block_text(unsigned(reached.target.rank())),
                     ", which no thread has initialised yet (mbarrier.init)");
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
  std::memcpy(plain_access(address, bytes, true, caller(__builtin_return_address(0))), value, bytes);
}

void remote_load(std::uint32_t address, void* value, unsigned bytes) {
  std::memcpy(value, plain_access(address, bytes, false, caller(__builtin_return_address(0))), bytes);
}

void remote_store_async(std::uint32_t address, const void* value, unsigned bytes, std::uint32_t barrier_address) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  const Remote to = mapped(address, pc), barrier = mapped(barrier_address, pc);
  this_block()->switch_point(pc);
  if (barrier.rank != to.rank)
    this_block()->fail(Finding::Kind::cluster, pc, "st.async to ", block_text(to.rank), " with an mbarrier of ",
                       block_text(barrier.rank), "; it must lie in the same block's shared memory");
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
    own.fail(Finding::Kind::mbarrier, pc, instruction, " on ", barriers.name(index), " of ", block_text(barrier.rank),
             barriers.full_text(index));
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
