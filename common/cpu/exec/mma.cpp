// mma.sync.m16n8k16 on the CPU: the last lane to arrive gathers A, B and C from the registers of all, multiplies, and
// hands each lane its four elements.
#include "common/cpu/exec/block.hpp"
#include "common/cpu/exec/switch.hpp"
#include "common/cpu/exec/tensor_core.hpp"
#include "common/mma_layout.hpp"

namespace lab::cpu {
namespace {

namespace layout = lab::mma_layout;

struct MmaCall {
  float* c;
  const unsigned *a, *b;
};

std::uint16_t half_of(const unsigned* registers, int element) {
  return std::uint16_t(registers[element / 2] >> (16 * (element % 2)));
}

void multiply(Block& block, Warp& warp, std::uint32_t) {
  std::uint16_t bits_a[16][16], bits_b[16][8];
  float c[16][8];
  for (int lane = 0; lane < LANES; ++lane) {
    const MmaCall& call = *static_cast<const MmaCall*>(warp.payload[lane]);
    for (int e = 0; e < layout::A_ELEMENTS; ++e) {
      const layout::Place at = layout::a(lane, e);
      bits_a[at.row][at.column] = half_of(call.a, e);
    }
    for (int e = 0; e < layout::B_ELEMENTS; ++e) {
      const layout::Place at = layout::b(lane, e);
      bits_b[at.row][at.column] = half_of(call.b, e);
    }
    for (int e = 0; e < layout::C_ELEMENTS; ++e) {
      const layout::Place at = layout::c(lane, e);
      c[at.row][at.column] = call.c[e];
    }
  }
  MmaA a;
  MmaB b;
  a.set(bits_a);
  b.set(bits_b);
  mma_tile(a, b, c, block.tensor_core());
  for (int lane = 0; lane < LANES; ++lane)
    for (int e = 0; e < layout::C_ELEMENTS; ++e) {
      const layout::Place at = layout::c(lane, e);
      static_cast<const MmaCall*>(warp.payload[lane])->c[e] = c[at.row][at.column];
    }
}

}  // namespace

void mma_m16n8k16(float* c, const unsigned* a, const unsigned* b) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  Block& block = *this_block();
  MmaCall call{c, a, b};
  block.own_warp().payload[block.self().lane] = &call;
  block.meet(Collective::mma, 0xFFFFFFFFu, multiply, pc);
}

}  // namespace lab::cpu
