// CUDA's functions of half and half2, and the same of bfloat16: each operation rounds.
#pragma once
#include <bit>
#include <cmath>
#include <concepts>

#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace lab::plain {
template <class T>
concept Half = std::same_as<T, __half> || std::same_as<T, __nv_bfloat16>;
template <class T>
concept Halves = std::same_as<T, __half2> || std::same_as<T, __nv_bfloat162>;
}  // namespace lab::plain

#define LAB_HALF_1(name, expression) \
  template <lab::plain::Half T>      \
  __forceinline__ T name(T h) {      \
    const float a = h;               \
    return T(float(expression));     \
  }                                  \
  template <lab::plain::Halves T>    \
  __forceinline__ T name##2(T h) {   \
    return {name(h.x), name(h.y)};   \
  }
#define LAB_HALF_2(name, expression)                       \
  template <lab::plain::Half T>                            \
  __forceinline__ T name(T h, std::type_identity_t<T> g) { \
    const float a = h, b = g;                              \
    return T(float(expression));                           \
  }                                                        \
  template <lab::plain::Halves T>                          \
  __forceinline__ T name##2(T h, T g) {                    \
    return {name(h.x, g.x), name(h.y, g.y)};               \
  }
LAB_HALF_1(__hneg, -a)
LAB_HALF_1(__habs, std::fabs(a))
LAB_HALF_1(hexp, std::exp(a))
LAB_HALF_1(hexp2, std::exp2(a))
LAB_HALF_1(hlog, std::log(a))
LAB_HALF_1(hsqrt, std::sqrt(a))
LAB_HALF_1(hrsqrt, 1 / std::sqrt(a))
LAB_HALF_1(hrcp, 1 / a)
LAB_HALF_1(htanh, std::tanh(a))
LAB_HALF_2(__hadd, a + b)
LAB_HALF_2(__hsub, a - b)
LAB_HALF_2(__hmul, a* b)
LAB_HALF_2(__hdiv, a / b)
LAB_HALF_2(__hmax, std::fmax(a, b))
LAB_HALF_2(__hmin, std::fmin(a, b))
#undef LAB_HALF_1
#undef LAB_HALF_2
// A product of two halves is exact as a double, and so is the sum with a third but for the last rounding.
template <lab::plain::Half T>
__forceinline__ T __hfma(T a, std::type_identity_t<T> b, std::type_identity_t<T> c) {
  return T(float(double(float(a)) * double(float(b)) + double(float(c))));
}
template <lab::plain::Halves T>
__forceinline__ T __hfma2(T a, T b, T c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
#define LAB_COMPARE(name, op)                                 \
  template <lab::plain::Half T>                               \
  __forceinline__ bool name(T a, std::type_identity_t<T> b) { \
    return float(a) op float(b);                              \
  }
LAB_COMPARE(__hgt, >)
LAB_COMPARE(__hge, >=)
LAB_COMPARE(__hlt, <)
LAB_COMPARE(__hle, <=)
LAB_COMPARE(__heq, ==)
LAB_COMPARE(__hne, !=)
#undef LAB_COMPARE
template <lab::plain::Half T>
__forceinline__ bool __hisnan(T a) {
  return float(a) != float(a);
}
#define LAB_PAIR(op)                             \
  template <lab::plain::Halves T>                \
  __forceinline__ T operator op(T a, T b) {      \
    return {a.x op b.x, a.y op b.y};             \
  }                                              \
  template <lab::plain::Halves T>                \
  __forceinline__ T& operator op##=(T& a, T b) { \
    return a = a op b;                           \
  }
LAB_PAIR(+)
LAB_PAIR(-)
LAB_PAIR(*)
LAB_PAIR(/)
#undef LAB_PAIR

inline half2 __float22half2_rn(float2 v) { return {half(v.x), half(v.y)}; }
inline half2 __float2half2_rn(float x) { return {half(x), half(x)}; }
inline half2 __half2half2(half x) { return {x, x}; }
inline half2 __halves2half2(half x, half y) { return {x, y}; }
inline half2 make_half2(half x, half y) { return {x, y}; }
inline half __low2half(half2 v) { return v.x; }
inline half __high2half(half2 v) { return v.y; }
inline half2 __lowhigh2highlow(half2 v) { return {v.y, v.x}; }
inline float __low2float(half2 v) { return v.x; }
inline float __high2float(half2 v) { return v.y; }
inline int __half2int_rn(half x) { return int(std::nearbyint(float(x))); }
inline int __half2int_rz(half x) { return int(float(x)); }
inline half __int2half_rn(int x) { return half(float(x)); }
inline half __double2half(double x) { return half(float(x)); }
inline unsigned short __half_as_ushort(half x) { return x.bits; }
inline short __half_as_short(half x) { return short(x.bits); }
inline half __ushort_as_half(unsigned short bits) { return std::bit_cast<half>(bits); }
inline half __short_as_half(short bits) { return std::bit_cast<half>(bits); }
#define LAB_ATOMIC_HALVES(T)                                                                                         \
  inline T atomicAdd(T* address, T value) {                                                                          \
    static_assert(sizeof(T) == 4);                                                                                   \
    auto* const word = reinterpret_cast<unsigned*>(address);                                                         \
    for (unsigned seen = atomicOr(word, 0u);;) {                                                                     \
      const unsigned before = seen;                                                                                  \
      const T sum = std::bit_cast<T>(before) + value;                                                                \
      if ((seen = atomicCAS(word, before, std::bit_cast<unsigned>(sum))) == before) return std::bit_cast<T>(before); \
    }                                                                                                                \
  }
LAB_ATOMIC_HALVES(__half2)
LAB_ATOMIC_HALVES(__nv_bfloat162)
#undef LAB_ATOMIC_HALVES
