// How a thread reaches the shared memory of another block of its cluster.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/emulator/cluster.hpp"

namespace lab::cpu {

// The block that is reached, and the calling thread as that block names it.
struct Reached {
  Block& own;
  Block& target;
  ThreadId thread;
};

// Stops the launch if there is no such block, if it has not started yet, or if it has ended; while checking, reports a
// thread that does not know that the block runs.
Reached reach(unsigned rank, const char* instruction, bool write, std::uintptr_t pc);

// The number of the target's mbarrier at `offset`. Stops the launch if none lies there.
int barrier_of(const Reached& reached, std::size_t offset, const char* instruction, std::uintptr_t pc);

}  // namespace lab::cpu
