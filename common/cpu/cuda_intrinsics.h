// CUDA's device functions beyond those of the stages: bit operations, conversions, rounded arithmetic, cache-hinted
// loads, votes and reductions. A GPU's approximations that are not listed as bit-exact (writeups/check-your-kernel.md)
// are the C library's here.
#pragma once
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "cuda_vectors.h"

namespace lab::plain {
template <class A, class B>
concept MixedNumbers = std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && !std::is_same_v<A, B>;
int block_votes(bool yes);  // of all threads at a block barrier, those that say yes
unsigned active_lanes();    // of the warp: those that come here before any goes on
long long ticks();          // of a clock that every look advances
inline unsigned rank_in_block() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
inline int lane_of_thread() { return int(rank_in_block() % 32); }
}  // namespace lab::plain

template <class A, class B>
requires lab::plain::MixedNumbers<A, B> __forceinline__ auto max(A a, B b) {
  using C = std::common_type_t<A, B>;
  return C(a) > C(b) ? C(a) : C(b);
}
template <class A, class B>
requires lab::plain::MixedNumbers<A, B> __forceinline__ auto min(A a, B b) {
  using C = std::common_type_t<A, B>;
  return C(b) < C(a) ? C(b) : C(a);
}

// --- bits ----------------------------------------------------------------------------------------------------------
__forceinline__ int __float_as_int(float x) { return std::bit_cast<int>(x); }
__forceinline__ float __int_as_float(int x) { return std::bit_cast<float>(x); }
__forceinline__ long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
__forceinline__ double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
__forceinline__ int __double2hiint(double x) { return int(std::bit_cast<long long>(x) >> 32); }
__forceinline__ int __double2loint(double x) { return int(std::bit_cast<long long>(x)); }
__forceinline__ int __popc(unsigned x) { return std::popcount(x); }
__forceinline__ int __popcll(unsigned long long x) { return std::popcount(x); }
__forceinline__ int __clz(int x) { return std::countl_zero(unsigned(x)); }
__forceinline__ int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
__forceinline__ int __ffs(int x) { return __builtin_ffs(x); }
__forceinline__ int __ffsll(long long x) { return __builtin_ffsll(x); }
__forceinline__ unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
  return reversed;
}
__forceinline__ unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned selector = s >> 4 * i & 15;
    unsigned byte = unsigned(both >> 8 * (selector & 7)) & 255;
    if (selector & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}
__forceinline__ unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return unsigned(((static_cast<unsigned long long>(high) << 32 | low) << (by & 31)) >> 32);
}
__forceinline__ unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return unsigned((static_cast<unsigned long long>(high) << 32 | low) >> (by & 31));
}
__forceinline__ int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
__forceinline__ unsigned __umul24(unsigned a, unsigned b) { return (a & 0xFFFFFF) * (b & 0xFFFFFF); }
__forceinline__ int __mulhi(int a, int b) { return int(static_cast<long long>(a) * b >> 32); }
__forceinline__ unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned(static_cast<unsigned long long>(a) * b >> 32);
}
__forceinline__ int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) c += static_cast<signed char>(a >> 8 * i) * static_cast<signed char>(b >> 8 * i);
  return c;
}

// --- conversions and arithmetic ----------------------------------------------------------------------------------------
__forceinline__ int __float2int_rn(float x) { return int(std::nearbyint(x)); }
__forceinline__ int __float2int_rz(float x) { return int(x); }
__forceinline__ int __float2int_rd(float x) { return int(std::floor(x)); }
__forceinline__ int __float2int_ru(float x) { return int(std::ceil(x)); }
__forceinline__ unsigned __float2uint_rn(float x) { return x < 0 ? 0 : unsigned(std::nearbyint(x)); }
__forceinline__ unsigned __float2uint_rz(float x) { return x < 0 ? 0 : unsigned(x); }
__forceinline__ float __int2float_rn(int x) { return float(x); }
__forceinline__ float __uint2float_rn(unsigned x) { return float(x); }
__forceinline__ float __double2float_rn(double x) { return float(x); }
__forceinline__ int __double2int_rn(double x) { return int(std::nearbyint(x)); }
__forceinline__ float __fadd_rn(float a, float b) { return a + b; }
__forceinline__ float __fsub_rn(float a, float b) { return a - b; }
__forceinline__ float __fmul_rn(float a, float b) { return a * b; }
__forceinline__ float __fdiv_rn(float a, float b) { return a / b; }
__forceinline__ float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
__forceinline__ float __frcp_rn(float x) { return 1.0f / x; }
__forceinline__ float __fsqrt_rn(float x) { return std::sqrt(x); }
__forceinline__ float __frsqrt_rn(float x) { return float(1.0 / std::sqrt(double(x))); }
__forceinline__ double __dadd_rn(double a, double b) { return a + b; }
__forceinline__ double __dsub_rn(double a, double b) { return a - b; }
__forceinline__ double __dmul_rn(double a, double b) { return a * b; }
__forceinline__ double __ddiv_rn(double a, double b) { return a / b; }
__forceinline__ double __drcp_rn(double x) { return 1 / x; }
__forceinline__ double __dsqrt_rn(double x) { return std::sqrt(x); }
__forceinline__ double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
__forceinline__ float rsqrtf(float x) { return float(1.0 / std::sqrt(double(x))); }
__forceinline__ double rsqrt(double x) { return 1.0 / std::sqrt(x); }
__forceinline__ float rcbrtf(float x) { return 1.0f / std::cbrt(x); }
__forceinline__ float fdividef(float a, float b) { return a / b; }
__forceinline__ float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
__forceinline__ float __logf(float x) { return std::log(x); }
__forceinline__ float __log2f(float x) { return std::log2(x); }
__forceinline__ float __log10f(float x) { return std::log10(x); }
__forceinline__ float __exp10f(float x) { return std::pow(10.0f, x); }
__forceinline__ float __powf(float x, float y) { return std::pow(x, y); }
__forceinline__ float __sinf(float x) { return std::sin(x); }
__forceinline__ float __cosf(float x) { return std::cos(x); }
__forceinline__ float __tanf(float x) { return std::tan(x); }
__forceinline__ void __sincosf(float x, float* sine, float* cosine) { *sine = std::sin(x), *cosine = std::cos(x); }
__forceinline__ float normcdff(float x) { return 0.5f * std::erfc(-x * 0.70710678f); }

// Rounded towards zero, down or up, by the processor's own mode. The operands are volatile, so that the operation stays
// where that mode holds.
namespace lab::plain {
template <int direction, class T, class Operation>
T rounded(Operation operation, T a, T b = {}, T c = {}) {
  volatile T x = a, y = b, z = c;
  const int mode = std::fegetround();
  std::fesetround(direction);
  volatile T result = operation(x, y, z);
  std::fesetround(mode);
  return result;
}
}  // namespace lab::plain
#define LAB_ROUNDED(T, how, direction, add, subtract, multiply, divide, fused, reciprocal, root)     \
  inline T add##how(T a, T b) {                                                                      \
    return lab::plain::rounded<direction>([](T x, T y, T) { return x + y; }, a, b);                  \
  }                                                                                                  \
  inline T subtract##how(T a, T b) {                                                                 \
    return lab::plain::rounded<direction>([](T x, T y, T) { return x - y; }, a, b);                  \
  }                                                                                                  \
  inline T multiply##how(T a, T b) {                                                                 \
    return lab::plain::rounded<direction>([](T x, T y, T) { return x * y; }, a, b);                  \
  }                                                                                                  \
  inline T divide##how(T a, T b) {                                                                   \
    return lab::plain::rounded<direction>([](T x, T y, T) { return x / y; }, a, b);                  \
  }                                                                                                  \
  inline T fused##how(T a, T b, T c) {                                                               \
    return lab::plain::rounded<direction>([](T x, T y, T z) { return std::fma(x, y, z); }, a, b, c); \
  }                                                                                                  \
  inline T reciprocal##how(T a) {                                                                    \
    return lab::plain::rounded<direction>([](T x, T, T) { return 1 / x; }, a);                       \
  }                                                                                                  \
  inline T root##how(T a) {                                                                          \
    return lab::plain::rounded<direction>([](T x, T, T) { return std::sqrt(x); }, a);                \
  }
#define LAB_ROUNDED_BOTH(how, direction)                                                                 \
  LAB_ROUNDED(float, how, direction, __fadd, __fsub, __fmul, __fdiv, __fmaf, __frcp, __fsqrt)            \
  LAB_ROUNDED(double, how, direction, __dadd, __dsub, __dmul, __ddiv, __fma, __drcp, __dsqrt)            \
  inline float __double2float##how(double a) {                                                           \
    return lab::plain::rounded<direction>([](double x, double, double) { return double(float(x)); }, a); \
  }
LAB_ROUNDED_BOTH(_rz, FE_TOWARDZERO)
LAB_ROUNDED_BOTH(_rd, FE_DOWNWARD)
LAB_ROUNDED_BOTH(_ru, FE_UPWARD)
#undef LAB_ROUNDED_BOTH
#undef LAB_ROUNDED

// --- loads and stores with hints -----------------------------------------------------------------------------------------
#define LAB_LOAD(name)                       \
  template <class T>                         \
  __forceinline__ T name(const T* pointer) { \
    return *pointer;                         \
  }
LAB_LOAD(__ldcs)
LAB_LOAD(__ldca)
LAB_LOAD(__ldcg)
LAB_LOAD(__ldlu)
LAB_LOAD(__ldcv)
#undef LAB_LOAD
#define LAB_STORE(name)                                                  \
  template <class T>                                                     \
  __forceinline__ void name(T* pointer, std::type_identity_t<T> value) { \
    *pointer = value;                                                    \
  }
LAB_STORE(__stcs)
LAB_STORE(__stcg)
LAB_STORE(__stwb)
LAB_STORE(__stwt)
#undef LAB_STORE

// --- votes and reductions ------------------------------------------------------------------------------------------------
__forceinline__ unsigned __activemask() { return lab::plain::active_lanes(); }
__forceinline__ int __syncthreads_count(int predicate) { return lab::plain::block_votes(predicate != 0); }
__forceinline__ int __syncthreads_or(int predicate) { return lab::plain::block_votes(predicate != 0) > 0; }
__forceinline__ int __syncthreads_and(int predicate) { return lab::plain::block_votes(predicate == 0) == 0; }
namespace lab::plain {
template <class T, class Combine>
__forceinline__ T reduced(unsigned mask, T value, Combine combine) {
  bool first = true;
  T result{};
  for (unsigned left = mask; left; left &= left - 1) {
    const T theirs = __shfl_sync(mask, value, std::countr_zero(left));
    result = first ? theirs : combine(result, theirs), first = false;
  }
  return result;
}
}  // namespace lab::plain
#define LAB_REDUCE(name, T, expression)                                              \
  __forceinline__ T name(unsigned mask, T value) {                                   \
    return lab::plain::reduced(mask, value, [](T a, T b) { return T(expression); }); \
  }
LAB_REDUCE(__reduce_add_sync, unsigned, a + b)
LAB_REDUCE(__reduce_add_sync, int, a + b)
LAB_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
LAB_REDUCE(__reduce_min_sync, int, a < b ? a : b)
LAB_REDUCE(__reduce_max_sync, unsigned, a < b ? b : a)
LAB_REDUCE(__reduce_max_sync, int, a < b ? b : a)
LAB_REDUCE(__reduce_and_sync, unsigned, a& b)
LAB_REDUCE(__reduce_or_sync, unsigned, a | b)
LAB_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef LAB_REDUCE
template <class T>
__forceinline__ unsigned __match_any_sync(unsigned mask, T value) {
  unsigned same = 0;
  for (unsigned left = mask; left; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (__shfl_sync(mask, value, lane) == value) same |= 1u << lane;
  }
  return same;
}
template <class T>
__forceinline__ unsigned __match_all_sync(unsigned mask, T value, int* all) {
  const unsigned same = __match_any_sync(mask, value);
  *all = __all_sync(mask, same == mask);
  return *all ? mask : 0;
}

// --- the rest ------------------------------------------------------------------------------------------------------------
__forceinline__ long long clock64() { return lab::plain::ticks(); }

__forceinline__ void __nanosleep(unsigned) {}
