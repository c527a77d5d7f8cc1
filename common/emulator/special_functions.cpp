#include "common/emulator/special_functions.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/emulator/special_function_tables.hpp"

namespace lab {
namespace {

constexpr std::uint32_t ONE_BINADE = 1u << 23;  // mantissas, and the step of the exponent in a float's bits
constexpr std::uint32_t SIGN = 1u << 31, INFINITE = 0x7F800000u;
const float CANONICAL_NAN = std::bit_cast<float>(0x7FFFFFFFu);
// Added before the cut, in 2^-15 of the last place: the bits below c0's last one, the same in all intervals.
constexpr std::uint64_t EX2_BIAS = 6114, RCP_BIAS = 2023;

// r^2 / 2^19 of 17 bits, short of the partial products r_i r_j 2^(i+j+1), and r_i 2^(2i), below 2^19. The top 7 bits
// lose nothing among themselves, the low 10 bits everything; row j is what bit 10 + j keeps of its products with the
// low ones.
constexpr std::uint32_t short_square_by_rows(std::uint32_t r) {
  const std::uint32_t high = r >> 10, low = r & 1023;
  std::uint32_t sum = 2 * high * high;
  for (int j = 0; j < 7; ++j) sum += (high >> j & 1) * (low >> (8 - j));
  return sum;
}

// The same in half the time: the low 5 bits meet only the top 4, for i + j is 18 at least.
struct Squares {
  std::uint16_t without_low[1 << 12];  // by r >> 5
  std::uint8_t of_low[16][32];         // by r >> 13 and r & 31
};
constexpr Squares SQUARES = [] {
  Squares squares{};
  for (std::uint32_t i = 0; i < 1 << 12; ++i) squares.without_low[i] = std::uint16_t(short_square_by_rows(i << 5));
  for (std::uint32_t top = 0; top < 16; ++top)
    for (std::uint32_t low = 0; low < 32; ++low)
      squares.of_low[top][low] = std::uint8_t(short_square_by_rows(top << 13 | low) - short_square_by_rows(top << 13));
  return squares;
}();
std::uint32_t short_square(std::uint32_t r) { return SQUARES.without_low[r >> 5] + SQUARES.of_low[r >> 13][r & 31]; }

}  // namespace

float ex2_approx_ftz(float x) {
  if (!(x < 128.0f)) return x != x ? CANONICAL_NAN : std::numeric_limits<float>::infinity();
  if (x < -126.0f) return 0.0f;
  // x in units of 2^-23, cut towards zero; a negative one is complemented and not negated, unless it is whole.
  const std::int32_t cut = std::int32_t(std::fabs(x) * 0x1p23f);
  const std::int32_t fixed = x < 0.0f ? -cut - (cut % ONE_BINADE != 0) : cut;
  const Quadratic& c = EX2_QUADRATICS[fixed >> 17 & 63];
  const std::uint32_t r = fixed & 0x1FFFF;
  const std::uint64_t sum = (std::uint64_t(c.c0) << 13) + std::uint64_t(c.c1) * r + c.c2 * short_square(r) + EX2_BIAS;
  // The mantissa comes with its leading one, which counts as a step of the exponent.
  return std::bit_cast<float>(std::uint32_t((fixed >> 23) + 126) * ONE_BINADE + std::uint32_t(sum >> 15));
}

float rcp_approx_ftz(float x) {
  if (x != x) return CANONICAL_NAN;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), sign = bits & SIGN;
  const std::int32_t exponent = std::int32_t(bits >> 23 & 255);
  if (exponent == 0) return std::bit_cast<float>(sign | INFINITE);  // a subnormal x counts as zero
  const Quadratic& c = RCP_QUADRATICS[bits >> 16 & 127];
  const std::uint32_t r = bits & 0xFFFF;
  const std::uint64_t sum =
      (std::uint64_t(c.c0) << 13) - std::uint64_t(c.c1) * r + c.c2 * short_square(2 * r) + RCP_BIAS;
  const std::int32_t result = (252 - exponent) * std::int32_t(ONE_BINADE) + std::int32_t(sum >> 15);
  return std::bit_cast<float>(sign | (result < std::int32_t(ONE_BINADE) ? 0 : result));
}

// As nvcc compiles it: 2^x below 2^-126 is computed as the square of 2^(x/2), so it can be subnormal.
float fast_exp(float x) {
  const float power = x * 1.44269504f;
  if (!(power < -126.0f)) return ex2_approx_ftz(power);
  const float root = ex2_approx_ftz(power * 0.5f);
  return root * root;
}

// A subnormal divisor would count as zero.
float fast_divide(float x, float y) {
  const float unit = std::fabs(y) < 0x1p-126f ? 0x1p24f : 1.0f;
  return rcp_approx_ftz(y * unit) * (x * unit);
}

}  // namespace lab
