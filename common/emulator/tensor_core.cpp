#include "common/emulator/tensor_core.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace lab {
namespace {

// --- the definition, in integers ----------------------------------------------------------------------------

// (-1)^negative significand 2^(exponent - fraction bits of its format); an unnormalised number.
struct Term {
  bool negative;
  std::int64_t significand;
  int exponent;
};

bool is_special(fp16 h) { return (h.bits & 0x7C00u) == 0x7C00u; }
bool is_special(float f) { return (std::bit_cast<std::uint32_t>(f) & 0x7F800000u) == 0x7F800000u; }

Term term(fp16 h) {
  const int field = h.bits >> 10 & 31;
  return {(h.bits & 0x8000u) != 0, (h.bits & 0x3FF) | (field ? 0x400 : 0), std::max(field, 1) - 15};
}
Term term(float f) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
  const int field = int(bits >> 23 & 255u);
  return {(bits & 0x80000000u) != 0, std::int64_t((bits & 0x7FFFFFu) | (field ? 0x800000u : 0u)),
          std::max(field, 1) - 127};
}

// A block in which an infinity or a NaN takes part.
float special_sum(const fp16 (&a)[16], const fp16 (&b)[16], float c) {
  bool nan = std::isnan(c), plus = c == INFINITY, minus = c == -INFINITY;
  for (int i = 0; i < 16; ++i) {
    const float product = to_float(a[i]) * to_float(b[i]);
    nan |= std::isnan(product), plus |= product == INFINITY, minus |= product == -INFINITY;
  }
  if (nan || (plus && minus)) return std::bit_cast<float>(TENSOR_CORE_NAN);
  return plus ? INFINITY : -INFINITY;
}

}  // namespace

float tensor_core_dot(const fp16 (&a)[16], const fp16 (&b)[16], float c) {
  bool special = is_special(c);
  for (int i = 0; i < 16; ++i) special |= is_special(a[i]) || is_special(b[i]);
  if (special) return special_sum(a, b, c);

  constexpr int PRODUCT_FRACTION = 20, FLOAT_FRACTION = 23;
  Term terms[17];
  int count = 0;
  for (int i = 0; i < 16; ++i) {
    const Term x = term(a[i]), y = term(b[i]);
    if (!x.significand || !y.significand) continue;
    terms[count++] = {x.negative != y.negative, (x.significand * y.significand) << (FLOAT_FRACTION - PRODUCT_FRACTION),
                      x.exponent + y.exponent};
  }
  if (c != 0.0f) terms[count++] = term(c);
  if (count == 0) return 0.0f;
  int largest = terms[0].exponent;
  for (int i = 1; i < count; ++i) largest = std::max(largest, terms[i].exponent);

  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const std::int64_t aligned = (terms[i].significand << EXTRA_BITS) >> std::min(largest - terms[i].exponent, 63);
    sum += terms[i].negative ? -aligned : aligned;
  }
  const auto magnitude = std::uint64_t(sum < 0 ? -sum : sum);
  const int cut = std::max(int(std::bit_width(magnitude)) - 24, 0);
  const double kept = std::ldexp(double(magnitude >> cut << cut), largest - FLOAT_FRACTION - EXTRA_BITS);
  return float(sum < 0 ? -kept : kept);
}

// --- the fast way: lanes of a vector are neighbouring columns ---------------------------------------------------

namespace {

using Float = float __attribute__((vector_size(32)));
using Int = std::int32_t __attribute__((vector_size(32)));
using UInt = std::uint32_t __attribute__((vector_size(32)));
using Short = std::int16_t __attribute__((vector_size(16)));
using Halves = std::uint16_t __attribute__((vector_size(32)));

// The sum of two exponents, one of them NONE, is below that of any two real ones.
constexpr std::int16_t NONE = -1000, NO_PRODUCT = -500;

template <class Vector, class T>
inline __attribute__((always_inline)) Vector load(const T* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

template <class Vector>
inline __attribute__((always_inline)) bool any(const Vector& lanes) {
  std::uint64_t words[4];
  std::memcpy(words, &lanes, sizeof words);
  return (words[0] | words[1] | words[2] | words[3]) != 0;
}

struct TileOperands {
  const std::uint16_t (&a_bits)[16][16], (&b_bits)[16][8];
  const float (&a)[16][16], (&b)[16][8];
  const std::int16_t (&a_exponent)[16][16], (&b_exponent)[16][8];
  const bool (&a_special)[16];
  const std::uint32_t (&b_special)[8];
};

float element_by_definition(const TileOperands& x, int row, int column, float c) {
  fp16 a[16], b[16];
  for (int k = 0; k < 16; ++k) a[k] = {x.a_bits[row][k]}, b[k] = {x.b_bits[k][column]};
  return tensor_core_dot(a, b, c);
}

// Sixteen halves become floats. __F16C__ would not tell the two apart: g++ 12 reads its macros before the pragma below.
namespace any_machine {
inline void widen(const std::uint16_t* bits, float* value) {
  for (int i = 0; i < 16; ++i) value[i] = to_float({bits[i]});
}
#include "common/emulator/tensor_tile.hpp"
}  // namespace any_machine
#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,f16c")  // without fma, which would change bits
namespace avx2 {
inline __attribute__((always_inline)) void widen(const std::uint16_t* bits, float* value) {
  for (int i = 0; i < 16; i += 8) {
    const Float floats = __builtin_ia32_vcvtph2ps256(load<Short>(bits + i));
    std::memcpy(value + i, &floats, sizeof floats);
  }
}
#include "common/emulator/tensor_tile.hpp"
}  // namespace avx2
#pragma GCC pop_options
#else
namespace avx2 = any_machine;
#endif

}  // namespace

bool machine_has_avx2() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return has;
#else
  return false;
#endif
}

void MmaA::set(const std::uint16_t (&bits)[16][16], bool with_avx2) {
  std::memcpy(bits_, bits, sizeof bits_);
  (with_avx2 ? avx2::convert_a : any_machine::convert_a)(bits_, value_, exponent_, special_);
}

void MmaB::set(const std::uint16_t (&bits)[16][8], bool with_avx2) {
  std::memcpy(bits_, bits, sizeof bits_);
  (with_avx2 ? avx2::convert_b : any_machine::convert_b)(bits_, value_, exponent_, special_);
}

void mma_tile(const MmaA& a, const MmaB& b, float (&c)[16][8], bool with_avx2) {
  const TileOperands x{a.bits_, b.bits_, a.value_, b.value_, a.exponent_, b.exponent_, a.special_, b.special_};
  (with_avx2 ? avx2::exact_tile : any_machine::exact_tile)(x, c);
}

void mma_tile_bf16(const std::uint16_t (&a)[16][16], const MmaB& b, float (&c)[16][8]) {
  const auto value = [](std::uint16_t bits) { return double(std::bit_cast<float>(std::uint32_t(bits) << 16)); };
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      double sum = c[row][column];
      for (int k = 0; k < 16; ++k) sum += value(a[row][k]) * value(b.bits_[k][column]);
      const auto nearest = float(sum);
      c[row][column] = std::fabs(double(nearest)) > std::fabs(sum) ? std::nextafter(nearest, 0.0f) : nearest;
    }
}

}  // namespace lab
