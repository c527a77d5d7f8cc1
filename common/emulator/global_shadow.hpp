// The race checker for global memory: what it remembers of every word that a launch has touched.
//
// Two accesses race if one of them writes, not both are atomic, and neither is ordered before the other. Threads of a block
// (and of a cluster) are ordered as for shared memory (shadow.hpp); besides, threads of any blocks order themselves by
// atomics and fences (hand_order.hpp). Nothing else orders the blocks of a launch.
//
// A volatile load counts as atomic beside atomics and stores that release; everywhere else volatile is plain. A thread that
// has the last atomic of a word behind it may store there: it resets a counter that all others have drawn from.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/emulator/hand_order.hpp"

namespace lab::cpu {

class Block;

enum class Touch : std::uint8_t { read, write, atomic };

// An access of the running thread.
struct GlobalAccess {
  const void* address;
  std::size_t bytes;
  Touch touch;
  std::uintptr_t pc;
  bool is_volatile = false;
  Scope scope = Scope::device;  // of an atomic
  bool reads = true;            // an atomic: what was there is part of what it leaves
};

// Of the launch under way, but for `written`. Of readers, writers and atomics two entries each are kept, of two warps where there are two:
// whichever comes next, one of them is not its own.
struct GlobalCell {
  enum Slot { WRITE, READ, OTHER_WRITE, OTHER_READ, ATOMIC, OTHER_ATOMIC, SLOTS };
  struct Entry {  // by lanes of one warp with one stamp, all at the same bytes
    std::uint32_t pc_low;
    std::uint16_t pc_high;
    std::uint8_t warp;
    std::uint8_t bytes : 4, strong : 1, block_scope : 1;  // strong: a volatile load
    std::uint32_t block, stamp, lanes;
    std::uintptr_t pc() const { return std::uintptr_t(pc_high) << 32 | pc_low; }
  };
  std::uint32_t launch : 21, used : 6;  // a bit for each slot
  std::uint32_t last_atomic : 1;        // the one in OTHER_ATOMIC is the later one
  std::uint32_t written : 4;            // a bit for each byte, by any launch or the host; kept from launch to launch
  std::uint32_t released;               // by hand, at this word (hand_order.hpp)
  std::array<Entry, SLOTS> at;
};
static_assert(sizeof(GlobalCell) == 128, "two cache lines");
inline constexpr std::size_t GLOBAL_WORD = 4;  // bytes that a cell stands for

// A launch begins: what earlier ones did is ordered before all of it.
void begin_global_launch(const std::vector<const void*>& arguments);

// `cells` are those of a buffer or variable, from whose `offset` on the access is.
void watch_global(Block& block, GlobalCell* cells, std::size_t offset, const GlobalAccess& access);

// Whether threads of `block`, or of others than it, have used an atomic on the word, in this launch.
bool atomic_by(const GlobalCell& cell, std::uint32_t block, bool others);

// Two writes may be of the same value; that shows once the second is done, at the next access or here.
void finish_global_writes();

}  // namespace lab::cpu
