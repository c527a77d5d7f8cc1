// The other end of -fsanitize=thread. A checked kernel is compiled with that flag, which makes g++ call a function
// before every load and store; we define those functions ourselves, as Linux's KCSAN does, and never link the
// ThreadSanitizer runtime (it knows OS threads, not CUDA threads). checks/tests/plain/memory/sizes.cu pins this ABI.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/emulator/block.hpp"
#include "common/emulator/memory.hpp"

namespace {

using lab::cpu::Block;

[[gnu::noinline]] void count(Block& block, const void* address, std::size_t bytes, bool write, void* return_address) {
  using lab::Counted;
  if (!block.running()) return;
  const lab::cpu::Fiber& fiber = block.self();
  const std::uintptr_t pc = lab::cpu::caller(return_address);
  const bool shared = block.shared().contains(address);
  if (!shared && !lab::cpu::is_global(address)) return;
  const std::uint64_t at = shared ? block.shared().offset(address) : std::uintptr_t(address);
  const Counted what = shared ? (write ? Counted::shared_store : Counted::shared_load)
                              : (write ? Counted::global_store : Counted::global_load);
  constexpr std::size_t WIDEST = 16;  // bytes that an instruction moves for a lane
  for (std::size_t done = 0; done < bytes; done += WIDEST)
    block.counting()->lane(what, fiber.warp, fiber.lane, pc, unsigned(std::min(WIDEST, bytes - done)), at + done);
}

// The kernel's types promise a multiple of `bytes`.
[[noreturn, gnu::noinline]] void misaligned(Block& block, const void* address, std::size_t bytes, bool write,
                                            std::uintptr_t pc) {
  block.fail(lab::Finding::Kind::misaligned, pc, "misaligned address: ", write ? "write" : "read", " of ", bytes,
             " bytes at ",
             block.shared().contains(address) ? block.shared().describe(block.shared().offset(address))
                                              : lab::cpu::describe_global(address),
             ", no multiple of ", bytes);
}

void volatile_shared(Block& block, std::size_t offset, const void* address, bool write) {
  lab::cpu::HandOrder& order = block.shadow().by_hand;
  if (write)
    order.release(block.thread_id(), order.shared_word(offset), false, lab::cpu::Scope::block);
  else
    order.load(block.thread_id(), address, order.shared_word(offset));
}

enum How { plain, unaligned, volatile_ };

// One of these for all callbacks, for it is long.
[[gnu::noinline]] void observe(Block& block, const void* address, std::size_t bytes, bool write, How how,
                               void* return_address) {
  if (block.counting()) count(block, address, bytes, write, return_address);
  if (!block.checking() && how != volatile_) return;
  const std::uintptr_t pc = lab::cpu::caller(return_address);
  using lab::cpu::Touch;
  const bool shared = block.shared().contains(address);
  bool seen = true;  // it lies where memory may be touched
  if (block.checking()) {
    const lab::cpu::RuntimeCall call(block, pc);
    const lab::cpu::GlobalAccess made{address, bytes, write ? Touch::write : Touch::read, pc, how == volatile_};
    if (shared) {
      block.accessed(block.shared().offset(address), bytes, write, block.thread_id(), pc);
      if (how == volatile_) volatile_shared(block, block.shared().offset(address), address, write);
    } else {
      seen = lab::cpu::check_global(made);
    }
    if (how != unaligned && (std::uintptr_t(address) & (bytes - 1)) && seen) [[unlikely]]
      misaligned(block, address, bytes, write, pc);
  }
  if (how == volatile_ && !write && seen && bytes <= 8) block.polled(address, bytes, pc);
}

[[gnu::noinline]] void touch_register(Block& block, const void* address, std::size_t bytes, bool write,
                                      std::uintptr_t pc) {
  const lab::cpu::RuntimeCall call(block, pc);
  block.warpgroups().touched(address, bytes, write, pc);
}

// Most accesses are of launches without a checker and counters, or to registers, which lie on the stack.
inline __attribute__((always_inline)) void access(const void* address, std::size_t bytes, bool write, How how,
                                                  void* return_address) {
  Block* const block = how == volatile_ ? lab::cpu::this_block() : lab::cpu::observed_block;
  if (!block) [[likely]]
    return;
  if (!block->checking() || !block->on_stack(address))
    observe(*block, address, bytes, write, how, return_address);
  else if (block->warpgroups().watches(block->self().warp))
    touch_register(*block, address, bytes, write, lab::cpu::caller(return_address));
}

}  // namespace

bool lab::cpu::instrumented = false;

// One line a callback: the compiler's ABI gives each size its own name.
#define LAB_CALLBACK(bytes)                                                                                       \
  void __tsan_read##bytes(void* a) { access(a, bytes, false, plain, __builtin_return_address(0)); }               \
  void __tsan_write##bytes(void* a) { access(a, bytes, true, plain, __builtin_return_address(0)); }               \
  void __tsan_unaligned_read##bytes(void* a) { access(a, bytes, false, unaligned, __builtin_return_address(0)); } \
  void __tsan_unaligned_write##bytes(void* a) { access(a, bytes, true, unaligned, __builtin_return_address(0)); } \
  void __tsan_volatile_read##bytes(void* a) { access(a, bytes, false, volatile_, __builtin_return_address(0)); }  \
  void __tsan_volatile_write##bytes(void* a) { access(a, bytes, true, volatile_, __builtin_return_address(0)); }

extern "C" {
LAB_CALLBACK(1)
LAB_CALLBACK(2)
LAB_CALLBACK(4)
LAB_CALLBACK(8)
LAB_CALLBACK(16)
void __tsan_read_range(void* a, std::size_t n) { access(a, n, false, unaligned, __builtin_return_address(0)); }
void __tsan_write_range(void* a, std::size_t n) { access(a, n, true, unaligned, __builtin_return_address(0)); }
void __tsan_vptr_update(void** a, void*) { access(a, sizeof *a, true, plain, __builtin_return_address(0)); }
void __tsan_vptr_read(void** a) { access(a, sizeof *a, false, plain, __builtin_return_address(0)); }
void __tsan_init() { lab::cpu::instrumented = true; }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
}

// Atomic operations: those of the host code in a kernel's file (the guard of a function-local static, which g++ loads
// as 8 bits on x86-64 and as 64 bits on arm64; the counts of a shared_ptr), and a kernel's own std::atomic, which no stage has (CUDA's are in
// atomics.cpp). They run as they are, in the strongest order, and the checker neither sees nor orders anything by them. Of 128 bits
// there is none.
#define LAB_FETCH(bits, Int, what)                                      \
  Int __tsan_atomic##bits##_fetch_##what(volatile Int* a, Int v, int) { \
    return __atomic_fetch_##what(a, v, __ATOMIC_SEQ_CST);               \
  }
#define LAB_ATOMICS(bits, Int)                                                                                \
  Int __tsan_atomic##bits##_load(const volatile Int* a, int) { return __atomic_load_n(a, __ATOMIC_SEQ_CST); } \
  void __tsan_atomic##bits##_store(volatile Int* a, Int v, int) { __atomic_store_n(a, v, __ATOMIC_SEQ_CST); } \
  Int __tsan_atomic##bits##_exchange(volatile Int* a, Int v, int) {                                           \
    return __atomic_exchange_n(a, v, __ATOMIC_SEQ_CST);                                                       \
  }                                                                                                           \
  LAB_FETCH(bits, Int, add)                                                                                   \
  LAB_FETCH(bits, Int, sub)                                                                                   \
  LAB_FETCH(bits, Int, and)                                                                                   \
  LAB_FETCH(bits, Int, or)                                                                                    \
  LAB_FETCH(bits, Int, xor)                                                                                   \
  bool __tsan_atomic##bits##_compare_exchange_strong(volatile Int* a, Int* expected, Int v, int, int) {       \
    return __atomic_compare_exchange_n(a, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);            \
  }                                                                                                           \
  bool __tsan_atomic##bits##_compare_exchange_weak(volatile Int* a, Int* expected, Int v, int, int) {         \
    return __atomic_compare_exchange_n(a, expected, v, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);             \
  }

extern "C" {
LAB_ATOMICS(8, unsigned char)
LAB_ATOMICS(16, unsigned short)
LAB_ATOMICS(32, unsigned)
LAB_ATOMICS(64, std::uint64_t)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}
}

// -fsanitize=bounds: an index outside of its array's dimension. The members of a struct of shared memory touch, and so do
// rows: the memory that such an access hits may well be the kernel's own.
namespace {
struct BoundsType {
  std::uint16_t kind, info;
  char name[];
};
struct BoundsData {
  const char* file;
  std::uint32_t line, column;
  const BoundsType *array, *index;
};
}  // namespace

extern "C" void __ubsan_handle_out_of_bounds(const BoundsData* data, std::uintptr_t index) {
  Block* const block = lab::cpu::this_block();
  if (!block || !block->running()) {
    std::fprintf(stderr, "%s:%u: index %ld is outside of %s\n", data->file, data->line, long(index), data->array->name);
    std::abort();
  }
  if (!block->checking()) return;
  lab::cpu::RawAccess access;
  access.pc = lab::cpu::caller(__builtin_return_address(0));
  access.warp = block->self().warp, access.lane = block->self().lane;
  block->report(lab::Finding::Kind::out_of_bounds, access, {},
                [&] { return lab::joined("index ", long(index), " is outside of ", data->array->name); });
}
