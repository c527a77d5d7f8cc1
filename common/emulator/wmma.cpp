// WMMA on the CPU: a 16x16x16 product is two of m16n8k16, with the bits of ExecOptions' tensor core.
#include <mma.h>

#include <cstring>

#include "common/emulator/block.hpp"
#include "common/emulator/memory.hpp"
#include "common/emulator/switch.hpp"
#include "common/emulator/tensor_core.hpp"
#include "common/emulator/unwritten.hpp"
#include "common/wmma_layout.hpp"

namespace lab::cpu {
namespace {

void nothing(Block&, Warp&, std::uint32_t) {}

// The rules of the CUDA guide: all lanes, a 256-bit aligned pointer, ldm a multiple of 16 bytes.
void check_rules(Block& block, const char* what, const void* matrix, unsigned ldm, unsigned multiple,
                 std::uintptr_t pc) {
  if (ldm % multiple)
    block.fail(cudaErrorLaunchFailure, Finding::Kind::misaligned,
               joined(what, ": ldm is ", ldm, "; it must be a multiple of ", multiple), pc);
  if (const auto past = std::uintptr_t(matrix) % 32)
    block.fail(Finding::Kind::misaligned, pc, what, ": the pointer is ", past, " bytes past a multiple of 32");
}

// The array of shared memory that a matrix begins in. Members of a struct touch: a matrix that leaves its own hits the
// kernel's own memory all the same.
const CarvedArray* array_of(Block& block, const void* matrix) {
  const SharedMemory& shared = block.shared();
  return block.checking() && shared.contains(matrix) ? shared.array_at(shared.offset(matrix)) : nullptr;
}

void note(Block& block, const CarvedArray* own, const void* address, std::size_t bytes, bool write, std::uintptr_t pc) {
  const SharedMemory& shared = block.shared();
  const std::size_t offset = own ? shared.offset(address) : 0;
  if (own && offset >= own->offset + own->bytes && shared.array_at(offset))
    block.report(
        Finding::Kind::out_of_bounds, {}, Shadow::access(block.thread_id(), pc, write),
        [&] { return std::string("of a matrix that begins in ") + own->name; }, shared.describe(offset));
  if (shared.contains(address))
    block.accessed(shared.offset(address), bytes, write, block.thread_id(), pc);
  else if (is_global(address))
    check_global(address, bytes, write, pc);
}

// Where element `held` (16 row + column) of a 16x16 matrix lies in memory.
unsigned at(unsigned held, unsigned ldm, bool column_major) {
  const unsigned row = held / 16, column = held % 16;
  return column_major ? column * ldm + row : row * ldm + column;
}

unsigned acc_held(const Block& block, int lane, int i) {
  return unsigned(block.fragments() == Fragments::measured ? wmma_layout::ACC_HELD[lane][i]
                                                           : wmma_layout::acc_held_other(lane, i));
}

template <class Sum>  // float or half
struct MmaCall {
  Sum* d;
  const half *a, *b;
  const Sum* c;
  std::uintptr_t pc;
};

template <class Sum>
void multiply(Block& block, Warp& warp, std::uint32_t) {
  const auto call = [&](int lane) -> const auto& { return *static_cast<const MmaCall<Sum>*>(warp.payload[lane]); };
  for (int lane = 0; block.checking() && lane < LANES; ++lane) {
    const int own = block.self().warp;
    check_written(block, own, lane, "a", call(lane).a, 8, call(lane).pc);
    check_written(block, own, lane, "b", call(lane).b, 8, call(lane).pc);
    check_written(block, own, lane, "c", call(lane).c, 8 * sizeof(Sum) / 4, call(lane).pc);
  }
  std::uint16_t bits_a[16][16], bits_b[2][16][8];
  float c[2][16][8];
  for (int lane = 0; lane < LANES; ++lane) {
    const MmaCall<Sum>& own = call(lane);
    for (int i = 0; i < 8; ++i) {
      const unsigned of_a = wmma_layout::A_ROW_HELD[lane][i], of_b = wmma_layout::B_HELD[lane][i];
      const unsigned of_c = acc_held(block, lane, i);
      bits_a[of_a / 16][of_a % 16] = own.a[i].bits;
      bits_b[of_b % 16 / 8][of_b / 16][of_b % 8] = own.b[i].bits;
      c[of_c % 16 / 8][of_c / 16][of_c % 8] = own.c[i];
    }
  }
  MmaA a;
  MmaB b;
  a.set(bits_a);
  for (int half = 0; half < 2; ++half) {  // on the hardware too: one m16n8k16 for each half of the columns
    b.set(bits_b[half]);
    mma_tile(a, b, c[half]);
  }
  block.tell(ExecEvent::Kind::product, 0, 0, 0);
  for (int lane = 0; lane < LANES; ++lane)
    for (int i = 0; i < 8; ++i) {
      const unsigned held = acc_held(block, lane, i);
      call(lane).d[i] = Sum(c[held % 16 / 8][held / 16][held % 8]);
    }
}

// A load of halves becomes one ldmatrix.x4: four 8x8 of 16-byte rows.
void count_matrix(Block& block, const half* matrix, unsigned ldm, std::uintptr_t pc) {
  if (!block.counting() || block.self().lane != 0 || !block.shared().contains(matrix)) return;
  const auto row = [&](int quarter, int j) {
    return block.shared().offset(matrix) + (unsigned(quarter % 2 * 8 + j) * ldm + quarter / 2 * 8) * sizeof(half);
  };
  block.counting()->instruction(Counted::wmma_load, block.self().warp, pc, tally_of_matrices(4, row));
}

// A lane's elements of an accumulator are pairs of neighbours in a row: four accesses of a pair where they are
// neighbours in memory too, else eight of an element.
template <class Sum>
void count_accumulator(Block& block, const Sum* matrix, unsigned ldm, bool column_major, bool write,
                       std::uintptr_t pc) {
  if (!block.counting() || block.self().lane != 0 || !block.shared().contains(matrix)) return;
  const int step = column_major ? 1 : 2;
  const unsigned bytes = unsigned(step) * unsigned(sizeof(Sum));
  Tally tally;
  for (int i = 0; i < 8; i += step) {
    std::uint64_t address[LANES];
    for (int lane = 0; lane < LANES; ++lane)
      address[lane] = block.shared().offset(matrix) + at(acc_held(block, lane, i), ldm, column_major) * sizeof(Sum);
    tally.instructions += 1, tally.lanes += LANES, tally.bytes += LANES * bytes;
    tally.wavefronts += shared_wavefronts(0xFFFFFFFFu, address, bytes);
    tally.least += least_wavefronts(0xFFFFFFFFu, bytes);
  }
  tally.unavoidable = tally.wavefronts;
  block.counting()->instruction(write ? Counted::shared_store : Counted::shared_load, block.self().warp, pc, tally);
}

// An accumulator's elements, one after the other: move(element in memory, element of the fragment).
template <class Number, class Move>
inline __attribute__((always_inline)) void move_accumulator(Number* matrix, unsigned ldm, bool column_major, bool write,
                                                            std::uintptr_t pc, Move move) {
  Block& block = *this_block();
  check_rules(block, write ? "wmma::store_matrix_sync" : "wmma::load_matrix_sync", matrix, ldm, 16 / sizeof(Number),
              pc);
  block.meet(write ? collective::wmma_store : collective::wmma_load, 0xFFFFFFFFu, nothing, pc);
  count_accumulator(block, matrix, ldm, column_major, write, pc);
  const CarvedArray* const own = array_of(block, matrix);
  for (int i = 0; i < 8; ++i) {
    Number* const element = matrix + at(acc_held(block, block.self().lane, i), ldm, column_major);
    if (block.checking()) note(block, own, element, sizeof(Number), write, pc);
    move(*element, i);
  }
}

}  // namespace

void wmma_load(bool is_a, half* fragment, const half* matrix, unsigned ldm, bool column_major) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  Block& block = *this_block();
  check_rules(block, "wmma::load_matrix_sync", matrix, ldm, 8, pc);
  block.meet(collective::wmma_load, 0xFFFFFFFFu, nothing, pc);
  count_matrix(block, matrix, ldm, pc);
  const auto& held = (is_a ? wmma_layout::A_ROW_HELD : wmma_layout::B_HELD)[block.self().lane];
  const CarvedArray* const own = array_of(block, matrix);
  for (int i = 0; i < 8; ++i) {
    const half* const element = matrix + at(held[i], ldm, column_major);
    if (block.checking()) note(block, own, element, sizeof(half), false, pc);
    fragment[i] = fragment[i + 8] = *element;
  }
}

template <class Sum>
void wmma_load(Sum* fragment, const Sum* matrix, unsigned ldm, bool column_major) {
  move_accumulator(matrix, ldm, column_major, false, caller(__builtin_return_address(0)),
                   [&](Sum element, int i) { fragment[i] = element; });
}

template <class Sum>
void wmma_store(Sum* matrix, const Sum* fragment, unsigned ldm, bool column_major) {
  move_accumulator(matrix, ldm, column_major, true, caller(__builtin_return_address(0)),
                   [&](Sum& element, int i) { element = fragment[i]; });
}

template <class Sum>
void wmma_mma(Sum* d, const half* a, const half* b, const Sum* c) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  Block& block = *this_block();
  MmaCall<Sum> call{d, a, b, c, pc};
  block.own_warp().payload[block.self().lane] = &call;
  block.meet(collective::wmma_mma, 0xFFFFFFFFu, multiply<Sum>, pc);
}

template void wmma_load(float*, const float*, unsigned, bool);
template void wmma_load(half*, const half*, unsigned, bool);
template void wmma_store(float*, const float*, unsigned, bool);
template void wmma_store(half*, const half*, unsigned, bool);
template void wmma_mma(float*, const half*, const half*, const float*);
template void wmma_mma(half*, const half*, const half*, const half*);

}  // namespace lab::cpu
