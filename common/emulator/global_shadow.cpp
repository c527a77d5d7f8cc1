#include "common/emulator/global_shadow.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "common/emulator/block.hpp"
#include "common/emulator/cluster.hpp"

namespace lab::cpu {
namespace {

std::atomic<std::uint32_t> launches_begun{0};

// Blocks run on several OS threads.
std::mutex& lock_of(const GlobalCell* cell) {
  static std::array<std::mutex, 64> locks;
  return locks[reinterpret_cast<std::uintptr_t>(cell) / 4096 % locks.size()];
}

bool may_be_ordered(const Block& block, std::uint32_t other) {
  const LaunchConfig& config = block.config();
  if (config.cluster.x * config.cluster.y * config.cluster.z == 1) return false;
  return cluster_of_block(config, other) == cluster_of_block(config, block.linear());
}

// A block's accesses to a word, one after the other, are kept as one.
void keep(GlobalCell::Access& kept, const GlobalCell::Access& now) {
  const bool goes_on = kept.launch == now.launch && kept.block == now.block;
  const std::uint8_t before = goes_on ? kept.bytes : 0;
  kept = now;
  kept.bytes |= before;
}

// The first block's in `first`, the last of the other blocks' in `other`.
void keep_two(GlobalCell::Access& first, GlobalCell::Access& other, const GlobalCell::Access& now) {
  keep(first.launch != now.launch || first.block == now.block ? first : other, now);
}

}  // namespace

void begin_global_launch() { ++launches_begun; }

void watch_global(Block& block, GlobalCell* cells, std::size_t offset, std::size_t bytes, Touch touch,
                  std::uintptr_t pc) {
  const std::uint32_t launch = launches_begun.load(std::memory_order_relaxed);
  const Fiber& fiber = block.self();
  bool reported = false;  // an access of several words is one
  const auto collide = [&](const GlobalCell::Access& earlier, Touch kind, std::uint8_t mask) {
    if (reported || earlier.launch != launch || !(earlier.bytes & mask) || earlier.block == block.linear()) return;
    if (may_be_ordered(block, earlier.block)) return;
    reported = true;
    const char* const hazard = touch == Touch::read ? "RAW" : kind == Touch::read ? "WAR" : "WAW";
    block.report(
        Finding::Kind::race_inter_block, {earlier.pc, earlier.warp, earlier.lane, kind != Touch::read},
        {pc, fiber.warp, fiber.lane, touch != Touch::read},
        [&] {
          return "the earlier access is block " + std::to_string(earlier.block) +
                 "'s, and nothing orders the blocks of a launch" +
                 (kind == Touch::atomic    ? "; it is atomic, this one is not"
                  : touch == Touch::atomic ? "; this one is atomic, it is not"
                                           : "");
        },
        "global memory", hazard);
  };
  for (std::size_t at = offset, end = offset + bytes; at < end;) {
    const std::size_t word = at / GLOBAL_WORD, next = std::min(end, (word + 1) * GLOBAL_WORD);
    const auto mask = std::uint8_t(((1u << (next - at)) - 1) << at % GLOBAL_WORD);
    at = next;
    GlobalCell& cell = cells[word];
    const GlobalCell::Access now{pc, launch, block.linear(), std::uint8_t(fiber.warp), std::uint8_t(fiber.lane), mask};
    const std::lock_guard guard(lock_of(&cell));
    collide(cell.write, Touch::write, mask);
    if (touch != Touch::atomic) {
      collide(cell.atomic, Touch::atomic, mask), collide(cell.other_atomic, Touch::atomic, mask);
    }
    if (touch != Touch::read) collide(cell.read, Touch::read, mask), collide(cell.other_read, Touch::read, mask);
    switch (touch) {
      case Touch::read:
        keep_two(cell.read, cell.other_read, now);
        break;
      case Touch::atomic:
        keep_two(cell.atomic, cell.other_atomic, now);
        break;
      case Touch::write:
        keep(cell.write, now);
    }
  }
}

}  // namespace lab::cpu
