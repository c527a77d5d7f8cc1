// Registers that nothing has written, for the checker. A kernel's registers lie on its stack, which begins each block
// filled with a signalling NaN that no kernel makes. Arithmetic keeps it, but for the quiet bit; so a product whose
// operand is this NaN reads a register before it was written, or what was computed from one.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "common/emulator/block.hpp"

namespace lab::cpu {

constexpr std::uint32_t UNWRITTEN = 0x7FA5A5A5, QUIET = 0x00400000;
constexpr std::size_t KERNEL_FRAMES = 8 * 1024;  // of a stack, from its top

inline void fill_unwritten(std::byte* top) {
  auto* const end = reinterpret_cast<std::uint32_t*>(top);
  std::fill(end - KERNEL_FRAMES / sizeof *end, end, UNWRITTEN);
}

// Reports the first of a lane's `count` registers that was not written; `name`: of the operand.
inline void check_written(Block& block, int lane, const char* name, const void* registers, int count, std::uintptr_t pc,
                          int warp = -1) {
  for (int i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, static_cast<const std::byte*>(registers) + sizeof bits * std::size_t(i), sizeof bits);
    if ((bits | QUIET) != (UNWRITTEN | QUIET)) [[likely]]
      continue;
    return block.report(
        Finding::Kind::uninitialised, {}, {pc, warp < 0 ? block.self().warp : warp, lane, false},
        [] { return "this register of the product was read before anything was written to it"; },
        std::string(name) + ", register " + std::to_string(i));
  }
}

}  // namespace lab::cpu
