// mma.sync.m16n8k16 on the CPU: the last lane to arrive gathers A, B and C from the registers of all, multiplies, and
// hands each lane its four elements.
#include <cstring>

#include "common/cpu/instructions.h"
#include "common/emulator/block.hpp"
#include "common/emulator/switch.hpp"
#include "common/emulator/tensor_core.hpp"
#include "common/emulator/unwritten.hpp"
#include "common/mma_layout.hpp"

namespace lab::cpu {
namespace {

namespace layout = lab::mma_layout;

struct MmaCall {
  float* c;
  const unsigned *a, *b;
  std::uintptr_t pc;
  bool bf16 = false;
};

// Elements 2 i and 2 i + 1 share a register; of A and C they are neighbours in a row, of B in a column.
void multiply(Block& block, Warp& warp, std::uint32_t) {
  std::uint16_t bits_a[16][16], bits_b[16][8];
  float c[16][8];
  for (int lane = 0; lane < LANES; ++lane) {
    const MmaCall& call = *static_cast<const MmaCall*>(warp.payload[lane]);
    if (block.checking()) {
      const int own = block.self().warp;
      check_written(block, own, lane, "A", call.a, layout::A_ELEMENTS / 2, call.pc);
      check_written(block, own, lane, "B", call.b, layout::B_ELEMENTS / 2, call.pc);
      check_written(block, own, lane, "C", call.c, layout::C_ELEMENTS, call.pc);
    }
    for (int e = 0; e < layout::A_ELEMENTS; e += 2) {
      const layout::Place at = layout::a(lane, e);
      std::memcpy(&bits_a[at.row][at.column], &call.a[e / 2], 4);
    }
    for (int e = 0; e < layout::B_ELEMENTS; e += 2) {
      const layout::Place at = layout::b(lane, e);
      bits_b[at.row][at.column] = std::uint16_t(call.b[e / 2]);
      bits_b[at.row + 1][at.column] = std::uint16_t(call.b[e / 2] >> 16);
    }
    for (int e = 0; e < layout::C_ELEMENTS; e += 2) {
      const layout::Place at = layout::c(lane, e);
      std::memcpy(&c[at.row][at.column], &call.c[e], 8);
    }
  }
  MmaB b;
  b.set(bits_b);
  if (static_cast<const MmaCall*>(warp.payload[0])->bf16) {
    mma_tile_bf16(bits_a, b, c);
  } else {
    MmaA a;
    a.set(bits_a);
    mma_tile(a, b, c);
  }
  block.tell(ExecEvent::Kind::product, 0, 0, 0);
  for (int lane = 0; lane < LANES; ++lane)
    for (int e = 0; e < layout::C_ELEMENTS; e += 2) {
      const layout::Place at = layout::c(lane, e);
      std::memcpy(&static_cast<const MmaCall*>(warp.payload[lane])->c[e], &c[at.row][at.column], 8);
    }
}

// Filled in place: a kernel makes millions of these calls.
inline __attribute__((always_inline)) void mma(const MmaCall& call) {
  Block& block = *this_block();
  block.own_warp().payload[block.self().lane] = const_cast<MmaCall*>(&call);
  block.meet(collective::mma, 0xFFFFFFFFu, multiply, call.pc);
}

}  // namespace

void mma_m16n8k16(float* c, const unsigned* a, const unsigned* b) {
  const MmaCall call{c, a, b, caller(__builtin_return_address(0))};
  mma(call);
}
void mma_bf16(float* c, const unsigned* a, const unsigned* b) {
  const MmaCall call{c, a, b, caller(__builtin_return_address(0)), true};
  mma(call);
}

}  // namespace lab::cpu
