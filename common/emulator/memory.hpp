// The CPU's "global memory": cudaMalloc buffers in one reserved stretch of addresses, so that an address says
// whether a kernel meant global memory, and which buffer it missed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/emulator/block.hpp"
#include "common/emulator/global_shadow.hpp"

namespace lab::cpu {

inline constexpr std::size_t GLOBAL_RESERVED = std::size_t(16) << 40;  // addresses only; pages come with cudaMalloc
extern constinit std::byte* global_base;                               // null before the first cudaMalloc
inline bool is_global(const void* address) {
  return global_base && std::uintptr_t(address) - std::uintptr_t(global_base) < GLOBAL_RESERVED;
}

// Reports (to the running block's log) an access to global memory outside every buffer, and one that races, also to a
// __device__ variable. False: it lies in no buffer and among no variables.
bool check_global(const GlobalAccess& access);
inline void check_global(const void* address, std::size_t bytes, bool write, std::uintptr_t pc) {
  check_global({address, bytes, write ? Touch::write : Touch::read, pc});
}
void find_variables();  // a launch begins: libraries may have been loaded since the last one
// Of the word at `address`, a bit for each byte that the host has written, or that lies in a variable: these begin as zeros.
std::uint8_t written_by_host(const std::byte* address);
// "element 5 of argument 2 (768 B, elements of 4 B)": the kernel's argument, else "a buffer" or a variable's name.
std::string name_of_global(const void* address, std::size_t bytes);
void name_arguments(const std::vector<const void*>& arguments);  // of the launch that begins
// Whether threads of `block`, or of others than it, have used an atomic on the word at `address`.
bool atomic_by(const void* address, std::uint32_t block, bool others);
// "12 B past the end of a buffer of 131072 B", "byte 4 of argument 2 (768 B)".
std::string describe_global(const void* address);

}  // namespace lab::cpu
