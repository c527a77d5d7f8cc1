#include "common/emulator/registers.hpp"

#include <algorithm>

#include "common/emulator/block.hpp"
#include "common/emulator/switch.hpp"

namespace lab::cpu {
namespace {

struct RegisterCall {
  int count;
  bool take;
  std::uintptr_t pc;
};

std::string spelt(const RegisterCall& call) {
  return joined(call.take ? "setmaxnreg.inc " : "setmaxnreg.dec ", call.count);
}

template <class... Parts>
[[noreturn]] void misuse(const RegisterCall& call, const Parts&... what) {
  this_block()->fail(Finding::Kind::collective, call.pc, spelt(call), what...);
}

void set_for_warp(Block& block, Warp& warp, std::uint32_t) {
  const auto& call = *static_cast<const RegisterCall*>(warp.payload[block.self().lane]);
  for (int lane = 0; lane < LANES; ++lane) {
    const auto& other = *static_cast<const RegisterCall*>(warp.payload[lane]);
    if (other.count != call.count || other.take != call.take)
      misuse(call, " meets lane ", lane, " of its warp in ", spelt(other));
  }
  block.registers().set(block.self().warp, call.count, call.take, call.pc);
}

}  // namespace

void RegisterPool::reset(int threads) {
  threads_ = threads;
  // A thread's registers at the start: the most that lets the block fit, as with __launch_bounds__(threads, 1). The block
  // has that for each thread; the rest of the file is not its own.
  const int each = std::min(FILE / std::max(threads, 1) / 8 * 8, MOST_AT_LAUNCH);
  has_.fill(each), wants_.fill(each), calls_.fill(0);
  free_ = 0;
}

void RegisterPool::set(int warp, int count, bool take, std::uintptr_t pc) {
  const RegisterCall call{count, take, pc};
  const int first = warp / GROUP * GROUP;
  if ((first + GROUP) * LANES > threads_)
    misuse(call, ": it is for whole warpgroups; the block has ", threads_, " threads");
  for (int other = first; other < first + GROUP; ++other) {
    if (calls_[other] < calls_[warp])
      misuse(call, ": warp ", other, " of this warpgroup has not come to the one before");
    if (calls_[other] > calls_[warp] && wants_[other] != count)
      misuse(call, ": warp ", other, " of this warpgroup asked for ", wants_[other]);
  }
  if (take ? count < has_[warp] : count > has_[warp])
    misuse(call, ": the thread has ", has_[warp], take ? "; .inc takes more" : "; .dec gives registers back");
  ++calls_[warp], last_pc_[warp] = pc;
  wants_[warp] = count;
  if (!take) free_ += (has_[warp] - count) * LANES, has_[warp] = count;
  share_out();
}

void RegisterPool::share_out() {
  for (int warp = 0; warp < threads_ / LANES; ++warp) {
    const int more = (wants_[warp] - has_[warp]) * LANES;
    if (more <= 0 || more > free_) continue;
    free_ -= more, has_[warp] = wants_[warp];
    block_.wake_all(Wait::At::registers, warp);
  }
}

void RegisterPool::check_end() {
  for (int first = 0; (first + GROUP) * LANES <= threads_; first += GROUP)
    for (int warp = first; warp < first + GROUP; ++warp) {
      const auto most = std::max_element(calls_.begin() + first, calls_.begin() + first + GROUP);
      if (calls_[warp] == *most) continue;
      const int other = int(most - calls_.begin());
      block_.report(Finding::Kind::collective, {}, {last_pc_[other], other, 0},
                    [&] { return joined("setmaxnreg by a part of a warpgroup: warp ", warp, " never came"); });
      break;
    }
}

std::string RegisterPool::waits_for(int warp) const {
  return joined(wants_[warp], " registers per thread (setmaxnreg.inc), ", (wants_[warp] - has_[warp]) * LANES,
                " more for the warp; ", free_, " are free");
}

void set_max_registers(int count, bool take) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  Block& block = *this_block();
  RegisterCall own{count, take, pc};
  const int warp = block.self().warp, lane = block.self().lane;
  block.own_warp().payload[lane] = &own;
  block.meet(collective::setmaxnreg, 0xFFFFFFFFu, set_for_warp, pc);
  if (!block.registers().granted(warp)) block.park(pc, Wait::At::registers, warp);
}

}  // namespace lab::cpu
