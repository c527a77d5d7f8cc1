// atomicAdd on a float or a whole number. Blocks that run at once on several OS threads add in the order of these; with
// ExecOptions::workers = 1 the order is that of the blocks and their schedule.
#include <cuda_runtime.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "common/emulator/block.hpp"
#include "common/emulator/memory.hpp"

namespace lab::cpu {
namespace {

// atom.add.f32 on global memory takes subnormal numbers for zero, and rounds to zero what would be one; on shared memory
// it does not.
float flushed(float x) { return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }

// The checker hears of an atomic access; `after`: where the call that makes it returns to.
void told(const void* address, std::size_t bytes, const void* after) {
  Block* const block = this_block();
  if (!block || !block->checking()) return;
  if (block->shared().contains(address))
    block->shadow().atomic(block->shared().offset(address), bytes, block->thread_id(),
                           caller(const_cast<void*>(after)));
  else if (is_global(address))
    check_global(address, bytes, Touch::atomic, caller(const_cast<void*>(after)));
}

}  // namespace

[[gnu::noinline]] float atomic_add(float* address, float value) {
  told(address, sizeof(float), __builtin_return_address(0));
  Block* const block = this_block();
  if (block && block->shared().contains(address)) return std::exchange(*address, *address + value);
  std::atomic_ref<float> sum(*address);
  float before = sum.load(std::memory_order_relaxed);
  while (!sum.compare_exchange_weak(before, flushed(flushed(before) + flushed(value)), std::memory_order_relaxed)) {
  }
  return before;
}
[[gnu::noinline]] unsigned atomic_add(unsigned* address, unsigned value) {
  told(address, sizeof(unsigned), __builtin_return_address(0));
  return std::atomic_ref<unsigned>(*address).fetch_add(value, std::memory_order_relaxed);
}

}  // namespace lab::cpu
