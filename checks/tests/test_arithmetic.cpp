// The tensor core's fast way against its definition, whose bits are a GPU's (test_probes.cu).
#include <doctest/doctest.h>

#include <bit>
#include <cstring>

#include "checks/probes/dot_families.hpp"
#include "common/emulator/tensor_core.hpp"

using namespace lab;

namespace {

// Elements of a tile's product that are not, to the bit, the dot product of their row and column.
int differing(const dot_families::Tile& tile, bool avx2) {
  MmaA a;
  MmaB b;
  a.set(tile.a, avx2);
  b.set(tile.b, avx2);
  float d[16][8];
  std::memcpy(d, tile.c, sizeof d);
  mma_tile(a, b, d, avx2);
  int count = 0;
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      fp16 x[16], y[16];
      for (int k = 0; k < 16; ++k) x[k] = {tile.a[row][k]}, y[k] = {tile.b[k][column]};
      const float expected = tensor_core_dot(x, y, tile.c[row][column]);
      count += std::bit_cast<std::uint32_t>(expected) != std::bit_cast<std::uint32_t>(d[row][column]);
    }
  return count;
}

}  // namespace

TEST_CASE("tensor core: a tile is the dot products of its rows and columns, to the bit, with AVX2 and without") {
  for (const bool avx2 : {false, machine_has_avx2()})
    for (const dot_families::Family& family : dot_families::FAMILIES) {
      CAPTURE(avx2);
      CAPTURE(family.name);
      dot_families::Random random(20261121);
      int different = 0;
      for (int round = 0; round < 40; ++round) {
        dot_families::Tile tile;
        family.fill(tile, random);
        different += differing(tile, avx2);
      }
      CHECK(different == 0);
    }
}

// A conversion of sixteen at once must know each of them as the definition does.
TEST_CASE("tensor core: each of the 65536 halves is converted exactly, with AVX2 and without") {
  for (const bool avx2 : {false, machine_has_avx2()}) {
    CAPTURE(avx2);
    int different = 0;
    for (int first = 0; first < 65536; first += 16 * 8) {
      // Eight halves a row, and eight zeros, whose partners are 1: an infinity's would make a NaN of every element.
      dot_families::Tile tile{};
      for (int i = 0; i < 16 * 8; ++i) tile.a[i / 8][i % 8] = std::uint16_t(first + i);
      for (int k = 0; k < 8; ++k) tile.b[k][k] = 0x3C00;
      different += differing(tile, avx2);
    }
    CHECK(different == 0);
  }
}
