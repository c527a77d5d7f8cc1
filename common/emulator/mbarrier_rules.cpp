// The checker's rules for users of an mbarrier, and the order that it makes: an arrival publishes everything that its
// thread has done and seen, and a thread that sees the phase complete is ordered after all its arrivals.
#include <algorithm>

#include "common/emulator/block.hpp"
#include "common/emulator/mbarrier.hpp"

namespace lab::cpu {

template <class... Parts>
void MBarriers::misuse(int index, const RawAccess& first, ThreadId thread, std::uintptr_t pc, const Parts&... what) {
  block_.shadow().report(Finding::Kind::mbarrier, name(index), first, Shadow::access(thread, pc, false),
                         joined(what...));
}

void MBarriers::placed(int index, std::uintptr_t pc) {
  MBarrierState& state = all_[index];
  const ThreadId thread = block_.thread_id();
  state.timeline = block_.shadow().mbarrier_placed(state.offset, thread, pc);
  state.initialised_by = thread, state.init_pc = pc;
  state.init_stamp = block_.shadow().new_stamp(thread) - 1;
}

void MBarriers::fence_init() {
  if (!block_.checking()) return;
  const ThreadId thread = block_.thread_id();
  const std::uint32_t stamp = block_.shadow().new_stamp(thread);
  for (MBarrierState& state : all_)
    if (state.initialised_by.linear == thread.linear && !state.fence_stamp) state.fence_stamp = stamp;
}

std::uint32_t MBarriers::fenced_by(ThreadId thread) const {
  std::uint32_t last = 0;
  for (const MBarrierState& state : all_)
    if (state.initialised_by.linear == thread.linear) last = std::max(last, state.fence_stamp);
  return last;
}

// A thread must be ordered after the initialisation ...
void MBarriers::check_known(int index, const char* instruction, ThreadId thread, std::uintptr_t pc) {
  const MBarrierState& state = all_[index];
  const ThreadId by = state.initialised_by;
  if (block_.shadow().after(thread, by, state.init_stamp)) return;
  misuse(index, {state.init_pc, by.warp, by.lane, true}, thread, pc, instruction,
         " by a thread that no barrier orders after its mbarrier.init");
}

// ... and the copy engine after a fence behind it. PTX has fence.mbarrier_init for that; fence.proxy.async does it too.
void MBarriers::check_for_engine(int index, ThreadId thread, std::uintptr_t pc) {
  const MBarrierState& state = all_[index];
  const ThreadId by = state.initialised_by;
  if (state.fence_stamp && block_.shadow().after(thread, by, state.fence_stamp - 1)) return;
  if (block_.shadow().clocks_of(thread).fenced(thread.linear, block_.shadow().line(by)) > state.init_stamp) return;
  misuse(index, {state.init_pc, state.initialised_by.warp, state.initialised_by.lane, true}, thread, pc,
         "the copy engine is to use it, but no fence.mbarrier_init lies between its mbarrier.init and this copy");
}

void MBarriers::count_lanes(MBarrierState& state, ThreadId thread, std::uintptr_t pc) {
  MBarrierState::Lanes& lanes = state.lanes;
  if (pc != lanes.pc) lanes = {pc};
  lanes.count = thread.warp == lanes.warp && thread.lane > lanes.lane ? lanes.count + 1 : 1;
  lanes.warp = thread.warp, lanes.lane = thread.lane;
}

// Where one arrival was to come of a warp, each of its lanes arrives, and that ends phases too early.
void MBarriers::tell_too_many(MBarrierState& state) {
  MBarrierState::Lanes& lanes = state.lanes;
  lanes.most = std::max(lanes.most, lanes.count);
  lanes.finding->detail =
      joined(lanes.most, " arrivals, ", state.arrivals,
             " expected: the lanes of a warp arrive one by one, and phases end before any thread has "
             "waited for them");
}

// Phase p is about to be complete. If no thread has seen p - 1 complete, a wait for p - 1 may find the parity of p + 1.
void MBarriers::check_seen_before(int index, ThreadId thread, std::uintptr_t pc) {
  MBarrierState& state = all_[index];
  state.completed.join(state.given);
  if (state.completed.seen.size() <= std::size_t(state.timeline))
    state.completed.seen.resize(std::size_t(state.timeline) + 1, 0);
  state.completed.seen[state.timeline] = state.phase + 1;
  if (state.seen >= state.phase || block_is_over_) return;
  if (state.lanes.pc == pc && (state.lanes.finding || state.lanes.count > state.arrivals)) {
    state.lanes.finding =
        &block_.shadow().report(Finding::Kind::arrivals, name(index), {}, Shadow::access(thread, pc, false), "");
    return tell_too_many(state);
  }
  misuse(index, {}, thread, pc, "phase ", state.phase, " is complete before any thread has seen phase ",
         state.phase - 1, " complete: a thread that waits for that one is a phase late");
}

// The thread knows that the phases before `next` are complete. By its parity it waits for `next`, or once more for the
// one before. If `next` and the one behind it are both complete, the parity is that of a third.
void MBarriers::check_late(int index, unsigned parity, std::uintptr_t pc) {
  const MBarrierState& state = all_[index];
  const ThreadId thread = block_.thread_id();
  const std::uint32_t next = block_.shadow().clocks_of(thread).seen(thread.linear, state.timeline);
  if ((next & 1) != (parity & 1) || state.phase < next + 2) return;
  misuse(index, {}, thread, pc, "a wait that is late: the thread has seen the phases before ", next, ", and phases ",
         next, " to ", state.phase - 1, " are complete by now");
}

// A wait at .cta scope is not ordered after a release by another block's thread (PTX ISA, "Morally strong operations").
void MBarriers::passed(int index, std::uint32_t complete, bool cluster, std::uintptr_t pc) {
  MBarrierState& state = all_[index];
  const ThreadId thread = block_.thread_id();
  if (const MBarrierState::Load& outside = state.from_outside; !cluster && outside.pc && outside.phase + 1 == complete)
    misuse(index, Shadow::access(outside.thread, outside.pc, true), thread, pc,
           "this wait acquires at .cta scope, and the phase counts what a thread of another block of the cluster has "
           "done: the wait must acquire at .cluster scope");
  state.seen = std::max(state.seen, complete);
  if (state.phase > complete)
    misuse(index, {}, thread, pc, "a wait that is late: it is for phase ", complete - 1, ", and phases up to ",
           state.phase - 1, " are complete by now");
  if (block_.shadow().clocks_of(thread).seen(thread.linear, state.timeline) < complete)
    block_.shadow().acquire(thread, state.completed);
}

void MBarriers::check_end() {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const MBarrierState& state = all_[i];
    const MBarrierState::Load& load = state.last_load;
    if (state.bytes < 0)
      misuse(int(i), {}, load.thread, load.pc, "the block ended, and ", -state.bytes,
             " bytes more had been written than were announced (expect_tx)");
    if (state.any_landed && load.phase >= state.seen)
      block_.shadow().report(load.thread.peer ? Finding::Kind::early_exit : Finding::Kind::in_flight, name(int(i)), {},
                             Shadow::access(load.thread, load.pc, true),
                             joined("the block ended, and no thread had waited for phase ", load.phase,
                                    ", which counts the bytes of this copy: it may still write"));
  }
}

}  // namespace lab::cpu
