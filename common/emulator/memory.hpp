// The CPU's "global memory": cudaMalloc buffers in one reserved stretch of addresses, so that an address says
// whether a kernel meant global memory, and which buffer it missed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/emulator/block.hpp"
#include "common/emulator/global_shadow.hpp"

namespace lab::cpu {

bool is_global(const void* address);
// Reports (to the running block's log) an access outside every buffer, and one that collides with another block's. Called
// for each access of a checked kernel.
void check_global(const void* address, std::size_t bytes, Touch touch, std::uintptr_t pc);
inline void check_global(const void* address, std::size_t bytes, bool write, std::uintptr_t pc) {
  check_global(address, bytes, write ? Touch::write : Touch::read, pc);
}
// An access of the running thread to shared or global memory, for the checker; false if it is to neither.
inline __attribute__((always_inline)) bool check_access(Block& block, const void* address, std::size_t bytes,
                                                        bool write, std::uintptr_t pc) {
  if (block.shared().contains(address)) {
    block.accessed(block.shared().offset(address), bytes, write, block.thread_id(), pc);
    return true;
  }
  if (!is_global(address)) return false;
  check_global(address, bytes, write, pc);
  return true;
}
// "12 B past the end of the 131072 B buffer at 0x...".
std::string describe_global(const void* address);

}  // namespace lab::cpu
