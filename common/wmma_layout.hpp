// The element layout of 16x16x16 WMMA fragments (half in, float accumulate), as measured: not documented by CUDA, and
// not to be relied on by any kernel. The CPU's WMMA and the prediction of the bug `fragment_layout` use it, so that
// code that does look inside a fragment goes wrong here as it does on the hardware.
//
// It is the layout that PTX documents for mma.m16n8k16, with two of its B and C side by side. `make probe what=wmma`,
// part of `make backend=gpu test`, holds a GPU against it, and a unit test what an H200 printed
// (writeups/results/h200-wmma-layout.txt).
#pragma once
#include <array>

#include "common/mma_layout.hpp"

namespace lab::wmma_layout {

inline constexpr int SIDE = 16;
inline constexpr int ELEMENTS = 8;  // of a lane; halves 8..15 repeat 0..7, and the multiplication reads only the first
template <int COUNT>
using Held = std::array<std::array<short, COUNT>, mma_layout::LANES>;
using Used = std::array<std::array<short, SIDE>, SIDE>;

// `half_elements`: how many of a lane's elements are of the left eight columns; the next are of the right eight.
template <int COUNT>
constexpr Held<COUNT> held(mma_layout::Place (*place)(int lane, int element), int half_elements) {
  Held<COUNT> table{};
  for (int lane = 0; lane < mma_layout::LANES; ++lane)
    for (int i = 0; i < COUNT; ++i) {
      const mma_layout::Place at = place(lane, i % half_elements);
      table[lane][i] = short(SIDE * at.row + at.column + 8 * (i % ELEMENTS / half_elements));
    }
  return table;
}

constexpr Used used(const Held<2 * ELEMENTS>& held) {
  Used table{};
  for (int lane = 0; lane < mma_layout::LANES; ++lane)
    for (int i = 0; i < ELEMENTS; ++i) table[held[lane][i] / SIDE][held[lane][i] % SIDE] = short(SIDE * lane + i);
  return table;
}

// [lane][i] -> 16 r + c of A(r,c), of B(r,c) loaded row-major or column-major, of C(r,c)
inline constexpr auto A_ROW_HELD = held<2 * ELEMENTS>(mma_layout::a, mma_layout::A_ELEMENTS);
inline constexpr auto B_HELD = held<2 * ELEMENTS>(mma_layout::b, mma_layout::B_ELEMENTS);
inline constexpr auto ACC_HELD = held<ELEMENTS>(mma_layout::c, mma_layout::C_ELEMENTS);
// [r][c] -> 16 lane + i that mma_sync reads as A(r,c), as B(r,c)
inline constexpr Used A_ROW_USED = used(A_ROW_HELD), B_USED = used(B_HELD);

// Not measured: another legal layout of the accumulator, in which a lane holds eight neighbours of one row. Code that
// works with the measured layout alone goes wrong with this one (ExecOptions::fragments).
constexpr int acc_held_other(int lane, int i) { return 8 * lane + i; }

}  // namespace lab::wmma_layout
