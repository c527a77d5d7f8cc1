// bar.sync and bar.arrive on the CPU. Lanes of a warp meet first, as in any collective; the last of them counts the
// warp in. Who waits is parked until the count is full.
#include <algorithm>

#include "common/emulator/block.hpp"
#include "common/emulator/switch.hpp"

namespace lab::cpu {
namespace {

std::string spelt(const NamedBarrierCall& call) {
  return joined(call.waits ? "bar.sync " : "bar.arrive ", call.id, ", ", call.threads);
}

template <class... Parts>
[[noreturn]] void misuse(const NamedBarrierCall& call, const Parts&... what) {
  this_block()->fail(Finding::Kind::barrier, call.pc, spelt(call), what...);
}

void count_in(Block& block, Warp& warp, std::uint32_t) {
  const auto& call = *static_cast<const NamedBarrierCall*>(warp.payload[block.self().lane]);
  for (int lane = 0; lane < LANES; ++lane) {
    const auto& other = *static_cast<const NamedBarrierCall*>(warp.payload[lane]);
    if (other.id != call.id || other.threads != call.threads)
      misuse(call, " meets lane ", lane, " of its warp in ", spelt(other));
  }
  block.arrive_named(call);
}

}  // namespace

void Block::arrive_named(const NamedBarrierCall& call) {
  NamedBarrier& barrier = named_[call.id];
  const int warp = current_->warp;
  if (barrier.arrived == 0) {
    barrier.expected = call.threads, barrier.first_warp = warp, barrier.first_pc = call.pc;
  } else if (barrier.expected != call.threads) {
    misuse(call, ": warp ", barrier.first_warp, " came to this barrier for ", barrier.expected, " threads (",
           place_text(barrier.first_pc), ")");
  } else if (barrier.warps >> warp & 1) {
    misuse(call, ": the warp comes to this barrier twice; ", barrier.arrived, " of ", barrier.expected,
           " threads have arrived so far, the first at ", place_text(barrier.first_pc));
  }
  tell(ExecEvent::Kind::bar_arrive, call.waits, std::size_t(call.id), call.pc);
  barrier.arrived += LANES;
  barrier.warps |= 1u << warp;
  if (call.waits) barrier.waiting |= 1u << warp;
  for (std::uint32_t& use : warps_[warp].out) use = barrier.uses;
  if (checking_) shadow_.named_arrive(call.id, warp);
  if (counting_) barrier.steps = std::max(barrier.steps, counting_->steps(warp));
  if (barrier.arrived < barrier.expected) return;
  for (std::uint32_t waiting = counting_ ? barrier.waiting : 0; waiting; waiting &= waiting - 1) {
    // Counted where the warp stands, and not where the last one came: that may be a bar.arrive, which never waits.
    const int other = __builtin_ctz(waiting);
    const auto& own = *static_cast<const NamedBarrierCall*>(warps_[other].payload[0]);
    counting_->wait_until(Counted::named_barrier, other, own.pc, barrier.steps);
  }
  progressed();
  tell(ExecEvent::Kind::bar_release, 0, std::size_t(call.id), call.pc);
  if (checking_) shadow_.named_complete(call.id, barrier.waiting);
  wake_all(Wait::At::named_barrier, call.id);
  const std::uint32_t uses = barrier.uses + 1;
  barrier = {};
  barrier.uses = uses;
}

void Block::named_barrier(const NamedBarrierCall& call) {
  switch_point(call.pc);
  if (call.id < 1 || call.id >= NAMED_BARRIERS)
    misuse(call, call.id == 0 ? ": barrier 0 is that of __syncthreads; take one of 1 to 15"
                              : ": a block has the barriers 1 to 15");
  if (call.threads < LANES || call.threads % LANES)
    misuse(call, ": a barrier counts whole warps; the threads must be a multiple of 32, at least 32");
  if (call.threads > threads_) misuse(call, ": the block has ", threads_, " threads");
  Warp& warp = own_warp();
  const int lane = current_->lane;
  NamedBarrierCall own = call;
  warp.payload[lane] = &own;
  meet(call.waits ? collective::bar_sync : collective::bar_arrive, 0xFFFFFFFFu, count_in, call.pc);
  if (!call.waits) return;
  if (named_[call.id].uses == warp.out[lane]) park(call.pc, Wait::At::named_barrier, call.id);
  if (lane == 0) tell(ExecEvent::Kind::bar_pass, 0, std::size_t(call.id), call.pc);
}

// PTX says nothing of a barrier that is left half full when its block ends, and whoever protects something by it has
// lost count.
void Block::check_named_end() {
  for (int id = 1; id < NAMED_BARRIERS; ++id) {
    const NamedBarrier& barrier = named_[id];
    if (barrier.arrived == 0) continue;
    report(Finding::Kind::barrier, {}, {barrier.first_pc, barrier.first_warp, 0}, [&] {
      return joined("bar.arrive that no thread waits for: the block ends with ", barrier.arrived, " of ",
                    barrier.expected, " threads at barrier ", id);
    });
  }
}

void named_barrier(int id, int threads, bool waits) {
  this_block()->named_barrier({id, threads, waits, caller(__builtin_return_address(0))});
}

}  // namespace lab::cpu
