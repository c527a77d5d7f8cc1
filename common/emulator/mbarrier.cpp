#include "common/emulator/mbarrier.hpp"

#include <algorithm>

#include "common/emulator/block.hpp"
#include "common/emulator/switch.hpp"

namespace lab::cpu {
namespace {

constexpr unsigned MOST = (1u << 20) - 1;  // of arrivals and of bytes: the fields of an mbarrier have 20 bits

// A wait names the phase that is under way, or the one before it: by parity it cannot name another.
bool is_complete(const MBarrierState& barrier, unsigned parity) { return (barrier.phase & 1) != (parity & 1); }

}  // namespace

std::string MBarriers::name(int barrier) const { return block_.shared().describe(all_[barrier].offset); }

int MBarriers::find(const void* barrier, const char* instruction, std::uintptr_t pc) {
  const bool shared = block_.shared().contains(barrier);
  const std::size_t offset = shared ? block_.shared().offset(barrier) : 0;
  if (const int found = shared ? at(offset) : -1; found >= 0) return found;
  block_.fail(Finding::Kind::mbarrier, pc, instruction,
              shared
                  ? " on " + block_.shared().describe(offset) + ", which no thread has initialised yet (mbarrier.init)"
                  : " on an address outside shared memory");
}

int MBarriers::at(std::size_t offset) const {
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i].offset == offset) return int(i);
  return -1;
}

void MBarriers::init(const void* barrier, unsigned arrivals, std::uintptr_t pc) {
  if (!block_.shared().contains(barrier) || std::uintptr_t(barrier) % 8)
    block_.fail(cudaErrorMisalignedAddress, Finding::Kind::mbarrier,
                "mbarrier.init on an address that is no multiple of 8 in shared memory", pc);
  const std::size_t offset = block_.shared().offset(barrier);
  if (arrivals < 1 || arrivals > MOST)
    block_.fail(Finding::Kind::mbarrier, pc, "mbarrier.init for ", arrivals, " arrivals; 1 to ", MOST, " are allowed");
  for (const MBarrierState& old : all_)
    if (old.offset == offset)
      block_.fail(Finding::Kind::mbarrier, pc, "mbarrier.init on ", block_.shared().describe(offset),
                  ", which is a barrier already; its phase ", old.phase, " is under way");
  MBarrierState fresh;
  fresh.offset = offset, fresh.arrivals = fresh.pending = arrivals;
  all_.push_back(std::move(fresh));
  if (block_.checking()) placed(int(all_.size()) - 1, pc);
}

void MBarriers::count_bytes(MBarrierState& barrier, unsigned bytes, std::uintptr_t pc) {
  barrier.bytes += bytes;
  if (bytes > MOST || barrier.bytes > std::int64_t(MOST))
    block_.fail(Finding::Kind::mbarrier, pc, "a phase of ", block_.shared().describe(barrier.offset),
                " is to wait for ", barrier.bytes, " bytes; ", MOST, " are allowed");
}

void MBarriers::arrive(const void* barrier, unsigned bytes, bool expects, std::uintptr_t pc) {
  block_.switch_point(pc);
  const char* instruction = expects ? "mbarrier.arrive.expect_tx" : "mbarrier.arrive";
  const int index = find(barrier, instruction, pc);
  const ThreadId thread = block_.thread_id();
  if (block_.checking()) check_known(index, instruction, thread, pc);
  MBarrierState& state = all_[index];
  if (state.pending == 0)
    block_.fail(Finding::Kind::mbarrier, pc, "mbarrier.arrive on ", name(index), full_text(index));
  block_.tell(ExecEvent::Kind::mbarrier_arrive, state.offset, expects ? bytes : 0, pc);
  if (Counting* counting = block_.counting()) {
    counting->lane(Counted::mbarrier_arrive, thread.warp, thread.lane, pc);
    state.steps = std::max(state.steps, counting->steps(thread.warp));
  }
  if (expects) count_bytes(state, bytes, pc);
  if (block_.checking()) block_.shadow().release(thread, state.given);
  count_lanes(state, thread, pc);
  if (state.lanes.finding) tell_too_many(state);
  count_arrival(index, thread, pc);
}

void MBarriers::count_arrival(int index, ThreadId thread, std::uintptr_t pc) {
  MBarrierState& state = all_[index];
  block_.progressed();
  state.arrived.push_back({thread.linear, pc, thread.peer});
  if (!--state.pending && !state.bytes) complete_phase(index, thread, pc);
}

void MBarriers::arrive_from(int index, ThreadId peer, Shadow& its_shadow, std::uintptr_t pc) {
  MBarrierState& state = all_[index];
  if (block_.checking()) {
    check_known(index, "mbarrier.arrive", peer, pc);
    its_shadow.release_outside(peer, state.given);
  }
  block_.tell_of(peer, ExecEvent::Kind::mbarrier_land, state.offset, 0, pc);
  state.from_outside = {peer, pc, state.phase};
  count_arrival(index, peer, pc);
}

void MBarriers::copy_issued(int index, ThreadId thread, std::uintptr_t pc, bool engine) {
  if (block_.checking()) {
    check_known(index, engine ? "cp.async.bulk" : "st.async", thread, pc);
    if (engine) check_for_engine(index, thread, pc);
  }
  all_[index].last_load = {thread, pc, all_[index].phase};
}

std::uint32_t MBarriers::complete_bytes(int index, std::int64_t bytes, unsigned step, ThreadId thread,
                                        std::uintptr_t pc) {
  MBarrierState& state = all_[index];
  block_.tell_of(thread, ExecEvent::Kind::mbarrier_land, state.offset, std::size_t(bytes), pc);
  std::uint32_t counted_in = state.phase;
  // The engine counts while it writes. A phase that has its arrivals ends if none of its bytes is missing after some
  // step; what comes then counts for the next. A step that takes the count below zero ends nothing.
  const auto counted_to_zero = [&] {
    return state.bytes > 0 && state.bytes <= bytes && (state.bytes % step == 0 || state.bytes == bytes);
  };
  while (state.pending == 0 && counted_to_zero()) {
    counted_in = state.phase;
    bytes -= state.bytes;
    state.bytes = 0;
    complete_phase(index, thread, pc);
  }
  if (bytes) {
    counted_in = state.phase;
    state.bytes -= bytes;
  }
  state.last_load = {thread, pc, counted_in};
  state.any_landed = true;
  return counted_in;
}

void MBarriers::bytes_landed(int index, unsigned bytes, const IssuedWrite& write, const char* what) {
  if (!write.engine && write.thread.peer) all_[index].from_outside = {write.thread, write.pc, all_[index].phase};
  const std::uint32_t phase = complete_bytes(index, bytes, write.step, write.thread, write.pc);
  if (!block_.checking()) return;
  block_.shadow().async_write_landed(write.checked_as, phase);
  if (phase == write.phase) return;
  block_.shadow().report(
      Finding::Kind::mbarrier, name(index), {}, Shadow::access(write.thread, write.pc, true),
      joined("phase ", write.phase, " was complete before ", what, " had come: more than were announced (expect_tx)"));
}

void MBarriers::complete_phase(int index, ThreadId thread, std::uintptr_t pc) {
  MBarrierState& state = all_[index];
  if (block_.checking()) check_seen_before(index, thread, pc);
  block_.tell_of(thread, ExecEvent::Kind::mbarrier_complete, state.offset, state.phase, pc);
  ++state.phase;
  if (block_.counting()) state.ended_at.push_back(state.steps), state.steps = 0;
  state.pending = state.arrivals;
  state.arrived_before.swap(state.arrived);
  state.arrived.clear();
  block_.progressed();
  block_.wake_all(Wait::At::mbarrier, index);
  state.waiting = 0;
}

bool MBarriers::park(int index, std::uintptr_t pc) {
  ++all_[index].waiting;
  block_.tell(ExecEvent::Kind::mbarrier_wait, all_[index].offset, all_[index].phase, pc);
  block_.park(pc, Wait::At::mbarrier, index);
  return !std::exchange(block_.self().told_not_yet, false);
}

bool MBarriers::try_wait(const void* barrier, unsigned parity, bool cluster, std::uintptr_t pc) {
  block_.switch_point(pc);
  const int index = find(barrier, "mbarrier.try_wait", pc);
  if (block_.checking()) check_known(index, "mbarrier.try_wait", block_.thread_id(), pc);
  std::uint32_t complete = all_[index].phase;  // phases known to be complete when the wait ends
  if (block_.checking()) check_late(index, parity, pc);
  if (!is_complete(all_[index], parity)) {
    if (!park(index, pc)) return false;
    ++complete;
  }
  block_.self().polled_in_vain = false;
  if (block_.checking()) passed(index, complete, cluster, pc);
  if (Counting* counting = block_.counting()) {
    const ThreadId thread = block_.thread_id();
    counting->lane(Counted::mbarrier_wait, thread.warp, thread.lane, pc);
    if (complete > 0) counting->wait_until(Counted::mbarrier_wait, thread.warp, pc, all_[index].ended_at[complete - 1]);
  }
  block_.tell(ExecEvent::Kind::mbarrier_pass, all_[index].offset, complete - 1, pc);
  return true;
}

bool MBarriers::answer_polls(bool all) {
  bool answered = false;
  block_.each_parked(Wait::At::mbarrier, [&](Fiber& fiber) {
    if (fiber.polled_in_vain && !all) return;
    fiber.told_not_yet = fiber.polled_in_vain = answered = true;
    --all_[fiber.which].waiting;
    block_.wake(fiber.linear);
  });
  return answered;
}

// --- the PTX wrappers' entry points ---------------------------------------------------------------------------

void mbarrier_init(void* barrier, unsigned arrivals) {
  this_block()->mbarriers().init(barrier, arrivals, caller(__builtin_return_address(0)));
}
void mbarrier_arrive(void* barrier, unsigned expected_bytes, bool expects) {
  this_block()->mbarriers().arrive(barrier, expected_bytes, expects, caller(__builtin_return_address(0)));
}
bool mbarrier_try_wait(void* barrier, unsigned parity) {
  return this_block()->mbarriers().try_wait(barrier, parity, false, caller(__builtin_return_address(0)));
}
bool mbarrier_try_wait_cluster(void* barrier, unsigned parity) {
  return this_block()->mbarriers().try_wait(barrier, parity, true, caller(__builtin_return_address(0)));
}
void fence_mbarrier_init() { this_block()->mbarriers().fence_init(); }

}  // namespace lab::cpu
