// Inputs for the tensor core's arithmetic: tiles of m16n8k16, family by family, each after another corner of it. The
// unit tests hold the CPU's fast way against its definition with them, `make probe what=mma` the definition against a GPU.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "common/fp16.hpp"

namespace lab::dot_families {

struct Tile {
  std::uint16_t a[16][16], b[16][8];  // [row][k], [k][column]
  float c[16][8];
};
using Random = std::mt19937_64;

inline std::uint16_t any_half(Random& r) { return std::uint16_t(r()); }
inline std::uint16_t finite_half(Random& r) {
  const auto x = std::uint16_t(r());
  return (x & 0x7C00) == 0x7C00 ? std::uint16_t(x & 0xBFFF) : x;
}
inline std::uint16_t normal_half(Random& r) { return to_fp16(std::normal_distribution<float>(0.0f, 1.0f)(r)).bits; }
inline std::uint16_t subnormal_half(Random& r) { return std::uint16_t(r() & 0x87FF); }  // or an exponent above
inline std::uint16_t mostly_zero(Random& r) { return r() % 4 ? std::uint16_t(r() & 0x8000) : finite_half(r); }
inline std::uint16_t largest_half(Random& r) { return std::uint16_t((r() & 0x8000) | (0x7BFF - r() % 2)); }
inline std::uint16_t rarely_special(Random& r) {
  return r() % 64 ? finite_half(r) : std::uint16_t((r() & 0x8000) | 0x7C00 | (r() % 2 ? 0 : r() & 0x3FF));
}
// Exponents from -14 to 0: products of two reach from the largest to just below the last bit that is kept.
inline std::uint16_t spread_half(Random& r) {
  return std::uint16_t((r() & 0x8000) | (1 + r() % 15) << 10 | (r() & 0x3FF));
}

inline float zero(Random&) { return 0.0f; }
inline float signed_zero(Random& r) { return r() % 2 ? 0.0f : -0.0f; }
inline float any_float(Random& r) { return std::bit_cast<float>(std::uint32_t(r())); }
inline float close_float(Random& r) {
  return std::ldexp(std::uniform_real_distribution<float>(-1.0f, 1.0f)(r), int(r() % 60) - 30);
}
inline float subnormal_float(Random& r) { return std::bit_cast<float>(std::uint32_t(r()) & 0x80FFFFFFu); }
inline float large_float(Random& r) {
  return std::bit_cast<float>((std::uint32_t(r()) & 0x807FFFFFu) | (200u + std::uint32_t(r() % 55)) << 23);
}

template <std::uint16_t (*Half)(Random&), float (*Accumulator)(Random&)>
void independent(Tile& tile, Random& random) {
  for (auto& row : tile.a)
    for (std::uint16_t& x : row) x = Half(random);
  for (auto& row : tile.b)
    for (std::uint16_t& x : row) x = Half(random);
  for (auto& row : tile.c)
    for (float& x : row) x = Accumulator(random);
}

// Neighbours along k are opposite, or a few last bits from it.
inline void pairs_cancel(Tile& tile, Random& random) {
  independent<spread_half, zero>(tile, random);
  for (int k = 1; k < 16; k += 2) {
    for (int row = 0; row < 16; ++row) tile.a[row][k] = std::uint16_t(tile.a[row][k - 1] ^ 0x8000);
    for (int column = 0; column < 8; ++column)
      tile.b[k][column] = std::uint16_t(tile.b[k - 1][column] ^ (random() % 4));
  }
}

inline double exact_sum(const Tile& tile, int row, int column) {
  double sum = 0.0;
  for (int k = 0; k < 16; ++k) sum += double(to_float({tile.a[row][k]})) * double(to_float({tile.b[k][column]}));
  return sum;
}

// C is minus the sum, or a few last bits from it.
inline void c_cancels(Tile& tile, Random& random) {
  independent<normal_half, zero>(tile, random);
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      const float sum = float(-exact_sum(tile, row, column));
      tile.c[row][column] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(sum) ^ std::uint32_t(random() % 8));
    }
}

struct Family {
  const char* name;
  void (*fill)(Tile&, Random&);
};
inline const Family FAMILIES[] = {
    {"any bits", independent<any_half, any_float>},
    {"finite halves, any c", independent<finite_half, any_float>},
    {"finite halves, c close", independent<finite_half, close_float>},
    {"exponents -14..0, c close", independent<spread_half, close_float>},
    {"exponents -14..0, c = 0", independent<spread_half, zero>},
    {"N(0,1), c close", independent<normal_half, close_float>},
    {"N(0,1), c = 0", independent<normal_half, zero>},
    {"subnormal halves", independent<subnormal_half, zero>},
    {"subnormal halves and c", independent<subnormal_half, subnormal_float>},
    {"mostly zeros, c subnormal", independent<mostly_zero, subnormal_float>},
    {"mostly zeros, c = +-0", independent<mostly_zero, signed_zero>},
    {"largest halves", independent<largest_half, close_float>},
    {"c large", independent<finite_half, large_float>},
    {"neighbours cancel", pairs_cancel},
    {"c cancels the sum", c_cancels},
    {"infinities and NaN, rare", independent<rarely_special, close_float>},
};

}  // namespace lab::dot_families
