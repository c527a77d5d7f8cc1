// The front end turns inline PTX into calls of these (common/frontend/ptx_rules.hpp). Registers hold bits: as<T>() reads
// them as a T, put() writes what fits into an operand. All are inlined, so that a report names the statement's line.
#pragma once
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <tuple>
#include <type_traits>

#include "common/cpu/instructions.h"
#include "cuda_intrinsics.h"
#include "cuda_pipeline.h"
#include "half_functions.h"
#include "plain_launch.h"

namespace lab::inline_ptx {

// --- registers -----------------------------------------------------------------------------------------------------------
template <class T>
__forceinline__ auto value_of(T&& operand) {
  return std::decay_t<T>(operand);
}
template <class T, class From>
__forceinline__ T as(const From& from) {
  if constexpr (std::is_pointer_v<From>) {
    return as<T>(std::uintptr_t(from));
  } else if constexpr (std::is_same_v<T, From>) {
    return from;
  } else if constexpr ((std::is_integral_v<T> && (std::is_integral_v<From> || std::is_enum_v<From>)) ||
                       (std::is_floating_point_v<T> && std::is_floating_point_v<From>)) {
    return static_cast<T>(from);
  } else if constexpr (std::is_same_v<T, bool>) {
    return from != From{};
  } else {
    T to{};
    std::memcpy(&to, &from, sizeof to < sizeof from ? sizeof to : sizeof from);
    return to;
  }
}
struct Nothing {};
inline Nothing nothing;
template <class To, class From>
__forceinline__ void put(To& to, const From& value) {
  if constexpr (std::is_pointer_v<To>)
    to = reinterpret_cast<To>(as<std::uintptr_t>(value));
  else if constexpr (!std::is_same_v<To, Nothing>)
    to = as<To>(value);
}
template <class... T>
__forceinline__ std::tuple<T&...> references(T&... registers) {
  return {registers...};
}
template <class Tuple, class Array>
__forceinline__ void put_all(const Tuple& to, const Array& values) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (put(std::get<I>(to), values[I]), ...); }
  (std::make_index_sequence<std::tuple_size_v<Tuple>>{});
}
template <class T, std::size_t N>
__forceinline__ T joined(const std::array<unsigned, N>& parts) {
  constexpr int BITS = int(8 * sizeof(T) / N);
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < N; ++i)
    all |= std::uint64_t(BITS == 32 ? parts[i] : parts[i] & ((1u << BITS) - 1)) << BITS * int(i);
  return as<T>(all);
}
template <class T, class... Parts>
__forceinline__ void part(T whole, const std::tuple<Parts&...>& parts) {
  constexpr int BITS = int(8 * sizeof(T) / sizeof...(Parts));
  const auto bits = as<std::uint64_t>(whole);
  std::array<std::uint64_t, sizeof...(Parts)> values;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = bits >> BITS * int(i) & ((std::uint64_t(1) << BITS) - 1);
  put_all(parts, values);
}
inline int lane_id() { return lab::plain::lane_of_thread(); }
inline int warp_id() { return int(lab::plain::rank_in_block() / 32); }

// --- arithmetic: integers wrap ---------------------------------------------------------------------------------------------
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
template <class T>
__forceinline__ Wrapping<T> wrapping(T x) {
  return Wrapping<T>(x);
}
template <class T>
__forceinline__ T fma_(T a, T b, T c) {
  if constexpr (lab::plain::Halves<T>)
    return __hfma2(a, b, c);
  else if constexpr (lab::plain::Half<T>)
    return __hfma(a, b, c);
  else
    return std::fma(a, b, c);
}
template <class T>
__forceinline__ T min_(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmin(a, b);
  else if constexpr (lab::plain::Halves<T>)
    return __hmin2(a, b);
  else
    return b < a ? b : a;
}
template <class T>
__forceinline__ T max_(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmax(a, b);
  else if constexpr (lab::plain::Halves<T>)
    return __hmax2(a, b);
  else
    return a < b ? b : a;
}
template <class T>
__forceinline__ auto wide(T x) {
  if constexpr (sizeof(T) == 2)
    return std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>(x);
  else
    return std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>(x);
}
template <class T>
__forceinline__ T high(T a, T b) {
  return T(wide(a) * wide(b) >> 8 * sizeof(T));
}
template <class T>
__forceinline__ T negated(T x) {
  if constexpr (std::is_integral_v<T>)
    return T(0 - Wrapping<T>(x));
  else
    return -x;
}
template <class T>
__forceinline__ T absolute(T x) {
  return x < T(0) ? negated(x) : x;
}
template <class T>
__forceinline__ T inverted(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return !x;
  else
    return T(~x);
}
template <class T>
__forceinline__ T shifted_left(T x, unsigned by) {
  return by < 8 * sizeof(T) ? T(Wrapping<T>(x) << by) : T(0);
}
template <class T>
__forceinline__ T shifted_right(T x, unsigned by) {
  return T(by < 8 * sizeof(T) ? x >> by : x < T(0) ? T(-1) : T(0));
}
__forceinline__ unsigned lop3(unsigned a, unsigned b, unsigned c, unsigned table) {
  unsigned result = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
}
__forceinline__ unsigned bit_field(unsigned x, unsigned first, unsigned bits) {
  return bits == 0 || first > 31 ? 0 : x >> first & (bits > 31 ? ~0u : (1u << bits) - 1);
}
template <class H>
__forceinline__ unsigned pair(float low, float high) {
  return unsigned(H(high).bits) << 16 | H(low).bits;
}
template <class T, class From>
__forceinline__ T converted(From x) {
  if constexpr (lab::plain::Half<From> || lab::plain::Half<T>)
    return static_cast<T>(static_cast<float>(x));
  else
    return static_cast<T>(x);
}
__forceinline__ unsigned to_tf32(float x) {  // ties away from zero
  return (std::bit_cast<unsigned>(x) + 0x1000u) & ~0x1FFFu;
}
template <class F>
__forceinline__ unsigned of_both(F f, unsigned halves) {
  const auto both = as<__half2>(halves);
  return pair<__half>(f(float(both.x)), f(float(both.y)));
}

// --- memory ----------------------------------------------------------------------------------------------------------------
template <class A>
__forceinline__ void* shared_at(A address) {
  return lab::plain::shared_pointer(as<std::uint32_t>(address));
}
template <class A>
__forceinline__ void* generic_at(A address) {
  return reinterpret_cast<void*>(as<std::uintptr_t>(address));
}
template <class A>
__forceinline__ std::uint64_t shared_address(A pointer) {
  return lab::plain::shared_address(generic_at(pointer));
}
template <class A>
__forceinline__ auto moved(A address, long by) {
  if constexpr (std::is_pointer_v<A>)
    return std::uintptr_t(address) + std::uintptr_t(by);
  else
    return A(address + A(by));
}
template <class What>  // an arrival that counts for several
__forceinline__ void times(std::uint32_t count, What what) {
  while (count-- > 0) what();
}
template <class T, int N>
struct alignas(sizeof(T) * N) Group {
  T element[N];
};
// A vector is one access, as one instruction makes it.
template <class T, int N, class... To>
__forceinline__ void load(const void* from, bool is_volatile, To&... to) {
  static_assert(sizeof...(To) == N);
  Group<T, N> group;
  if constexpr (N == 1) {
    group.element[0] = is_volatile ? *static_cast<const volatile T*>(from) : *static_cast<const T*>(from);
    if (is_volatile) lab::plain::looked(from, sizeof(T));
  } else if constexpr (sizeof group == 16) {
    group = std::bit_cast<Group<T, N>>(*static_cast<const uint4*>(from));
  } else if constexpr (sizeof group == 8) {
    group = std::bit_cast<Group<T, N>>(*static_cast<const std::uint64_t*>(from));
  } else {
    group = *static_cast<const Group<T, N>*>(from);
  }
  put_all(references(to...), group.element);
}
template <class T, int N, class... From>
__forceinline__ void store(void* to, bool is_volatile, const From&... from) {
  static_assert(sizeof...(From) == N);
  const Group<T, N> group{{as<T>(from)...}};
  if constexpr (N == 1) {
    if (is_volatile)
      *static_cast<volatile T*>(to) = group.element[0];
    else
      *static_cast<T*>(to) = group.element[0];
  } else if constexpr (sizeof group == 16) {
    *static_cast<uint4*>(to) = std::bit_cast<uint4>(group);
  } else if constexpr (sizeof group == 8) {
    *static_cast<std::uint64_t*>(to) = std::bit_cast<std::uint64_t>(group);
  } else {
    *static_cast<Group<T, N>*>(to) = group;
  }
}
template <class T>
using AtomicWord = std::conditional_t<
    std::is_integral_v<T> && sizeof(T) == 8, unsigned long long,
    std::conditional_t<std::is_integral_v<T> && sizeof(T) == 4 && !std::is_signed_v<T>, unsigned, T>>;
template <class T>
__forceinline__ AtomicWord<T>* atomic_at(void* address) {
  return static_cast<AtomicWord<T>*>(address);
}
template <class T, class From>
__forceinline__ AtomicWord<T> atomic_value(const From& from) {
  return as<AtomicWord<T>>(from);
}

// --- matrices ----------------------------------------------------------------------------------------------------------------
template <class... To>
__forceinline__ void load_matrices(const std::tuple<To&...>& to, const void* row, bool transposed) {
  std::array<unsigned, sizeof...(To)> registers;
  lab::cpu::ldmatrix(registers.data(), static_cast<const half*>(row), int(registers.size()), transposed);
  put_all(to, registers);
}
template <std::size_t N>
__forceinline__ void store_matrices(void* row, const std::array<unsigned, N>& registers, bool transposed) {
  lab::cpu::stmatrix(static_cast<half*>(row), registers.data(), int(N), transposed);
}
// m16n8k16, or m16n8k8 with zeros behind.
template <class H, class... D, std::size_t A, std::size_t B>
__forceinline__ void multiply(const std::tuple<D&...>& d, const std::array<unsigned, A>& a,
                              const std::array<unsigned, B>& b, std::array<float, 4> c) {
  unsigned whole_a[4] = {}, whole_b[2] = {};
  for (std::size_t i = 0; i < A; ++i) whole_a[i] = a[i];
  for (std::size_t i = 0; i < B; ++i) whole_b[i] = b[i];
  if constexpr (std::is_same_v<H, __half>)
    lab::cpu::mma_m16n8k16(c.data(), whole_a, whole_b);
  else
    lab::cpu::mma_bf16(c.data(), whole_a, whole_b);
  put_all(d, c);
}
template <class... D>
__forceinline__ void multiply_to_halves(const std::tuple<D&...>& d, const std::array<unsigned, 4>& a,
                                        const std::array<unsigned, 2>& b, const std::array<unsigned, 2>& c) {
  float sums[4];
  for (int i = 0; i < 4; ++i) sums[i] = as<__half>(std::uint16_t(c[i / 2] >> 16 * (i % 2)));
  lab::cpu::mma_m16n8k16(sums, a.data(), b.data());
  put_all(d, std::array<unsigned, 2>{pair<__half>(sums[0], sums[1]), pair<__half>(sums[2], sums[3])});
}
// mma.m16n8k32 and m16n8k16 of bytes, m16n8k8 and m16n8k4 of tf32: a register holds neighbours in k, four bytes or one
// number. Row r of A lies in the lanes 4 (r % 8) to 4 (r % 8) + 3, column c of B in 4 c to 4 c + 3.
template <class OfA, class OfB, class... D, std::size_t A, std::size_t B, class Sum>
__forceinline__ void multiply_by_shuffles(const std::tuple<D&...>& d, const std::array<unsigned, A>& a,
                                          const std::array<unsigned, B>& b, std::array<Sum, 4> c) {
  static_assert(A == 2 * B);
  const int lane = lane_id();
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < int(4 * B); ++k) {
      const unsigned from_a = __shfl_sync(~0u, a[k / 4 * 2 + i / 2], lane / 4 * 4 + k % 4);
      const unsigned from_b = __shfl_sync(~0u, b[k / 4], (lane % 4 * 2 + i % 2) * 4 + k % 4);
      const auto x = std::bit_cast<std::array<OfA, 4 / sizeof(OfA)>>(from_a);
      const auto y = std::bit_cast<std::array<OfB, 4 / sizeof(OfB)>>(from_b);
      for (std::size_t e = 0; e < x.size(); ++e) c[i] += Sum(x[e]) * Sum(y[e]);
    }
  put_all(d, c);
}
// D and A stay where the kernel has them until the wait: their registers must be neighbours in memory, as an array's are.
[[noreturn]] inline void unread_product() {
  std::fprintf(stderr, "wgmma: the CPU has no negated operands\n");
  __trap();
}
[[noreturn]] inline void scattered_registers() {
  std::fprintf(stderr,
               "wgmma: the registers of an operand are no consecutive elements of one array, as the CPU wants them\n");
  __trap();
}
using Registers = std::initializer_list<const void*>;
__forceinline__ void* in_a_row(const Registers& at) {
  for (std::size_t i = 0; i < at.size(); ++i)
    if (at.begin()[i] != static_cast<const char*>(*at.begin()) + 4 * i) scattered_registers();
  return at.size() == 0 ? nullptr : const_cast<void*>(*at.begin());
}
template <class H>
__forceinline__ void product(const Registers& d, std::uint64_t a_descriptor, const Registers& a, std::uint64_t b,
                             bool accumulate, int scale_a, int scale_b, int a_major, int b_major) {
  if (scale_a != 1 || scale_b != 1) unread_product();
  lab::cpu::wgmma(static_cast<float*>(in_a_row(d)), int(2 * d.size()), a_descriptor,
                  static_cast<const unsigned*>(in_a_row(a)), b, a_major != 0, b_major != 0, accumulate,
                  std::is_same_v<H, __nv_bfloat16>);
}

// --- barriers, the copy engine, clusters ---------------------------------------------------------------------------------------
template <class Id>
__forceinline__ void whole_block_barrier(Id id) {
  if (id == 0)
    __syncthreads();
  else
    lab::cpu::named_barrier(int(id), int((blockDim.x * blockDim.y * blockDim.z + 31) / 32 * 32), true);
}
template <class Map, int N>
__forceinline__ lab::cpu::Box box_at(Map map, const int (&at)[N]) {
  lab::cpu::Box box{static_cast<const CUtensorMap*>(generic_at(map)), {}, N};
  for (int i = 0; i < N; ++i) box.at[i] = at[i];
  return box;
}
template <class T, int N, class A, class... From>
__forceinline__ void store_there(A address, const From&... from) {
  const Group<T, N> group{{as<T>(from)...}};
  lab::cpu::remote_store(as<std::uint32_t>(address), &group, sizeof group);
}
template <class T, int N, class A, class... To>
__forceinline__ void load_there(A address, To&... to) {
  Group<T, N> group;
  lab::cpu::remote_load(as<std::uint32_t>(address), &group, sizeof group);
  put_all(references(to...), group.element);
}
template <class A, class T, class Barrier>
__forceinline__ void store_async(A address, T value, Barrier barrier) {
  lab::cpu::remote_store_async(as<std::uint32_t>(address), &value, sizeof value, as<std::uint32_t>(barrier));
}

}  // namespace lab::inline_ptx
