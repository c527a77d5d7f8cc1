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
constexpr std::size_t KERNEL_FRAMES = 4 * 1024;  // of a stack, from its top: frames of kernels have 1.5 KB at most

inline void fill_unwritten(std::byte* top) {
  auto* const end = reinterpret_cast<std::uint32_t*>(top);
  std::fill(end - KERNEL_FRAMES / sizeof *end, end, UNWRITTEN);
}

inline bool is_unwritten(std::uint32_t bits) { return (bits | QUIET) == (UNWRITTEN | QUIET); }

// Whether one of these registers is; quick, for there mostly is none.
inline bool any_unwritten(const void* registers, int count) {
  bool any = false;
  for (int i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, static_cast<const std::byte*>(registers) + sizeof bits * std::size_t(i), sizeof bits);
    any |= is_unwritten(bits);
  }
  return any;
}

// Reports the first of a lane's `count` registers that was not written; `name`: of the operand.
inline void check_written(Block& block, int warp, int lane, const char* name, const void* registers, int count,
                          std::uintptr_t pc) {
  if (!any_unwritten(registers, count)) [[likely]]
    return;
  int first = 0;
  while (!any_unwritten(registers, first + 1)) ++first;
  block.report(Finding::Kind::uninitialised, {}, {pc, warp, lane, false},
               "this register of the product was read before anything was written to it",
               joined(name, ", register ", first));
}

}  // namespace lab::cpu
