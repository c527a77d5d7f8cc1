// A block's collectives and barriers, reported to the counting (counting.hpp).
#include <algorithm>

#include "common/emulator/block.hpp"

namespace lab::cpu {

void Block::count_meeting(const Collective& counted, std::uint32_t mask, std::uintptr_t pc) {
  const int warp = current_->warp;
  if ((mask | warps_[warp].exited) == 0xFFFFFFFFu) counting_->meet(warp);
  if (!counted.instructions) return;
  counting_->instruction(counted.what, warp, pc,
                         {.instructions = counted.instructions,
                          .lanes = counted.instructions * std::uint64_t(__builtin_popcount(mask)),
                          .multiplies = counted.multiplies});
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
    const auto lanes = std::uint64_t(LANES - __builtin_popcount(warps_[warp].exited));
    counting_->instruction(Counted::barrier, warp, barrier_pc_, {.instructions = 1, .lanes = lanes});
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
