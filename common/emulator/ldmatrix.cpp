// ldmatrix and stmatrix on the CPU. The last lane to arrive moves the data; to the checker, each row of 16 bytes is an
// access of the lane that gave its address.
#include <cuda_fp16.h>

#include <cstring>

#include "common/emulator/block.hpp"
#include "common/emulator/switch.hpp"
#include "common/mma_layout.hpp"

namespace lab::cpu {
namespace {

namespace layout = lab::mma_layout;

constexpr int ROWS = 8, ROW_BYTES = 16;

struct MatrixCall {
  unsigned* registers;
  std::byte* row;
  int matrices;
  bool transposed;
  std::uintptr_t pc;
};

const MatrixCall& call_of(const Warp& warp, int lane) { return *static_cast<const MatrixCall*>(warp.payload[lane]); }

// "ldmatrix.x4.trans".
std::string spelt(const Collective& kind, const MatrixCall& call) {
  return joined(kind.name, ".x", call.matrices, call.transposed ? ".trans" : "");
}

// Only lanes whose address is used are held to the rules.
void check_address(Block& block, const Collective& kind, const MatrixCall& call) {
  if (block.self().lane >= ROWS * call.matrices) return;
  const auto refuse = [&](Finding::Kind finding, const auto&... why) {
    block.fail(finding, call.pc, spelt(kind, call), ": the row that lane ", block.self().lane, " points to", why...);
  };
  if (!block.shared().contains(call.row)) refuse(Finding::Kind::out_of_bounds, " does not lie in shared memory");
  if (const auto past = std::uintptr_t(call.row) % ROW_BYTES)
    refuse(Finding::Kind::misaligned, ", ", block.shared().describe(block.shared().offset(call.row)), ", is ", past,
           " bytes past a multiple of 16");
}

// All lanes execute one instruction.
void check_same(Block& block, Warp& warp, const Collective& kind) {
  const MatrixCall& last = call_of(warp, block.self().lane);
  for (int lane = 0; lane < LANES; ++lane) {
    const MatrixCall& other = call_of(warp, lane);
    if (other.matrices != last.matrices || other.transposed != last.transposed)
      block.fail(Finding::Kind::collective, last.pc, spelt(kind, last), " meets lane ", lane, " in ",
                 spelt(kind, other));
  }
}

void count(Block& block, Warp& warp, Counted what) {
  const MatrixCall& call = call_of(warp, 0);
  const auto row = [&](int matrix, int j) {
    return block.shared().offset(call_of(warp, layout::ldmatrix_address_lane(matrix, j)).row);
  };
  block.counting()->instruction(what, block.self().warp, call.pc, tally_of_matrices(call.matrices, row));
}

template <class Row>
void each_row(Block& block, Warp& warp, bool write, Row row) {
  for (int matrix = 0; matrix < call_of(warp, 0).matrices; ++matrix)
    for (int j = 0; j < ROWS; ++j) {
      const int lane = layout::ldmatrix_address_lane(matrix, j);
      const MatrixCall& call = call_of(warp, lane);
      if (block.checking()) {
        const std::uint8_t w = block.self().warp;
        block.accessed(block.shared().offset(call.row), ROW_BYTES, write,
                       {std::uint16_t(w * LANES + lane), w, std::uint8_t(lane)}, call.pc);
      }
      row(matrix, j, call.row);
    }
}

void load(Block& block, Warp& warp, std::uint32_t) {
  check_same(block, warp, collective::ldmatrix);
  if (block.counting()) count(block, warp, Counted::ldmatrix);
  std::uint16_t held[4][ROWS][8];
  each_row(block, warp, false,
           [&](int matrix, int j, const std::byte* row) { std::memcpy(held[matrix][j], row, ROW_BYTES); });
  for (int lane = 0; lane < LANES; ++lane) {
    const MatrixCall& call = call_of(warp, lane);
    for (int matrix = 0; matrix < call.matrices; ++matrix) {
      const layout::Place low = layout::ldmatrix(lane, 0, call.transposed);
      const layout::Place high = layout::ldmatrix(lane, 1, call.transposed);
      call.registers[matrix] =
          unsigned(held[matrix][low.row][low.column]) | unsigned(held[matrix][high.row][high.column]) << 16;
    }
  }
}

void store(Block& block, Warp& warp, std::uint32_t) {
  check_same(block, warp, collective::stmatrix);
  if (block.counting()) count(block, warp, Counted::stmatrix);
  std::uint16_t held[4][ROWS][8];
  for (int lane = 0; lane < LANES; ++lane) {
    const MatrixCall& call = call_of(warp, lane);
    for (int matrix = 0; matrix < call.matrices; ++matrix)
      for (int e = 0; e < 2; ++e) {
        const layout::Place at = layout::ldmatrix(lane, e, call.transposed);
        held[matrix][at.row][at.column] = std::uint16_t(call.registers[matrix] >> (16 * e));
      }
  }
  each_row(block, warp, true, [&](int matrix, int j, std::byte* row) { std::memcpy(row, held[matrix][j], ROW_BYTES); });
}

}  // namespace

void ldmatrix(unsigned* registers, const half* row, int matrices, bool transposed) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  Block& block = *this_block();
  MatrixCall call{registers, reinterpret_cast<std::byte*>(const_cast<half*>(row)), matrices, transposed, pc};
  check_address(block, collective::ldmatrix, call);
  block.own_warp().payload[block.self().lane] = &call;
  block.meet(collective::ldmatrix, 0xFFFFFFFFu, load, pc);
}

void stmatrix(half* row, const unsigned* registers, int matrices, bool transposed) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  Block& block = *this_block();
  MatrixCall call{const_cast<unsigned*>(registers), reinterpret_cast<std::byte*>(row), matrices, transposed, pc};
  check_address(block, collective::stmatrix, call);
  block.own_warp().payload[block.self().lane] = &call;
  block.meet(collective::stmatrix, 0xFFFFFFFFu, store, pc);
}

}  // namespace lab::cpu
