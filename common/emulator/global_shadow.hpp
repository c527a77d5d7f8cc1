// Accesses of a launch's blocks to the same element of global memory. Nothing orders blocks of a launch: two that write an
// element must both do so by an atomic, and none may read what another writes. Blocks of one cluster are left out, as its
// barrier may order them. An order by a semaphore (common/ptx/semaphore.cuh) is not known to the checker: accesses that
// it orders must be atomic all the same.
#pragma once
#include <cstddef>
#include <cstdint>

namespace lab::cpu {

class Block;

enum class Touch : std::uint8_t { read, write, atomic };

// A launch's accesses to one word so far. Of readers and of atomics two are kept, of two blocks: whichever block comes
// next, one of them is not its own. Two plain writers are reported at once.
struct GlobalCell {
  struct Access {
    std::uintptr_t pc;
    std::uint32_t launch;  // that it belongs to; an earlier one's is as good as none
    std::uint32_t block;
    std::uint8_t warp, lane;
    std::uint8_t bytes;  // of the word, a bit each
  };
  Access write, atomic, other_atomic, read, other_read;
};
inline constexpr std::size_t GLOBAL_WORD = 4;  // bytes that a cell stands for

// A launch begins: what earlier ones did is ordered before all of it.
void begin_global_launch();

// An access of the running thread to `bytes` bytes from `offset` on in a buffer whose first cell is `cells`.
void watch_global(Block& block, GlobalCell* cells, std::size_t offset, std::size_t bytes, Touch touch,
                  std::uintptr_t pc);

}  // namespace lab::cpu
