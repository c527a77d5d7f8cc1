// The computation of the last lane of a rendezvous, and the checks that each lane makes before it joins.
#include <bit>
#include <cmath>
#include <cstring>

#include "common/emulator/block.hpp"
#include "common/emulator/switch.hpp"

namespace lab::cpu {
namespace {

int source_lane(Shuffle kind, int lane, int operand, int width) {
  operand &= 31;  // the instruction takes five bits of it
  const int first = lane & ~(width - 1), last = first + width - 1;
  switch (kind) {
    case Shuffle::index:
      return first + (operand & (width - 1));
    case Shuffle::up:
      return lane - operand < first ? lane : lane - operand;
    case Shuffle::down:
      return lane + operand > last ? lane : lane + operand;
    case Shuffle::exclusive_or:
      return (lane ^ operand) > last ? lane : lane ^ operand;
  }
  return lane;
}

template <class Each>
void for_lanes(std::uint32_t mask, Each each) {
  for (; mask; mask &= mask - 1) each(__builtin_ctz(mask));
}

constexpr int LEFT = LANES;  // added to the lane that a shuffle reads, if that has returned or does not exist

void move_values(Block&, Warp& warp, std::uint32_t mask) {
  for_lanes(mask, [&](int lane) {
    const int from = warp.operand[lane];
    warp.out[lane] = warp.in[from];
    if (!(mask >> from & 1)) warp.operand[lane] = from + LEFT;
  });
}

void count_votes(Block& block, Warp& warp, std::uint32_t mask) {
  std::uint32_t votes = 0;
  for_lanes(mask, [&](int lane) { votes |= warp.in[lane] << lane; });
  for_lanes(mask, [&](int lane) { warp.out[lane] = votes; });
  block.tell(ExecEvent::Kind::vote, 0, std::size_t(std::popcount(votes)), 0);
}

// The additions of the xor butterfly 16, 8, 4, 2, 1, in its order. Both partners of an exchange add the same two
// numbers, so one half of the butterfly gives what every lane would hold.
template <class Combine>
void butterfly(Warp& warp, Combine combine) {
  float value[LANES];
  std::memcpy(value, warp.in, sizeof value);
  for (int distance = 16; distance > 0; distance /= 2)
    for (int lane = 0; lane < distance; ++lane) value[lane] = combine(value[lane], value[lane + distance]);
  std::uint32_t bits;
  std::memcpy(&bits, value, sizeof bits);
  for (std::uint32_t& out : warp.out) out = bits;
}
void add_all(Block&, Warp& warp, std::uint32_t) {
  butterfly(warp, [](float a, float b) { return a + b; });
}
void largest_of_all(Block&, Warp& warp, std::uint32_t) {
  butterfly(warp, [](float a, float b) { return std::fmax(a, b); });
}

[[noreturn, gnu::noinline]] void needs_all_lanes(Collective kind, std::uintptr_t pc) {
  this_block()->fail(cudaErrorLaunchFailure, Finding::Kind::collective, std::string(name(kind)) + " needs all 32 lanes",
                     pc);
}

inline __attribute__((always_inline)) float reduce(Collective kind, unsigned mask, float value, Complete complete,
                                                   std::uintptr_t pc) {
  Block& block = *this_block();
  if (mask != 0xFFFFFFFFu) needs_all_lanes(kind, pc);
  Warp& warp = block.own_warp();
  const int lane = block.self().lane;
  std::memcpy(&warp.in[lane], &value, 4);
  block.meet(kind, mask, complete, pc);
  std::memcpy(&value, &warp.out[lane], 4);
  return value;
}

}  // namespace

void block_barrier() { this_block()->barrier(caller(__builtin_return_address(0))); }

void syncwarp(unsigned mask) {
  this_block()->meet(
      Collective::syncwarp, mask,
      [](Block& block, Warp&, std::uint32_t lanes) {
        block.tell(ExecEvent::Kind::sync, 0, 0, 0);
        if (block.checking()) block.shadow().sync_warp(block.self().warp, lanes);
      },
      caller(__builtin_return_address(0)));
}

// Not inlined into shuffle_as: the return address must be the kernel's.
std::uint32_t shuffle(Shuffle kind, unsigned mask, std::uint32_t value, int operand, int width) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  Block& block = *this_block();
  Warp& warp = block.own_warp();
  const int lane = block.self().lane;
  const auto collective = Collective(int(Collective::shuffle_index) + int(kind));
  if (width < 1 || width > LANES || (width & (width - 1)))
    block.fail(
        cudaErrorLaunchFailure, Finding::Kind::collective,
        std::string(name(collective)) + " with width " + std::to_string(width) + "; it must be 1, 2, 4, 8, 16 or 32",
        pc);
  const int source = source_lane(kind, lane, operand, width);
  if (!(mask >> source & 1))
    block.fail(
        cudaErrorLaunchFailure, Finding::Kind::collective,
        std::string(name(collective)) + " reads lane " + std::to_string(source) + ", which its mask does not name", pc);
  warp.in[lane] = value, warp.operand[lane] = source;
  block.meet(collective, mask, move_values, pc);
  if (warp.operand[lane] >= LEFT && block.checking()) [[unlikely]]
    block.report(Finding::Kind::collective, {}, {pc, block.self().warp, lane}, [&] {
      return std::string(name(collective)) + " reads lane " + std::to_string(source) +
             ", which has returned or does not exist: the value is undefined";
    });
  return warp.out[lane];
}

unsigned vote(Vote kind, unsigned mask, bool predicate) {
  Block& block = *this_block();
  Warp& warp = block.own_warp();
  const int lane = block.self().lane;
  warp.in[lane] = predicate;
  const auto collective = Collective(int(Collective::ballot) + int(kind));
  block.meet(collective, mask, count_votes, caller(__builtin_return_address(0)));
  return warp.out[lane];
}

float butterfly_sum(unsigned mask, float value) {
  return reduce(Collective::sum, mask, value, add_all, caller(__builtin_return_address(0)));
}
float butterfly_max(unsigned mask, float value) {
  return reduce(Collective::max, mask, value, largest_of_all, caller(__builtin_return_address(0)));
}

bool spelled_out() { return this_block()->spelled_out(); }

void trap() {
  this_block()->fail(cudaErrorLaunchFailure, Finding::Kind::fault, "__trap", caller(__builtin_return_address(0)));
}

void async_copy(void* shared, const void* global, std::size_t bytes, std::size_t zero_fill) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  Block& block = *this_block();
  const auto to = reinterpret_cast<std::uintptr_t>(shared), from = reinterpret_cast<std::uintptr_t>(global);
  if (bytes != 4 && bytes != 8 && bytes != 16)
    block.fail(cudaErrorInvalidValue, Finding::Kind::misaligned,
               "cp.async of " + std::to_string(bytes) + " bytes; it copies 4, 8 or 16", pc);
  if (zero_fill > bytes)
    block.fail(cudaErrorInvalidValue, Finding::Kind::misaligned, "cp.async zero-fills more than it copies", pc);
  if (!block.shared().contains(shared))
    block.fail(cudaErrorIllegalAddress, Finding::Kind::out_of_bounds, "cp.async to an address outside shared memory",
               pc);
  if (to % bytes || from % bytes)
    block.fail(cudaErrorMisalignedAddress, Finding::Kind::misaligned,
               "misaligned address: cp.async of " + std::to_string(bytes) + " bytes " +
                   (to % bytes ? "to " + block.shared().describe(block.shared().offset(shared)) + ", " +
                                     std::to_string(to % bytes)
                               : "from global memory, " + std::to_string(from % bytes)) +
                   " past a multiple of " + std::to_string(bytes),
               pc);
  block.copy_issue({shared, global, std::uint32_t(bytes), std::uint32_t(zero_fill), 0, pc});
}
void async_commit() { this_block()->copy_commit(); }
void async_wait(unsigned groups_left) { this_block()->copy_wait(groups_left); }

}  // namespace lab::cpu
