// cp.async.bulk and cp.async.bulk.tensor on the CPU: what may be asked for, and where a box's bytes go.
#include <algorithm>
#include <cstring>

#include "common/cpu/instructions.h"
#include "common/emulator/block.hpp"
#include "common/emulator/cluster_access.hpp"
#include "common/emulator/memory.hpp"
#include "common/wgmma_layout.hpp"

namespace lab::cpu {
namespace {

constexpr int SWIZZLED = 16;  // bytes that a swizzle moves together, and that a box's first column is a multiple of

std::uint32_t rows_of(const TensorShape& shape) {
  std::uint32_t rows = 1;
  for (int d = 1; d < shape.rank; ++d) rows *= shape.box[d];
  return rows;
}
// Bytes in shared memory from one row of a box to the next: under a swizzle as much as that spans, however short the
// rows are (seen on an H200).
std::uint32_t row_pitch(const TensorShape& shape) {
  return shape.swizzle == Swizzle::none ? shape.box[0] * std::uint32_t(sizeof(half))
                                        : std::uint32_t(swizzle_bytes(shape.swizzle));
}

// One row of a box: `bytes` bytes at global address `from`, of which [begin, end) lie inside the tensor.
struct Row {
  std::byte* global;
  std::size_t bytes, begin, end;
};

void move_row(const BulkCopy& copy, const Row& row, std::size_t window, std::size_t linear) {
  const auto place = [&](std::size_t at) {
    const auto address = std::uint32_t(window + at);
    return copy.shared + (wgmma_layout::swizzled(address, swizzle_bytes(copy.map.shape.swizzle)) - window);
  };
  for (std::size_t chunk = 0; chunk < row.bytes; chunk += SWIZZLED) {
    std::byte* shared = place(linear + chunk);
    const std::size_t begin = std::clamp(row.begin, chunk, chunk + SWIZZLED) - chunk;
    const std::size_t end = std::clamp(row.end, chunk, chunk + SWIZZLED) - chunk;
    if (copy.store) {
      if (begin < end) std::memcpy(row.global + chunk + begin, shared + begin, end - begin);
      continue;
    }
    if (end - begin < SWIZZLED) std::memset(shared, 0, SWIZZLED);
    if (begin < end) std::memcpy(shared + begin, row.global + chunk + begin, end - begin);
  }
}

// Calls row(Row, linear place in the box) for each row of the box.
template <class Each>
void each_row(const BulkCopy& copy, Each each) {
  const TensorShape& shape = copy.map.shape;
  const std::int64_t inner = shape.box[0], extent = std::int64_t(shape.extent[0]), x = copy.at[0];
  const auto clip = [&](std::int64_t element) {
    return std::size_t(std::clamp<std::int64_t>(element - x, 0, inner)) * sizeof(half);
  };
  std::uint32_t index[MAX_TENSOR_RANK] = {};
  for (std::size_t linear = 0;; linear += row_pitch(shape)) {
    Row row{reinterpret_cast<std::byte*>(const_cast<half*>(copy.map.base)) + x * std::int64_t(sizeof(half)),
            std::size_t(inner) * sizeof(half), clip(0), std::max(clip(0), clip(extent))};
    for (int d = 1; d < shape.rank; ++d) {
      const std::int64_t at = std::int64_t(copy.at[d]) + index[d];
      if (at < 0 || at >= std::int64_t(shape.extent[d])) row.end = row.begin;
      row.global += at * std::int64_t(shape.stride[d]);
    }
    each(row, linear);
    int d = 1;
    while (d < shape.rank && ++index[d] == shape.box[d]) index[d++] = 0;
    if (d >= shape.rank) return;
  }
}

// Most refusals are an illegal instruction on a GPU.
template <class... Parts>
[[noreturn]] void refuse(std::uintptr_t pc, const Parts&... what) {
  this_block()->fail(cudaErrorIllegalInstruction, Finding::Kind::out_of_bounds, joined(what...), pc);
}

// "cp.async.bulk.tensor.2d".
std::string spelt(int rank) { return rank ? joined("cp.async.bulk.tensor.", rank, "d") : "cp.async.bulk"; }

void check_shared(const BulkCopy& copy, int rank) {
  Block& block = *this_block();
  const std::string what = spelt(rank) + (copy.store ? " from " : " to ");
  if (!block.shared().contains(copy.shared) ||
      block.shared().offset(copy.shared) + copy.footprint > SharedMemory::ARENA)
    block.fail(Finding::Kind::out_of_bounds, copy.pc, what, "an address outside shared memory");
  const std::size_t align = rank ? 128 : 16;
  if (const std::size_t past = block.shared().window_address(copy.shared) % align)
    block.fail(Finding::Kind::misaligned, copy.pc, "misaligned address: ", what,
               block.shared().describe(block.shared().offset(copy.shared)), ", ", past, " bytes past a multiple of ",
               align);
}

// Where a box may begin; anything else is an illegal instruction (seen on an H200).
void check_start(const BulkCopy& copy, int rank) {
  const auto at = [&](int d) { return joined(" at ", copy.at[d], " of dimension ", d); };
  if (copy.at[0] * std::int64_t(sizeof(half)) % SWIZZLED)
    refuse(copy.pc, spelt(rank), at(0), "; a multiple of 8 halves, 16 bytes, is allowed");
  for (int d = 0; copy.store && d < rank; ++d)
    if (copy.at[d] < 0) refuse(copy.pc, spelt(rank), " stores", at(d), "; 0 and more is allowed");
}

// Sectors: those of the box that lie inside the tensor.
void count(const BulkCopy& copy) {
  Block& block = *this_block();
  if (!block.counting()) return;
  constexpr std::uint64_t SECTOR = 32;
  Tally tally;
  tally.instructions = tally.lanes = 1, tally.bytes = copy.bytes;
  if (!copy.tensor)
    tally.sectors = copy.bytes / SECTOR;
  else
    each_row(copy, [&](const Row& row, std::size_t) {
      if (row.begin >= row.end) return;
      const auto first = std::uintptr_t(row.global);
      tally.sectors += (first + row.end - 1) / SECTOR - (first + row.begin) / SECTOR + 1;
    });
  block.counting()->instruction(copy.store ? Counted::tma_store : Counted::tma_load, block.self().warp, copy.pc, tally);
}

BulkCopy box_copy(bool store, void* shared, const Box& box, std::uintptr_t pc) {
  BulkCopy copy;
  copy.store = store, copy.tensor = true, copy.shared = static_cast<std::byte*>(shared), copy.map = *box.map,
  copy.pc = pc;
  const TensorShape& shape = copy.map.shape;
  if (!shape.box[0] || shape.rank != box.rank)
    refuse(pc, spelt(box.rank),
           shape.box[0] ? joined(" with the map of a ", shape.rank, "-D tensor")
                        : " with a map that cuTensorMapEncodeTiled has not made");
  std::copy_n(box.at.begin(), box.rank, copy.at);
  copy.bytes = rows_of(shape) * shape.box[0] * std::uint32_t(sizeof(half));
  copy.footprint = rows_of(shape) * row_pitch(shape);
  check_shared(copy, box.rank);
  check_start(copy, box.rank);
  count(copy);
  Block& block = *this_block();
  if (block.checking())
    each_row(copy, [&](const Row& row, std::size_t) {
      if (row.begin < row.end) check_global(row.global + row.begin, row.end - row.begin, store, pc);
    });
  return copy;
}

BulkCopy contiguous(bool store, void* shared, void* global, unsigned bytes, std::uintptr_t pc) {
  BulkCopy copy;
  copy.store = store, copy.shared = static_cast<std::byte*>(shared), copy.global = static_cast<std::byte*>(global);
  copy.bytes = copy.footprint = bytes, copy.pc = pc;
  Block& block = *this_block();
  if (bytes == 0 || bytes % SWIZZLED)
    block.fail(Finding::Kind::misaligned, pc, "cp.async.bulk of ", bytes, " bytes; a multiple of 16 is allowed");
  if (const auto past = std::uintptr_t(global) % SWIZZLED)
    block.fail(Finding::Kind::misaligned, pc, "misaligned address: cp.async.bulk with a global address ", past,
               " bytes past a multiple of 16");
  check_shared(copy, 0);
  count(copy);
  if (block.checking()) check_global(global, bytes, store, pc);
  return copy;
}

}  // namespace

void move_box(const BulkCopy& copy, std::size_t window_address) {
  if (!copy.tensor) {
    std::memcpy(copy.store ? copy.global : copy.shared, copy.store ? copy.shared : copy.global, copy.bytes);
    return;
  }
  each_row(copy, [&](const Row& row, std::size_t linear) { move_row(copy, row, window_address, linear); });
}

// --- the PTX wrappers' entry points ---------------------------------------------------------------------------

void tma_load(void* shared, const Box& box, void* barrier) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  BulkCopy copy = box_copy(false, shared, box, pc);
  copy.mbarrier = this_block()->mbarriers().find(barrier, spelt(box.rank).c_str(), pc);
  this_block()->engine().issue(copy);
}

void tma_load_multicast(void* shared, const Box& box, void* barrier, std::uint16_t blocks) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  Block& own = *this_block();
  own.switch_point(pc);
  const std::string instruction = spelt(box.rank) + ".multicast::cluster";
  const BulkCopy load = box_copy(false, shared, box, pc);
  const std::size_t place = own.shared().offset(shared);
  if (!blocks || !own.shared().contains(barrier))
    own.fail(Finding::Kind::cluster, pc, instruction,
             blocks ? " with an mbarrier outside shared memory" : " to no block");
  std::vector<std::pair<Reached, BulkCopy>> copies;  // all are checked before any is issued
  for (unsigned to = 0; to < 16; ++to) {
    if (!(blocks >> to & 1)) continue;
    const Reached reached = reach(to, instruction.c_str(), true, pc);
    BulkCopy copy = load;
    copy.shared = reached.target.shared().base() + place;
    copy.mbarrier = barrier_of(reached, own.shared().offset(barrier), instruction.c_str(), pc);
    copies.emplace_back(reached, copy);
  }
  for (const auto& [reached, copy] : copies) reached.target.engine().issue_from(reached.thread, copy);
}

void tma_store(const Box& box, const void* shared) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  this_block()->engine().issue(box_copy(true, const_cast<void*>(shared), box, pc));
}

void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  BulkCopy copy = contiguous(false, shared, const_cast<void*>(global), bytes, pc);
  copy.mbarrier = this_block()->mbarriers().find(barrier, "cp.async.bulk", pc);
  this_block()->engine().issue(copy);
}

void bulk_store(void* global, const void* shared, unsigned bytes) {
  this_block()->engine().issue(
      contiguous(true, const_cast<void*>(shared), global, bytes, caller(__builtin_return_address(0))));
}

void bulk_commit() { this_block()->engine().commit(); }
void bulk_wait(unsigned groups_left, bool) {  // a store reads and writes at once
  this_block()->engine().wait(groups_left, caller(__builtin_return_address(0)));
}

void fence_proxy_async() {
  Block& block = *this_block();
  if (block.checking()) block.shadow().fence_proxy_async(block.thread_id());
}

}  // namespace lab::cpu
