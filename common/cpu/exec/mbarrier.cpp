#include "common/cpu/exec/mbarrier.hpp"

#include "common/cpu/exec/block.hpp"
#include "common/cpu/exec/switch.hpp"
#include "common/ptx/mbarrier.cuh"

namespace lab::cpu {
namespace {

constexpr unsigned MOST = (1u << 20) - 1;  // of arrivals and of bytes: the fields of an mbarrier have 20 bits

std::uintptr_t caller(void* return_address) { return reinterpret_cast<std::uintptr_t>(return_address) - 1; }

// A wait names the phase that is under way, or the one before it: by parity it cannot name another.
bool is_complete(const MBarrierState& barrier, unsigned parity) { return (barrier.phase & 1) != (parity & 1); }

}  // namespace

std::string MBarriers::name(int barrier) const { return block_.shared().describe(all_[barrier].offset); }

std::string MBarriers::phase_text(int barrier) const {
  const MBarrierState& state = all_[barrier];
  std::string missing;
  if (state.pending) missing = std::to_string(state.pending) + " of " + std::to_string(state.arrivals) + " arrivals";
  if (state.bytes)
    missing += (missing.empty() ? "" : " and ") + std::to_string(std::abs(state.bytes)) +
               (state.bytes > 0 ? " bytes missing" : " bytes more than were announced");
  else
    missing += " missing";
  return "phase " + std::to_string(state.phase) + " of " + name(barrier) + " (parity " +
         std::to_string(state.phase & 1) + "): " + missing;
}

int MBarriers::find(const ptx::MBarrier* barrier, const char* instruction, std::uintptr_t pc) {
  const bool shared = block_.shared().contains(barrier);
  const std::size_t offset = shared ? block_.shared().offset(barrier) : 0;
  if (shared)
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i].offset == offset) return int(i);
  block_.fail(cudaErrorLaunchFailure, Finding::Kind::mbarrier,
              std::string(instruction) + (shared ? " on " + block_.shared().describe(offset) +
                                                       ", which no thread has " + "initialised yet (mbarrier.init)"
                                                 : std::string(" on an address outside shared memory")),
              pc);
}

void MBarriers::init(const ptx::MBarrier* barrier, unsigned arrivals, std::uintptr_t pc) {
  if (!block_.shared().contains(barrier) || reinterpret_cast<std::uintptr_t>(barrier) % 8)
    block_.fail(cudaErrorMisalignedAddress, Finding::Kind::mbarrier,
                "mbarrier.init on an address that is no multiple of 8 in shared memory", pc);
  const std::size_t offset = block_.shared().offset(barrier);
  if (arrivals < 1 || arrivals > MOST)
    block_.fail(
        cudaErrorLaunchFailure, Finding::Kind::mbarrier,
        "mbarrier.init for " + std::to_string(arrivals) + " arrivals; 1 to " + std::to_string(MOST) + " are allowed",
        pc);
  for (const MBarrierState& old : all_)
    if (old.offset == offset)
      block_.fail(cudaErrorLaunchFailure, Finding::Kind::mbarrier,
                  "mbarrier.init on " + block_.shared().describe(offset) + ", which is a barrier already; its phase " +
                      std::to_string(old.phase) + " is under way",
                  pc);
  MBarrierState fresh;
  fresh.offset = offset, fresh.arrivals = fresh.pending = arrivals;
  all_.push_back(std::move(fresh));
}

void MBarriers::count_bytes(MBarrierState& barrier, unsigned bytes, std::uintptr_t pc) {
  barrier.bytes += bytes;
  if (bytes > MOST || barrier.bytes > std::int64_t(MOST))
    block_.fail(cudaErrorLaunchFailure, Finding::Kind::mbarrier,
                "a phase of " + block_.shared().describe(barrier.offset) + " is to wait for " +
                    std::to_string(barrier.bytes) + " bytes; " + std::to_string(MOST) + " are allowed",
                pc);
}

void MBarriers::arrive(const ptx::MBarrier* barrier, unsigned bytes, bool expects, std::uintptr_t pc) {
  block_.switch_point(pc);
  const int index = find(barrier, expects ? "mbarrier.arrive.expect_tx" : "mbarrier.arrive", pc);
  MBarrierState& state = all_[index];
  if (state.pending == 0)
    block_.fail(cudaErrorLaunchFailure, Finding::Kind::mbarrier,
                "mbarrier.arrive on " + name(index) + ": all " + std::to_string(state.arrivals) +
                    " arrivals of phase " + std::to_string(state.phase) + " have come; it waits for " +
                    std::to_string(state.bytes) + " bytes",
                pc);
  block_.tell(ExecEvent::Kind::mbarrier_arrive, state.offset, expects ? bytes : 0, pc);
  block_.progressed();
  if (expects) count_bytes(state, bytes, pc);
  --state.pending;
  if (!state.pending && !state.bytes) complete_phase(index);
}

void MBarriers::expect_tx(const ptx::MBarrier* barrier, unsigned bytes, std::uintptr_t pc) {
  block_.switch_point(pc);
  const int index = find(barrier, "mbarrier.expect_tx", pc);
  MBarrierState& state = all_[index];
  count_bytes(state, bytes, pc);
  if (!state.pending && !state.bytes) complete_phase(index);
}

void MBarriers::complete_bytes(int index, std::int64_t bytes) {
  MBarrierState& state = all_[index];
  // The engine counts while it writes: a phase that has its arrivals ends with the last byte that it was told of, and
  // what comes then counts for the next.
  while (state.pending == 0 && state.bytes > 0 && bytes >= state.bytes) {
    bytes -= state.bytes;
    state.bytes = 0;
    complete_phase(index);
  }
  state.bytes -= bytes;
}

void MBarriers::complete_phase(int index) {
  MBarrierState& state = all_[index];
  block_.tell(ExecEvent::Kind::mbarrier_complete, state.offset, state.phase, 0);
  ++state.phase;
  state.pending = state.arrivals;
  block_.progressed();
  for (const std::uint16_t thread : state.waiting) {
    Fiber& fiber = block_.fiber(thread);
    fiber.mbarrier = -1, fiber.polled_in_vain = false;
    block_.wake(thread);
  }
  state.waiting.clear();
}

bool MBarriers::park(int index, bool polls, std::uintptr_t pc) {
  Fiber& fiber = block_.self();
  fiber.mbarrier = std::int16_t(index), fiber.polls = polls;
  all_[index].waiting.push_back(fiber.linear);
  block_.tell(ExecEvent::Kind::mbarrier_wait, all_[index].offset, all_[index].phase, pc);
  block_.park(pc);
  return fiber.mbarrier < 0 && !std::exchange(fiber.told_not_yet, false);
}

void MBarriers::wait(const ptx::MBarrier* barrier, unsigned parity, std::uintptr_t pc) {
  block_.switch_point(pc);
  const int index = find(barrier, "mbarrier.try_wait", pc);
  if (!is_complete(all_[index], parity)) park(index, false, pc);
  block_.tell(ExecEvent::Kind::mbarrier_pass, all_[index].offset, parity, pc);
}

bool MBarriers::try_wait(const ptx::MBarrier* barrier, unsigned parity, std::uintptr_t pc) {
  block_.switch_point(pc);
  const int index = find(barrier, "mbarrier.try_wait", pc);
  if (!is_complete(all_[index], parity) && !park(index, true, pc)) return false;
  block_.self().polled_in_vain = false;
  block_.tell(ExecEvent::Kind::mbarrier_pass, all_[index].offset, parity, pc);
  return true;
}

bool MBarriers::answer_polls(bool all) {
  bool answered = false;
  for (MBarrierState& state : all_)
    std::erase_if(state.waiting, [&](std::uint16_t thread) {
      Fiber& fiber = block_.fiber(thread);
      if (!fiber.polls || (fiber.polled_in_vain && !all)) return false;
      fiber.mbarrier = -1, fiber.told_not_yet = fiber.polled_in_vain = answered = true;
      block_.wake(thread);
      return true;
    });
  return answered;
}

// --- the PTX wrappers' entry points ---------------------------------------------------------------------------

void mbarrier_init(ptx::MBarrier* barrier, unsigned arrivals) {
  this_block()->mbarriers().init(barrier, arrivals, caller(__builtin_return_address(0)));
}
void mbarrier_arrive(ptx::MBarrier* barrier, unsigned expected_bytes, bool expects) {
  this_block()->mbarriers().arrive(barrier, expected_bytes, expects, caller(__builtin_return_address(0)));
}
void mbarrier_expect_tx(ptx::MBarrier* barrier, unsigned bytes) {
  this_block()->mbarriers().expect_tx(barrier, bytes, caller(__builtin_return_address(0)));
}
void mbarrier_wait(ptx::MBarrier* barrier, unsigned parity) {
  this_block()->mbarriers().wait(barrier, parity, caller(__builtin_return_address(0)));
}
bool mbarrier_try_wait(ptx::MBarrier* barrier, unsigned parity) {
  return this_block()->mbarriers().try_wait(barrier, parity, caller(__builtin_return_address(0)));
}
void fence_mbarrier_init() {}

}  // namespace lab::cpu
