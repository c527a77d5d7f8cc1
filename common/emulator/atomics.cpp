// Atomics and fences. Blocks that run at once on several OS threads add in the order of these; with ExecOptions::workers = 1
// the order is that of the blocks and their schedule.
#include <cuda_runtime.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "common/emulator/block.hpp"
#include "common/emulator/memory.hpp"

namespace lab::cpu {
namespace {

// atom.add.f32 on global memory takes subnormal numbers for zero, and rounds to zero what would be one; on shared memory
// it does not.
float flushed(float x) { return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }

// The checker hears of an atomic access.
void told(Block& block, Atomic operation, const GlobalAccess& access) {
  if (!block.shared().contains(access.address)) {
    check_global(access);
    return;
  }
  const std::size_t offset = block.shared().offset(access.address);
  block.shadow().atomic(offset, access.bytes, block.thread_id(), access.pc, operation != Atomic::exchange);
  HandOrder& order = block.shadow().by_hand;
  std::uint32_t& word = order.shared_word(offset);
  order.release(block.thread_id(), word, true, access.scope);
  order.load(block.thread_id(), access.address, word);
}

template <class T>
T result(Atomic operation, T before, T operand, T compared, bool flushes) {
  switch (operation) {
    case Atomic::add:
      if constexpr (std::is_same_v<T, float>)
        if (flushes) return flushed(flushed(before) + flushed(operand));
      if constexpr (std::is_integral_v<T>) return T(std::make_unsigned_t<T>(before) + std::make_unsigned_t<T>(operand));
      return before + operand;
    case Atomic::exchange:
      return operand;
    case Atomic::compare:
      return before == compared ? operand : before;
    case Atomic::min:
      return operand < before ? operand : before;
    case Atomic::max:
      return operand > before ? operand : before;
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) switch (operation) {
      case Atomic::subtract:
        return T(std::make_unsigned_t<T>(before) - std::make_unsigned_t<T>(operand));
      case Atomic::bit_and:
        return before & operand;
      case Atomic::bit_or:
        return before | operand;
      case Atomic::bit_xor:
        return before ^ operand;
      case Atomic::increment:
        return before >= operand ? 0 : before + 1;
      case Atomic::decrement:
        return before == 0 || before > operand ? operand : before - 1;
      default:
        break;
    }
  return before;
}

}  // namespace

template <class T>
[[gnu::noinline]] T atomic(Atomic operation, T* address, T operand, T compared, Scope scope) {
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  Block* const block = this_block();
  T before, after;
  {
    std::optional<RuntimeCall> call;
    if (block) call.emplace(*block, pc);
    if (block && block->checking())
      told(*block, operation, {address, sizeof(T), Touch::atomic, pc, false, scope, operation != Atomic::exchange});
    const Attributed to(pc);
    std::atomic_ref<T> word(*address);
    before = word.load(std::memory_order_relaxed);
    do {
      after = result(operation, before, operand, compared, is_global(address));
    } while (!word.compare_exchange_weak(before, after, std::memory_order_relaxed));
  }
  if (block && std::memcmp(&before, &after, sizeof after) == 0) block->polled(address, sizeof(T), pc);
  return before;
}
template int atomic(Atomic, int*, int, int, Scope);
template unsigned atomic(Atomic, unsigned*, unsigned, unsigned, Scope);
template unsigned long long atomic(Atomic, unsigned long long*, unsigned long long, unsigned long long, Scope);
template float atomic(Atomic, float*, float, float, Scope);
template double atomic(Atomic, double*, double, double, Scope);

[[gnu::noinline]] void thread_fence(Scope scope) {
  Block* const block = this_block();
  if (!block || !block->checking()) return;
  const RuntimeCall call(*block, caller(__builtin_return_address(0)));
  block->shadow().by_hand.fence(block->thread_id(), scope);
}

}  // namespace lab::cpu
