// The arithmetic of the tensor core and of the special functions: a GPU's bits, cases worked out by hand, the fast way
// against the definition.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "checks/probes/dot_families.hpp"
#include "checks/tests/test_rounding_kernels.hpp"
#include "common/emulator/special_functions.hpp"
#include "common/emulator/tensor_core.hpp"

using namespace lab;

namespace {

std::uint32_t bits(float f) { return std::bit_cast<std::uint32_t>(f); }

// c + the products of the pairs, the rest of 16 being zeros. A pair's numbers must be halves.
float dot(float c, const std::vector<std::pair<float, float>>& pairs, TensorCore tensor_core) {
  fp16 a[16]{}, b[16]{};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    a[i] = to_fp16(pairs[i].first), b[i] = to_fp16(pairs[i].second);
    REQUIRE(to_float(a[i]) == pairs[i].first);
    REQUIRE(to_float(b[i]) == pairs[i].second);
  }
  return tensor_core_dot(a, b, c, 16, tensor_core);
}
float hopper(float c, const std::vector<std::pair<float, float>>& pairs) { return dot(c, pairs, TensorCore::sm_90); }
float ada(float c, const std::vector<std::pair<float, float>>& pairs) { return dot(c, pairs, TensorCore::sm_89); }

const std::pair<float, float> ONE{1.0f, 1.0f}, MINUS_ONE{1.0f, -1.0f};
// 2^exponent as a product of two halves.
std::pair<float, float> power(int exponent) {
  return {std::ldexp(1.0f, exponent / 2), std::ldexp(1.0f, exponent - exponent / 2)};
}

}  // namespace

TEST_CASE("tensor core: what reaches below the extra bits of the largest term is cut off, term by term") {
  // sm_90 keeps multiples of 2^-25 beside 1, sm_89 of 2^-24.
  CHECK(hopper(0.0f, {ONE, power(-25), power(-25), power(-25), power(-25)}) == 1.0f + 0x1p-23f);
  CHECK(ada(0.0f, {ONE, power(-25), power(-25), power(-25), power(-25)}) == 1.0f);
  CHECK(ada(0.0f, {ONE, power(-24), power(-24)}) == 1.0f + 0x1p-23f);
  CHECK(hopper(0.0f, {ONE, power(-26), power(-26), power(-26), power(-26), power(-26), power(-26), power(-26),
                      power(-26)}) == 1.0f);
  // A negative term is cut towards zero too: 1 - 2^-26 is not 1 - 2^-25.
  CHECK(hopper(1.0f, {{-power(-26).first, power(-26).second}}) == 1.0f);
  // The significand is cut, not the term dropped: 1.75 2^-24 becomes 1.5 2^-24.
  CHECK(hopper(0.0f, {ONE, MINUS_ONE, {1.75f, 0x1p-24f}}) == 1.5f * 0x1p-24f);
  CHECK(ada(0.0f, {ONE, MINUS_ONE, {1.75f, 0x1p-24f}}) == 0x1p-24f);
}

TEST_CASE("tensor core: sm_89 takes 16 products in two blocks, sm_90 in one") {
  std::vector<std::pair<float, float>> late(16, {0.0f, 0.0f}), early = late;
  late[0] = ONE, late[1] = power(-24), late[8] = MINUS_ONE;     // cut with the first block's sum
  early[0] = ONE, early[7] = MINUS_ONE, early[8] = power(-30);  // the second block has nothing large in it
  CHECK(hopper(0.0f, late) == 0x1p-24f);
  CHECK(bits(ada(0.0f, late)) == 0u);
  CHECK(bits(hopper(0.0f, early)) == 0u);
  CHECK(ada(0.0f, early) == 0x1p-30f);
}

TEST_CASE("tensor core: infinities and NaN") {
  for (const TensorCore model : {TensorCore::sm_90, TensorCore::sm_89}) {
    const auto of = [&](float c, std::vector<std::pair<std::uint16_t, std::uint16_t>> pairs, int at = 0) {
      fp16 a[16]{}, b[16]{};
      for (std::size_t i = 0; i < pairs.size(); ++i)
        a[at + int(i)] = {pairs[i].first}, b[at + int(i)] = {pairs[i].second};
      return bits(tensor_core_dot(a, b, c, 16, model));
    };
    constexpr std::uint16_t INF = 0x7C00, MINUS_INF = 0xFC00, NAN_HALF = 0x7E01, NUMBER = 0x3C00, MINUS = 0xBC00;
    constexpr std::uint32_t PLUS = 0x7F800000u, NEGATIVE = 0xFF800000u, CANONICAL = 0x7FFFFFFFu;
    for (const int at : {0, 5, 8, 13}) {
      CHECK(of(1.0f, {{INF, NUMBER}}, at) == PLUS);
      CHECK(of(1.0f, {{INF, MINUS}}, at) == NEGATIVE);
      CHECK(of(1.0f, {{MINUS_INF, MINUS_INF}}, at) == PLUS);
      CHECK(of(1.0f, {{INF, 0}}, at) == CANONICAL);
      CHECK(of(1.0f, {{0x8000, MINUS_INF}}, at) == CANONICAL);
      CHECK(of(1.0f, {{NAN_HALF, 0}}, at) == CANONICAL);
      CHECK(of(1.0f, {{0xFFFF, NUMBER}}, at) == CANONICAL);
      CHECK(of(1.0f, {{INF, NUMBER}, {INF, MINUS}}, at) == CANONICAL);
      CHECK(of(INFINITY, {{NUMBER, MINUS}}, at) == PLUS);
      CHECK(of(-INFINITY, {{INF, NUMBER}}, at) == CANONICAL);
    }
    CHECK(of(INFINITY, {}) == PLUS);
    CHECK(of(-INFINITY, {}) == NEGATIVE);
    CHECK(of(std::bit_cast<float>(0xFF812345u), {}) == CANONICAL);
    // Opposite infinities in different blocks of sm_89.
    fp16 a[16]{}, b[16]{};
    a[0] = {INF}, a[15] = {MINUS_INF}, b[0] = b[15] = {NUMBER};
    CHECK(bits(tensor_core_dot(a, b, 0.0f, 16, model)) == CANONICAL);
  }
}

TEST_CASE("tensor core: a tile is the dot products of its rows and columns, to the bit, with AVX2 and without") {
  dot_families::Random random(20261121);
  for (const dot_families::Family& family : dot_families::FAMILIES) {
    CAPTURE(family.name);
    long different[2] = {};  // without AVX2, and with it
    for (int round = 0; round < 40; ++round) {
      dot_families::Tile tile;
      family.fill(tile, random);
      float expected[16][8];
      for (int row = 0; row < 16; ++row)
        for (int column = 0; column < 8; ++column) {
          fp16 x[16], y[16];
          for (int k = 0; k < 16; ++k) x[k] = {tile.a[row][k]}, y[k] = {tile.b[k][column]};
          expected[row][column] = tensor_core_dot(x, y, tile.c[row][column], 16, TensorCore::sm_90);
        }
      for (const bool avx2 : {false, machine_has_avx2()}) {
        float d[16][8];
        std::memcpy(d, tile.c, sizeof d);
        MmaA a;
        MmaB b;
        a.set(tile.a, avx2);
        b.set(tile.b, avx2);
        mma_tile(a, b, d, avx2);
        for (int row = 0; row < 16; ++row)
          for (int column = 0; column < 8; ++column)
            different[avx2] += bits(expected[row][column]) != bits(d[row][column]);
      }
    }
    for (const bool avx2 : {false, machine_has_avx2()}) {
      CAPTURE(avx2);
      CHECK(different[avx2] == 0);
    }
  }
}

// Every half in every place: what converts sixteen at once must know each of them as the definition does.
TEST_CASE("tensor core: each of the 65536 halves is converted exactly, with AVX2 and without") {
  for (const bool avx2 : {false, machine_has_avx2()}) {
    CAPTURE(avx2);
    long different = 0;
    for (std::uint32_t first = 0; first < 65536; first += 16 * 16) {
      std::uint16_t a_bits[16][16], b_bits[16][8] = {};
      for (std::uint32_t i = 0; i < 256; ++i) a_bits[i / 16][i % 16] = std::uint16_t(first + i);
      for (int k = 0; k < 8; ++k) b_bits[k][k] = 0x3C00;  // 1
      for (const int half : {0, 8}) {
        // The other eight k are zeros' partners: an infinity there would make a NaN of every element.
        std::uint16_t part[16][16] = {};
        for (int row = 0; row < 16; ++row)
          for (int k = 0; k < 8; ++k) part[row][k] = a_bits[row][half + k];
        MmaA a;
        MmaB b;
        a.set(part, avx2);
        b.set(b_bits, avx2);
        float d[16][8] = {};
        mma_tile(a, b, d, avx2);
        for (int row = 0; row < 16; ++row)
          for (int column = 0; column < 8; ++column) {
            fp16 x[16], y[16];
            for (int k = 0; k < 16; ++k) x[k] = {part[row][k]}, y[k] = {b_bits[k][column]};
            different += bits(tensor_core_dot(x, y, 0.0f, 16, TensorCore::sm_90)) != bits(d[row][column]);
          }
      }
    }
    CHECK(different == 0);
  }
}

TEST_CASE("rounding: a product and a sum are rounded twice in kernels, fmaf once") {
  using namespace rounding_kernels;
  // a a is 1 + 2^-11 + 2^-24: exactly between two floats.
  const float a = 1.0f + 0x1p-12f, c = -(1.0f + 0x1p-11f);
  CHECK(product_and_sum(a, a, c) == 0.0f);
  CHECK(fused(a, a, c) == 0x1p-24f);
  float many[8];
  for (float& x : many) x = c;
  sums(many, {a, a, a, a, a, a, a, a}, a);
  for (const float x : many) CHECK(x == 0.0f);
  // 97 * 172961 is 2^24 + 1, between two floats; a sum in double precision would lose c.
  CHECK(fused(97.0f, 172961.0f, 0x1p-37f) == 16777218.0f);
  CHECK(fused(97.0f, 172961.0f, -0x1p-37f) == 16777216.0f);
  CHECK(fused(0x1p-100f, 0x1p-49f, 0.0f) == 0x1p-149f);
}
