// Rendezvous of a warp's lanes: how they meet and end, what the last lane computes, and the checks that each lane makes
// before it joins.
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

void count_votes(Block&, Warp& warp, std::uint32_t mask) {
  std::uint32_t votes = 0;
  for_lanes(mask, [&](int lane) { votes |= warp.in[lane] << lane; });
  for_lanes(mask, [&](int lane) { warp.out[lane] = votes; });
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

std::string with_mask(const Collective& kind, std::uint32_t mask) {
  return joined(kind.name, " with mask 0x", std::hex, mask);
}

inline __attribute__((always_inline)) float reduce(const Collective& kind, unsigned mask, float value,
                                                   Complete complete, std::uintptr_t pc) {
  Block& block = *this_block();
  if (mask != 0xFFFFFFFFu) block.fail(Finding::Kind::collective, pc, kind.name, " needs all 32 lanes");
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
      collective::syncwarp, mask,
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
  const Collective& collective = collective::shuffles[int(kind)];
  if (width < 1 || width > LANES || (width & (width - 1)))
    block.fail(Finding::Kind::collective, pc, collective.name, " with width ", width,
               "; it must be 1, 2, 4, 8, 16 or 32");
  const int source = source_lane(kind, lane, operand, width);
  if (!(mask >> source & 1))
    block.fail(Finding::Kind::collective, pc, collective.name, " reads lane ", source,
               ", which its mask does not name");
  warp.in[lane] = value, warp.operand[lane] = source;
  block.meet(collective, mask, move_values, pc);
  if (warp.operand[lane] >= LEFT && block.checking()) [[unlikely]]
    block.report(Finding::Kind::collective, {}, {pc, block.self().warp, lane}, [&] {
      return joined(collective.name, " reads lane ", source,
                    ", which has returned or does not exist: the value is undefined");
    });
  return warp.out[lane];
}

unsigned vote(Vote kind, unsigned mask, bool predicate) {
  Block& block = *this_block();
  Warp& warp = block.own_warp();
  const int lane = block.self().lane;
  warp.in[lane] = predicate;
  block.meet(collective::votes[int(kind)], mask, count_votes, caller(__builtin_return_address(0)));
  return warp.out[lane];
}

float butterfly_sum(unsigned mask, float value) {
  return reduce(collective::sum, mask, value, add_all, caller(__builtin_return_address(0)));
}
float butterfly_max(unsigned mask, float value) {
  return reduce(collective::max, mask, value, largest_of_all, caller(__builtin_return_address(0)));
}

bool spelled_out() { return this_block()->spelled_out(); }

void trap() { this_block()->fail(Finding::Kind::fault, caller(__builtin_return_address(0)), "__trap"); }

void async_copy(void* shared, const void* global, std::size_t bytes, std::size_t zero_fill) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  Block& block = *this_block();
  const auto to = std::uintptr_t(shared), from = std::uintptr_t(global);
  if (bytes != 4 && bytes != 8 && bytes != 16)
    block.fail(cudaErrorInvalidValue, Finding::Kind::misaligned,
               joined("cp.async of ", bytes, " bytes; it copies 4, 8 or 16"), pc);
  if (zero_fill > bytes)
    block.fail(cudaErrorInvalidValue, Finding::Kind::misaligned, "cp.async zero-fills more than it copies", pc);
  if (!block.shared().contains(shared))
    block.fail(Finding::Kind::out_of_bounds, pc, "cp.async to an address outside shared memory");
  if (to % bytes || from % bytes)
    block.fail(Finding::Kind::misaligned, pc, "misaligned address: cp.async of ", bytes, " bytes ",
               to % bytes ? "to " + block.shared().describe(block.shared().offset(shared)) : "from global memory", ", ",
               to % bytes ? to % bytes : from % bytes, " past a multiple of ", bytes);
  block.copy_issue({shared, global, std::uint32_t(bytes), std::uint32_t(zero_fill), 0, pc});
}
void async_commit() { this_block()->copy_commit(); }
void async_wait(unsigned groups_left) { this_block()->copy_wait(groups_left); }

// Two rendezvous that each need a lane of the other can never be complete.
static bool crosses(const Rendezvous& open, const Collective& kind, std::uint32_t mask, int lane) {
  return (open.mask != mask || open.kind != &kind) && (open.mask >> lane & 1) && (mask & open.arrived);
}

// --- warp collectives: what meet() does for the first lane that comes, and what it says when it refuses ---------

Rendezvous& Block::meeting_of(const Collective& kind, std::uint32_t mask, Complete complete, std::uintptr_t pc) {
  const int lane = current_->lane;
  Warp& warp = own_warp();
  if (!(mask >> lane & 1) || (mask & warp.exited)) refuse(kind, mask, pc);
  Rendezvous* meeting = nullptr;
  for (int i = 0; i < warp.open; ++i) {
    Rendezvous& open = warp.meeting[i];
    if (open.mask == mask && open.kind == &kind)
      meeting = &open;
    else if (crosses(open, kind, mask, lane))
      refuse(kind, mask, pc);
  }
  if (!meeting) {
    meeting = &warp.meeting[warp.open++];
    *meeting = {mask, 0, &kind, pc, complete};
  }
  return *meeting;
}

// CUDA C++ Programming Guide, warp functions: all non-exited threads named in the mask must execute the same one.
void Block::leave_meetings(Warp& warp, std::uint32_t lane) {
  for (int i = warp.open - 1; i >= 0; --i) {
    Rendezvous& meeting = warp.meeting[i];
    if (!(meeting.mask & lane)) continue;
    if (meeting.kind->kind != Collective::with_mask)
      fail(Finding::Kind::collective, 0, "returned while lanes ", lanes_text(meeting.arrived), " wait for it in ",
           with_mask(*meeting.kind, meeting.mask));
    meeting.mask &= ~lane;
    if (meeting.arrived == meeting.mask) end_meeting(warp, meeting);
  }
}

void Block::end_meeting(Warp& warp, Rendezvous& meeting) {
  const std::uint32_t mask = meeting.mask;
  if (counting_) [[unlikely]]
    count_meeting(*meeting.kind, mask, meeting.pc);
  meeting.complete(*this, warp, mask);
  meeting = warp.meeting[--warp.open];
  make_ready(current_->warp, mask);
}

// PTX ISA, of .aligned: all threads of the warp must execute the same instruction, and in conditional code must agree
// on the condition. That lanes come to it at different times is no fault: .sync, bar and barrier.cluster make each wait
// for the others of its warp (ptxas writes WARPSYNC where it cannot prove that they stand together).
void Block::check_aligned(const Rendezvous& meeting, std::uintptr_t pc) {
  if (meeting.kind->kind != Collective::aligned || !different_lines(pc, meeting.pc)) return;
  report(Finding::Kind::collective, {meeting.pc, current_->warp, __builtin_ctz(meeting.arrived)},
         {pc, current_->warp, current_->lane}, [&] {
           return joined(meeting.kind->name,
                         " is .aligned, and lanes of one warp come to it on different lines: they must execute the "
                         "same one");
         });
}

void Block::refuse(const Collective& kind, std::uint32_t mask, std::uintptr_t pc) {
  const Fiber& fiber = *current_;
  const Warp& warp = warps_[fiber.warp];
  std::string why;
  if (!(mask >> fiber.lane & 1)) {
    why = ", which does not name the calling lane";
  } else if (mask & warp.exited) {
    why = ", which names lanes that have returned or do not exist: " + lanes_text(mask & warp.exited);
  } else {
    for (int i = 0; i < warp.open; ++i)
      if (const Rendezvous& open = warp.meeting[i]; crosses(open, kind, mask, fiber.lane))
        why = " meets lanes " + lanes_text(mask & open.arrived) + " in " + with_mask(*open.kind, open.mask);
  }
  fail(Finding::Kind::collective, pc, with_mask(kind, mask), why);
}

}  // namespace lab::cpu
