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

namespace {

struct TileOperands {
  const std::uint16_t (&a_bits)[16][16], (&b_bits)[16][8];
  const float (&a)[16][16], (&b)[16][8];
  const std::int16_t (&a_exponent)[16][16], (&b_exponent)[16][8];
  const bool (&a_special)[16];
  const std::uint32_t (&b_special)[8];
};

float element_by_definition(const TileOperands& x, int row, int column, int first, float c, TensorCoreModel model) {
  fp16 a[16], b[16];
  for (int k = 0; k < model.block; ++k) a[k] = {x.a_bits[row][first + k]}, b[k] = {x.b_bits[first + k][column]};
  return block_sum(a, b, c, model);
}

namespace four {
using Float = Float4;
using Int = Int4;
using UInt = UInt4;
constexpr int PIECES = 2;
#include "common/emulator/tensor_tile.hpp"

UShort8 convert16(const std::uint16_t* bits, float* value, std::int16_t* exponent) {
  return convert(bits, value, exponent) | convert(bits + 8, value + 8, exponent + 8);
}
}  // namespace four

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,f16c")  // without fma, which would change bits
namespace eight {
using Float = float __attribute__((vector_size(32)));
using Int = std::int32_t __attribute__((vector_size(32)));
using UInt = std::uint32_t __attribute__((vector_size(32)));
constexpr int PIECES = 1;
inline Int widen(const Short8& lanes, int) { return __builtin_convertvector(lanes, Int); }
#include "common/emulator/tensor_tile.hpp"

// As convert() above, sixteen halves at a time.
UShort8 convert16(const std::uint16_t* bits, float* value, std::int16_t* exponent) {
  using Short16 = std::int16_t __attribute__((vector_size(32)));
  using UShort16 = std::uint16_t __attribute__((vector_size(32)));
  UShort16 halves;
  std::memcpy(&halves, bits, sizeof halves);
  const UShort16 field = halves >> 10 & 31u;
  const auto zero = Short16((halves & 0x7FFFu) == 0);
  const Short16 real = Short16(field - UShort16(field == 0)) - 15, places = (zero & NONE) | (~zero & real);
  std::memcpy(exponent, &places, sizeof places);
  UShort8 special{};
  const auto infinite = UShort16(field == 31u);
  for (int half = 0; half < 2; ++half) {
    Short8 eight_halves;
    std::memcpy(&eight_halves, bits + 8 * half, sizeof eight_halves);
    const Float floats = __builtin_ia32_vcvtph2ps256(eight_halves);
    std::memcpy(value + 8 * half, &floats, sizeof floats);
    UShort8 part;
    std::memcpy(&part, reinterpret_cast<const char*>(&infinite) + sizeof part * std::size_t(half), sizeof part);
    special |= part;
  }
  return special;
}
}  // namespace eight
#pragma GCC pop_options
bool machine_has_eight() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"); }
#else
namespace eight = four;
bool machine_has_eight() { return false; }
#endif

}  // namespace

const std::vector<int>& tile_lanes() {
  static const std::vector<int> lanes = machine_has_eight() ? std::vector{8, 4} : std::vector{4};
  return lanes;
}
int best_tile_lanes() {
  static const int best = tile_lanes().front();
  return best;
}

void MmaA::set(const std::uint16_t (&bits)[16][16], int lanes) {
  const auto convert16 = lanes == 8 ? eight::convert16 : four::convert16;
  std::memcpy(bits_, bits, sizeof bits_);
  for (int row = 0; row < 16; ++row) special_[row] = any(convert16(bits_[row], value_[row], exponent_[row]));
}

void MmaB::set(const std::uint16_t (&bits)[16][8], int lanes) {
  const auto convert16 = lanes == 8 ? eight::convert16 : four::convert16;
  std::memcpy(bits_, bits, sizeof bits_);
  UShort8 special{};
  for (int k = 0; k < 16; k += 2) special |= convert16(bits_[k], value_[k], exponent_[k]);
  for (int column = 0; column < 8; ++column) special_[column] = special[column] ? ~0u : 0u;
}

void mma_tile(const MmaA& a, const MmaB& b, float (&c)[16][8], int lanes) {
  const TileOperands x{a.bits_, b.bits_, a.value_, b.value_, a.exponent_, b.exponent_, a.special_, b.special_};
  (lanes == 8 ? eight::exact_tile : four::exact_tile)(x, c, model_of(TensorCore::sm_90));
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
