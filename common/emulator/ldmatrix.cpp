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
std::string spelt(Collective kind, const MatrixCall& call) {
  return std::string(name(kind)) + ".x" + std::to_string(call.matrices) + (call.transposed ? ".trans" : "");
}

// Only lanes whose address is used are held to the rules.
void check_address(Block& block, Collective kind, const MatrixCall& call) {
  if (block.self().lane >= ROWS * call.matrices) return;
  const auto what = [&] {
    return spelt(kind, call) + ": the row that lane " + std::to_string(block.self().lane) + " points to";
  };
  if (!block.shared().contains(call.row))
    block.fail(cudaErrorIllegalAddress, Finding::Kind::out_of_bounds, what() + " does not lie in shared memory",
               call.pc);
  if (const auto past = reinterpret_cast<std::uintptr_t>(call.row) % ROW_BYTES)
    block.fail(cudaErrorMisalignedAddress, Finding::Kind::misaligned,
               what() + ", " + block.shared().describe(block.shared().offset(call.row)) + ", is " +
                   std::to_string(past) + " bytes past a multiple of 16",
               call.pc);
}

// All lanes execute one instruction.
void check_same(Block& block, Warp& warp, Collective kind) {
  const MatrixCall& last = call_of(warp, block.self().lane);
  for (int lane = 0; lane < LANES; ++lane) {
    const MatrixCall& other = call_of(warp, lane);
    if (other.matrices != last.matrices || other.transposed != last.transposed)
      block.fail(cudaErrorLaunchFailure, Finding::Kind::collective,
                 spelt(kind, last) + " meets lane " + std::to_string(lane) + " in " + spelt(kind, other), last.pc);
  }
}

// Each 8x8 takes the banks for itself: its rows are served together.
void count(Block& block, Warp& warp, Counted what) {
  const MatrixCall& call = call_of(warp, 0);
  Tally tally;
  tally.instructions = 1, tally.lanes = LANES;
  for (int matrix = 0; matrix < call.matrices; ++matrix) {
    std::uint64_t address[LANES] = {};
    for (int j = 0; j < ROWS; ++j)
      address[j] = block.shared().offset(call_of(warp, layout::ldmatrix_address_lane(matrix, j)).row);
    tally.bytes += ROWS * ROW_BYTES;
    tally.wavefronts += shared_wavefronts((1u << ROWS) - 1, address, ROW_BYTES);
    ++tally.least;
  }
  tally.unavoidable = tally.wavefronts;
  block.counting()->instruction(what, block.self().warp, call.pc, tally);
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
  check_same(block, warp, Collective::ldmatrix);
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
  check_same(block, warp, Collective::stmatrix);
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
  check_address(block, Collective::ldmatrix, call);
  block.own_warp().payload[block.self().lane] = &call;
  block.meet(Collective::ldmatrix, 0xFFFFFFFFu, load, pc);
}

void stmatrix(half* row, const unsigned* registers, int matrices, bool transposed) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  Block& block = *this_block();
  MatrixCall call{const_cast<unsigned*>(registers), reinterpret_cast<std::byte*>(row), matrices, transposed, pc};
  check_address(block, Collective::stmatrix, call);
  block.own_warp().payload[block.self().lane] = &call;
  block.meet(Collective::stmatrix, 0xFFFFFFFFu, store, pc);
}

}  // namespace lab::cpu
