// The path from a collective to the next fiber. All of it is inlined into the function that the kernel calls:
// a Boost.Context switch ends in a jump, not a return, so every return after it is mispredicted, and each call on
// the path would cost about as much as the switch itself.
#pragma once
#include <bit>

#include <boost/context/detail/fcontext.hpp>

#include "common/emulator/block.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace lab::cpu {

inline std::uint64_t next_random(std::uint64_t& state) {  // xorshift64*
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return state * 0x2545F4914F6CDD1Dull;
}

// One time in `sides`.
inline bool dice(std::uint64_t& state, unsigned sides) { return (next_random(state) >> 32) % sides == 0; }

// The first set bit at or after a place of the dice's choosing, around the end: not uniform, but any may come, and it
// takes two instructions where counting to the n-th set bit takes dozens.
inline int set_bit_from(std::uint32_t bits, unsigned dice) {
  const int from = int(dice & 31u);
  return (from + __builtin_ctz(std::rotr(bits, from))) & 31;
}

#define LAB_ON_PATH inline __attribute__((always_inline))

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
// Boost's switch saves the control words of the floating-point units too, which no kernel changes. Here the compiler
// saves the registers that are in use. No call and no return stand on the way: with a call that no return ever answers,
// the processor's return predictor would be one off after every switch, and wrong at every return.
inline void* first_context(std::byte* stack, std::size_t bytes, void (*entry)()) {
  auto* top = reinterpret_cast<std::uintptr_t*>((std::uintptr_t(stack) + bytes) & ~std::uintptr_t(15));
  *--top = 0;  // where a caller's return address would lie: there is none
  *--top = std::uintptr_t(entry);
  return top;
}

LAB_ON_PATH void jump(Fiber& from, Fiber& to) {
  void** save = &from.context;
  void* stack = to.context;
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\t"  // leaves the red zone alone
      "push %%rbp\n\t"
      "lea 1f(%%rip), %%rax\n\t"
      "push %%rax\n\t"
      "mov %%rsp, (%[save])\n\t"
      "mov %[stack], %%rsp\n\t"
      "pop %%rax\n\t"
      "jmp *%%rax\n"
      "1:\tpop %%rbp\n\t"
      "lea 128(%%rsp), %%rsp"
      : [save] "+D"(save), [stack] "+S"(stack)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2",
        "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
        "cc", "memory");
}
#else
namespace ctx = boost::context::detail;

// Runs on every switch: the fiber that wakes notes where the one before it stopped.
inline void woken(ctx::transfer_t from) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(this_block()->self().fake_stack, nullptr, nullptr);
#endif
  static_cast<Fiber*>(from.data)->context = from.fctx;
}

inline void* first_context(std::byte* stack, std::size_t bytes, void (*entry)()) {
  static void (*const body)() = entry;
  return ctx::make_fcontext(stack + bytes, bytes, [](ctx::transfer_t from) { woken(from), body(); });
}

LAB_ON_PATH void jump(Fiber& from, Fiber& to) { woken(ctx::jump_fcontext(to.context, &from)); }
#endif

LAB_ON_PATH void Block::switch_to(Fiber* next) {
  Fiber* self = current_;
  if (next == self) return;
  current_ = next;
  threadIdx = next->index;
  ++switches_;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(self->exited ? nullptr : &self->fake_stack, next->stack, next->stack_bytes);
#endif
  jump(*self, *next);
}

LAB_ON_PATH Fiber* Block::pick() {
  int warp = 0, lane = 0;
  switch (options_.schedule) {
    case Schedule::ascending:
      warp = __builtin_ctz(ready_warps_);
      lane = __builtin_ctz(warps_[warp].ready);
      break;
    case Schedule::descending:
      warp = 31 - __builtin_clz(ready_warps_);
      lane = 31 - __builtin_clz(warps_[warp].ready);
      break;
    case Schedule::leaders:
      lane = LANES;
      for (std::uint32_t ready = ready_warps_; ready; ready &= ready - 1)
        if (const int first = __builtin_ctz(warps_[__builtin_ctz(ready)].ready); first < lane)
          lane = first, warp = __builtin_ctz(ready);
      break;
    case Schedule::round_robin: {
      const std::uint32_t later = ready_warps_ & ~((2u << turn_) - 1u);
      warp = __builtin_ctz(later ? later : ready_warps_);
      lane = __builtin_ctz(warps_[warp].ready);
      turn_ = warp;
      break;
    }
    case Schedule::random: {
      const std::uint64_t dice = next_random(random_) >> 32;  // its high bits are the good ones
      warp = set_bit_from(ready_warps_, unsigned(dice));
      lane = set_bit_from(warps_[warp].ready, unsigned(dice >> 5));
      break;
    }
  }
  return &fibers_[warp * LANES + lane];
}

// The current fiber is marked as waiting, or not: whoever is next by the schedule runs, possibly itself.
LAB_ON_PATH void Block::wait_for_turn() {
  if (!ready_warps_) [[unlikely]]
    idle();
  switch_to(pick());
}

LAB_ON_PATH void Block::meet(const Collective& kind, std::uint32_t mask, Complete complete, std::uintptr_t pc) {
  switch_point(pc);
  Fiber& fiber = *current_;
  Warp& warp = warps_[fiber.warp];
  const std::uint32_t lane = 1u << fiber.lane;
  fiber.waits_at = pc;
  if (warp.exited && kind.kind == Collective::with_mask) mask &= ~warp.exited;
  Rendezvous* meeting = &warp.meeting[0];
  // Mostly the lanes before this one have opened the warp's only meeting. No lane of its mask has returned (leave()).
  if (warp.open != 1 || meeting->mask != mask || meeting->kind != &kind || !(mask & lane))
    meeting = &meeting_of(kind, mask, complete, pc);
  if (checking_ && meeting->pc != pc) [[unlikely]]
    check_aligned(*meeting, pc);
  meeting->arrived |= lane;
  make_waiting(fiber);
  if (meeting->arrived == mask) end_meeting(warp, *meeting);
  wait_for_turn();
}

#undef LAB_ON_PATH

}  // namespace lab::cpu
