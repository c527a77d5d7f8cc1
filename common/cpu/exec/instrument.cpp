// The other end of -fsanitize=thread. A checked kernel is compiled with that flag, which makes g++ call a function
// before every load and store; we define those functions ourselves, as Linux's KCSAN does, and never link the
// ThreadSanitizer runtime (it knows OS threads, not CUDA threads). checks/tests/test_checker.cpp pins this ABI.
#include <cstddef>
#include <cstdint>

#include "common/cpu/exec/block.hpp"
#include "common/cpu/exec/memory.hpp"

namespace {

using lab::cpu::Block;

inline __attribute__((always_inline)) void access(const void* address, std::size_t bytes, bool write,
                                                  void* return_address) {
  Block* block = lab::cpu::this_block();
  if (!block || !block->checking()) return;
  const std::uintptr_t pc = reinterpret_cast<std::uintptr_t>(return_address) - 1;
  if (block->shared().contains(address)) {
    const lab::cpu::Fiber& fiber = block->self();
    const lab::cpu::ThreadId thread{fiber.linear, fiber.warp, fiber.lane};
    const std::size_t offset = block->shared().offset(address);
    block->tell(write ? lab::ExecEvent::Kind::write : lab::ExecEvent::Kind::read, offset, bytes, pc);
    if (write)
      block->shadow().write(offset, bytes, thread, pc);
    else
      block->shadow().read(offset, bytes, thread, pc);
  } else if (lab::cpu::is_global(address)) {
    lab::cpu::check_global(address, bytes, write, pc);
  }  // anything else is the fiber's stack or the program's own data
}

}  // namespace

// One line a callback: the compiler's ABI gives each size its own name.
#define LAB_CALLBACK(bytes)                                                                            \
  void __tsan_read##bytes(void* a) { access(a, bytes, false, __builtin_return_address(0)); }           \
  void __tsan_write##bytes(void* a) { access(a, bytes, true, __builtin_return_address(0)); }           \
  void __tsan_unaligned_read##bytes(void* a) { access(a, bytes, false, __builtin_return_address(0)); } \
  void __tsan_unaligned_write##bytes(void* a) { access(a, bytes, true, __builtin_return_address(0)); } \
  void __tsan_volatile_read##bytes(void* a) { access(a, bytes, false, __builtin_return_address(0)); }  \
  void __tsan_volatile_write##bytes(void* a) { access(a, bytes, true, __builtin_return_address(0)); }

extern "C" {
LAB_CALLBACK(1)
LAB_CALLBACK(2)
LAB_CALLBACK(4)
LAB_CALLBACK(8)
LAB_CALLBACK(16)
void __tsan_read_range(void* a, std::size_t n) { access(a, n, false, __builtin_return_address(0)); }
void __tsan_write_range(void* a, std::size_t n) { access(a, n, true, __builtin_return_address(0)); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

// Atomic operations on shared memory order nothing else, but they are no race with each other; no stage uses one
// yet, and a block runs on one OS thread, so a plain access is atomic here.
int __tsan_atomic32_fetch_add(volatile int* a, int value, int) {
  return __atomic_fetch_add(a, value, __ATOMIC_RELAXED);
}
unsigned char __tsan_atomic8_load(const volatile unsigned char* a, int) { return __atomic_load_n(a, __ATOMIC_ACQUIRE); }
int __tsan_atomic32_load(const volatile int* a, int) { return __atomic_load_n(a, __ATOMIC_ACQUIRE); }
void __tsan_atomic32_store(volatile int* a, int value, int) { __atomic_store_n(a, value, __ATOMIC_RELEASE); }
}
