// Atomics on global and shared memory, and fences: the part of <cuda_runtime.h> that orders threads by hand. Each atomic
// also has the forms _block and _system; a device's scope is as good as the system's here.
#pragma once
#include <type_traits>

namespace lab::cpu {

enum class Scope : unsigned char { block, device };
enum class Atomic : unsigned char {
  add,
  subtract,
  exchange,
  compare,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  increment,
  decrement
};
// Returns what was there before. For int, unsigned, unsigned long long, float and double; `compared` is compare's.
template <class T>
T atomic(Atomic operation, T* address, T operand, T compared, Scope scope);
void thread_fence(Scope scope);

template <class T>
concept Countable = std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>;
template <class T>
concept Summable = Countable<T> || std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
concept Exchangeable = Countable<T> || std::is_same_v<T, float>;

}  // namespace lab::cpu

#define LAB_ATOMIC_IN(name, Type, operation, scope)                                                      \
  template <lab::cpu::Type T>                                                                            \
  __forceinline__ T name(T* address, std::type_identity_t<T> operand) {                                  \
    return lab::cpu::atomic(lab::cpu::Atomic::operation, address, operand, T{}, lab::cpu::Scope::scope); \
  }
#define LAB_ATOMIC(name, Type, operation)               \
  LAB_ATOMIC_IN(name, Type, operation, device)          \
  LAB_ATOMIC_IN(name##_system, Type, operation, device) \
  LAB_ATOMIC_IN(name##_block, Type, operation, block)
LAB_ATOMIC(atomicAdd, Summable, add)
LAB_ATOMIC(atomicSub, Countable, subtract)
LAB_ATOMIC(atomicExch, Exchangeable, exchange)
LAB_ATOMIC(atomicMin, Countable, min)
LAB_ATOMIC(atomicMax, Countable, max)
LAB_ATOMIC(atomicAnd, Countable, bit_and)
LAB_ATOMIC(atomicOr, Countable, bit_or)
LAB_ATOMIC(atomicXor, Countable, bit_xor)
LAB_ATOMIC(atomicInc, Countable, increment)
LAB_ATOMIC(atomicDec, Countable, decrement)
#undef LAB_ATOMIC
#undef LAB_ATOMIC_IN
#define LAB_ATOMIC_CAS(name, scope)                                                                       \
  template <lab::cpu::Countable T>                                                                        \
  __forceinline__ T name(T* address, std::type_identity_t<T> compared, std::type_identity_t<T> value) {   \
    return lab::cpu::atomic(lab::cpu::Atomic::compare, address, value, compared, lab::cpu::Scope::scope); \
  }
LAB_ATOMIC_CAS(atomicCAS, device)
LAB_ATOMIC_CAS(atomicCAS_system, device)
LAB_ATOMIC_CAS(atomicCAS_block, block)
#undef LAB_ATOMIC_CAS

__forceinline__ void __threadfence_block() { lab::cpu::thread_fence(lab::cpu::Scope::block); }
__forceinline__ void __threadfence() { lab::cpu::thread_fence(lab::cpu::Scope::device); }
__forceinline__ void __threadfence_system() { lab::cpu::thread_fence(lab::cpu::Scope::device); }
