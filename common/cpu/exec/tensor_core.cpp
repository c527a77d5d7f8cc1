#include "common/cpu/exec/tensor_core.hpp"

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
float special_sum(const fp16* a, const fp16* b, float c, int count) {
  bool nan = std::isnan(c), plus = c == INFINITY, minus = c == -INFINITY;
  for (int i = 0; i < count; ++i) {
    const float product = to_float(a[i]) * to_float(b[i]);
    nan |= std::isnan(product), plus |= product == INFINITY, minus |= product == -INFINITY;
  }
  if (nan || (plus && minus)) return std::bit_cast<float>(TENSOR_CORE_NAN);
  return plus ? INFINITY : -INFINITY;
}

float block_sum(const fp16* a, const fp16* b, float c, TensorCoreModel model) {
  bool special = is_special(c);
  for (int i = 0; i < model.block; ++i) special |= is_special(a[i]) || is_special(b[i]);
  if (special) return special_sum(a, b, c, model.block);

  constexpr int PRODUCT_FRACTION = 20, FLOAT_FRACTION = 23;
  Term terms[17];
  int count = 0;
  for (int i = 0; i < model.block; ++i) {
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
    const std::int64_t aligned = (terms[i].significand << model.extra) >> std::min(largest - terms[i].exponent, 63);
    sum += terms[i].negative ? -aligned : aligned;
  }
  const auto magnitude = std::uint64_t(sum < 0 ? -sum : sum);
  const int cut = std::max(int(std::bit_width(magnitude)) - 24, 0);
  const double kept = std::ldexp(double(magnitude >> cut << cut), largest - FLOAT_FRACTION - model.extra);
  return float(sum < 0 ? -kept : kept);
}

// --- the fast way: lanes of a vector are neighbouring columns ---------------------------------------------------

using Float4 = float __attribute__((vector_size(16)));
using Int4 = std::int32_t __attribute__((vector_size(16)));
using UInt4 = std::uint32_t __attribute__((vector_size(16)));
using Short8 = std::int16_t __attribute__((vector_size(16)));
using UShort8 = std::uint16_t __attribute__((vector_size(16)));

// The sum of two exponents, one of them NONE, is below that of any two real ones.
constexpr std::int16_t NONE = -1000, NO_PRODUCT = -500;

template <class Vector, class T>
Vector load(const T* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
template <class T, class Vector>
void store(T* to, const Vector& vector) {
  std::memcpy(to, &vector, sizeof vector);
}
template <class Vector>
Vector choose(const Vector& mask, const Vector& yes, const Vector& no) {
  return (mask & yes) | (~mask & no);
}
template <class Vector>
bool any(const Vector& lanes) {
  std::uint64_t words[2];
  std::memcpy(words, &lanes, sizeof words);
  return (words[0] | words[1]) != 0;
}

// Columns 0..3 or 4..7 of eight.
UInt4 widen(const UShort8& lanes, int half) {
  constexpr UShort8 zero{};
  return half ? UInt4(__builtin_shufflevector(lanes, zero, 4, 8, 5, 8, 6, 8, 7, 8))
              : UInt4(__builtin_shufflevector(lanes, zero, 0, 8, 1, 8, 2, 8, 3, 8));
}
Int4 widen(const Short8& lanes, int half) {  // in the upper 16 bits, then shifted down with the sign
  constexpr Short8 zero{};
  return (half ? Int4(__builtin_shufflevector(zero, lanes, 0, 12, 0, 13, 0, 14, 0, 15))
               : Int4(__builtin_shufflevector(zero, lanes, 0, 8, 0, 9, 0, 10, 0, 11))) >>
         16;
}

// Eight halves at a time. Returns lanes that are not 0 where an infinity or a NaN is.
UShort8 convert(const std::uint16_t* bits, float* value, std::int16_t* exponent) {
  const auto halves = load<UShort8>(bits);
  const UShort8 magnitude = halves & 0x7FFFu, field = halves >> 10 & 31u;
  const auto subnormal = UShort8(field == 0);
  // The field of a subnormal counts as 1: subtracting the mask adds it.
  const auto real = Short8(field - subnormal) - 15;
  store(exponent, choose(Short8(magnitude == 0), Short8{} + NONE, Short8(real)));
  for (int half = 0; half < 2; ++half) {
    const UInt4 wide = widen(halves, half);
    const UInt4 sign = (wide & 0x8000u) << 16, shifted = (wide & 0x7FFFu) << 13;
    const UInt4 infinite = UInt4(shifted >= 0x0F800000u) & (112u << 23);
    const UInt4 normal = shifted + (112u << 23) + infinite;
    constexpr float TWO_TO_MINUS_14 = 0x1p-14f;
    const auto tiny = Float4(shifted | (113u << 23)) - TWO_TO_MINUS_14;
    store(value + 4 * half, UInt4(sign | choose(UInt4(shifted < 0x00800000u), UInt4(tiny), normal)));
  }
  return UShort8(field == 31u);
}

UInt4 power_of_two(const Int4& exponent) { return UInt4((exponent + 127) << 23); }

}  // namespace

float tensor_core_dot(const fp16* a, const fp16* b, float c, int k, TensorCore tensor_core) {
  if (tensor_core == TensorCore::fast) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += to_float(a[i]) * to_float(b[i]);
    return c + sum;
  }
  const TensorCoreModel model = model_of(tensor_core);
  for (int i = 0; i < k; i += model.block) c = block_sum(a + i, b + i, c, model);
  return c;
}

void MmaA::set(const std::uint16_t (&bits)[16][16]) {
  std::memcpy(bits_, bits, sizeof bits_);
  for (int row = 0; row < 16; ++row)
    special_[row] = any(convert(bits_[row], value_[row], exponent_[row]) |
                        convert(bits_[row] + 8, value_[row] + 8, exponent_[row] + 8));
}

void MmaB::set(const std::uint16_t (&bits)[16][8]) {
  std::memcpy(bits_, bits, sizeof bits_);
  UShort8 special{};
  for (int k = 0; k < 16; ++k) special |= convert(bits_[k], value_[k], exponent_[k]);
  for (int column = 0; column < 8; ++column) special_[column] = special[column] ? ~0u : 0u;
}

namespace {

void plain_tile(const float (&a)[16][16], const float (&b)[16][8], float (&c)[16][8]) {
  for (int row = 0; row < 16; ++row) {
    Float4 sum[2] = {};
    for (int k = 0; k < 16; ++k)
      for (int half = 0; half < 2; ++half) sum[half] += a[row][k] * load<Float4>(&b[k][4 * half]);
    for (int half = 0; half < 2; ++half) store(&c[row][4 * half], load<Float4>(&c[row][4 * half]) + sum[half]);
  }
}

}  // namespace

void mma_tile(const MmaA& a, const MmaB& b, float (&c)[16][8], TensorCore tensor_core) {
  if (tensor_core == TensorCore::fast) return plain_tile(a.value_, b.value_, c);
  const TensorCoreModel model = model_of(tensor_core);
  const int fraction = 23 + model.extra;
  for (int row = 0; row < 16; ++row)
    for (int first = 0; first < 16; first += model.block) {
      const int end = first + model.block;
      Short8 largest = Short8{} + std::int16_t(2 * NONE);
      for (int k = first; k < end; ++k) {
        const Short8 exponent = a.exponent_[row][k] + load<Short8>(b.exponent_[k]);
        largest = exponent > largest ? exponent : largest;
      }
      Int4 unit[2];
      UInt4 sum[2] = {};  // unsigned: where an infinity takes part it is nonsense, and may wrap
      Float4 scale[2];
      for (int half = 0; half < 2; ++half) {
        const auto before = load<Int4>(&c[row][4 * half]);
        const Int4 of_c = (before >> 23 & 255) - 127;  // of a zero: below that of any product
        const Int4 of_product = widen(largest, half);
        unit[half] = (of_product > of_c ? of_product : of_c) - fraction;
        // Where there is no product the scale may be anything: the sum is zero, and c stays as it is.
        const Int4 up = -unit[half];
        scale[half] = Float4(power_of_two(up < 127 ? up : Int4{} + 127));
      }
      // Multiplied by a power of two, an exact product stays exact; the conversion to integer cuts it off.
      for (int k = first; k < end; ++k)
        for (int half = 0; half < 2; ++half)
          sum[half] += UInt4(
              __builtin_convertvector(a.value_[row][k] * load<Float4>(&b.value_[k][4 * half]) * scale[half], Int4));
      for (int half = 0; half < 2; ++half) {
        float* const result = &c[row][4 * half];
        const auto before = load<Float4>(result);
        const auto total = Int4(sum[half] + UInt4(__builtin_convertvector(before * scale[half], Int4)));
        // The conversion to float rounds: one step back where it went up.
        const Int4 sign = total >> 31;
        const auto magnitude = Int4(UInt4(total ^ sign) - UInt4(sign));
        const auto rounded = __builtin_convertvector(magnitude, Float4);
        const auto cut = Float4(Int4(rounded) + (__builtin_convertvector(rounded, Int4) > magnitude));
        const auto after = UInt4(cut * Float4(power_of_two(unit[half]))) | (UInt4(sign) << 31);
        const auto no_product = UInt4(widen(largest, half) < NO_PRODUCT);
        const UInt4 done = choose(no_product, UInt4(before + 0.0f), after);  // -0 becomes 0
        const auto products = Int4(sum[half]);  // with c, one beyond 2^30 might pass 2^31: the definition takes it
        const Int4 too_large = (products > (1 << 30)) | (products < -(1 << 30));
        const auto special = UInt4(too_large) | UInt4((UInt4(before) & 0x7F800000u) == 0x7F800000u) |
                             load<UInt4>(b.special_ + 4 * half) | (a.special_[row] ? ~0u : 0u);
        store(result, done);
        if (!any(special)) continue;
        for (int i = 0; i < 4; ++i) {
          if (!special[i]) continue;
          fp16 row_of_a[16], column_of_b[16];
          for (int k = first; k < end; ++k)
            row_of_a[k] = {a.bits_[row][k]}, column_of_b[k] = {b.bits_[k][4 * half + i]};
          result[i] = block_sum(row_of_a + first, column_of_b + first, before[i], model);
        }
      }
    }
}

}  // namespace lab
