// A block's collectives and barriers, reported to the counting (counting.hpp).
#include <algorithm>

#include "common/cpu/exec/block.hpp"

namespace lab::cpu {
namespace {

constexpr std::uint64_t MMA_MULTIPLIES = 16 * 8 * 16;
constexpr unsigned REDUCTION = 5;  // shuffles of a butterfly over 32 lanes

}  // namespace

void Block::count_meeting(Collective kind, std::uint32_t mask, std::uintptr_t pc) {
  const int warp = current_->warp;
  if ((mask | warps_[warp].exited) == 0xFFFFFFFFu) counting_->meet(warp);
  Tally tally;
  tally.instructions = 1, tally.lanes = std::uint64_t(__builtin_popcount(mask));
  const auto tell = [&](Counted what, unsigned instructions = 1, std::uint64_t multiplies = 0) {
    tally.instructions *= instructions, tally.lanes *= instructions, tally.multiplies = multiplies;
    counting_->instruction(what, warp, pc, tally);
  };
  switch (kind) {
    case Collective::syncwarp:
      return tell(Counted::syncwarp);
    case Collective::shuffle_index:
    case Collective::shuffle_up:
    case Collective::shuffle_down:
    case Collective::shuffle_xor:
      return tell(Counted::shuffle);
    case Collective::sum:
    case Collective::max:
      return tell(Counted::shuffle, REDUCTION);
    case Collective::ballot:
    case Collective::any:
    case Collective::all:
      return tell(Counted::vote);
    case Collective::mma:
      return tell(Counted::mma, 1, MMA_MULTIPLIES);
    case Collective::wmma_mma:
      return tell(Counted::mma, 2, 2 * MMA_MULTIPLIES);
    case Collective::bar_sync:
    case Collective::bar_arrive:
      return tell(Counted::named_barrier);
    case Collective::cluster_arrive:
    case Collective::cluster_wait:
      return tell(Counted::cluster_barrier);
    case Collective::wmma_load:
    case Collective::wmma_store:
    case Collective::ldmatrix:
    case Collective::stmatrix:
    case Collective::wgmma:  // these tell themselves, with their addresses
    case Collective::wgmma_fence:
    case Collective::wgmma_commit:
    case Collective::wgmma_wait:
    case Collective::setmaxnreg:
      return;
  }
}

// All remaining warps continue together, after the last arrival.
void Block::count_barrier() {
  std::uint64_t last = 0;
  const auto each = [&](auto&& tell) {
    for (int warp = 0; warp < warp_count_; ++warp)
      if (warps_[warp].exited != 0xFFFFFFFFu) tell(warp);
  };
  each([&](int warp) {
    counting_->meet(warp);
    Tally tally;
    tally.instructions = 1, tally.lanes = std::uint64_t(LANES - __builtin_popcount(warps_[warp].exited));
    counting_->instruction(Counted::barrier, warp, barrier_pc_, tally);
    last = std::max(last, counting_->steps(warp));
  });
  each([&](int warp) { counting_->wait_until(Counted::barrier, warp, barrier_pc_, last); });
}

// A lane's part of what takes no address.
void count_lane(Counted what) {
  Block* block = this_block();
  if (!block || !block->counting() || !block->running()) return;
  const Fiber& fiber = block->self();
  block->counting()->lane(what, fiber.warp, fiber.lane, caller(__builtin_return_address(0)));
}

}  // namespace lab::cpu
