// Drills of layouts: descriptors, the swizzle, tensor maps, tiles that leave a kernel.
#include "checks/exercises/drills/drill.hpp"
#include "common/tensor_map.hpp"
#include "common/wgmma_layout.hpp"

namespace lab {

extern "C" Launches drill_k_major() {  // a 64 x 64 by 64 x 32 product, and the fields of four descriptors
  constexpr int M = 64, N = 32, K = 64;
  return of_each({128, 64, 0}, [](int swizzle) {
    Drill d{.name = "swizzle " + std::to_string(swizzle), .size = {swizzle}, .in = small_numbers((M + N) * K)};
    multiply(d, M, N, K, true);
    // PTX ISA, "Matrix Descriptor Format": 14 bits of address / 16, of leading / 16, of stride / 16, and two at the top.
    const int tops[] = {0, 3, 2, 1};
    for (int i = 0; i < 4; ++i)
      for (const int field : {(0x7C400 + 16 * i) % 0x40000 / 16, 2048 / 16, (1024 + 256 * i) / 16, tops[i] << 14})
        d.right.push_back(float(field));
    return d;
  });
}

extern "C" Launches drill_mn_major() {  // a 64 x 48 by 48 x N product
  constexpr int M = 64, K = 48;
  using Case = std::pair<int, Swizzle>;
  constexpr Swizzle wide = Swizzle::b128, none = Swizzle::none;
  return of_each({Case{64, wide}, {128, wide}, {64, Swizzle::b64}, {64, none}, {128, none}}, [](const Case& one) {
    const auto [N, swizzle] = one;
    Drill d{.name = "N " + std::to_string(N) + ", swizzle " + std::to_string(swizzle_bytes(swizzle)),
            .size = {N, int(swizzle)},
            .in = small_numbers((M + N) * K)};
    multiply(d, M, N, K, false);
    return d;
  });
}

extern "C" Launches drill_store() {  // the elements doubled, in halves, up to the result's last row
  return of_each({std::pair(1, 64), {3, 150}}, [](const auto& one) {
    const auto [tiles, rows] = one;
    Drill d{.name = std::to_string(rows) + " rows",
            .size = {tiles, rows},
            .in = small_numbers(tiles * 64 * 64),
            .rows = std::size_t(rows),
            .columns = 64,
            .halves = true};
    for (int i = 0; i < rows * 64; ++i) d.right.push_back(2 * d.in[i]);
    return d;
  });
}

extern "C" Launches drill_swizzle() {  // the tile twice, and the place of each element
  using Case = std::array<int, 3>;
  return of_each(
      {Case{8, 64, 64}, {24, 128, 64}, {64, 64, 64}, {136, 64, 64}, {8, 32, 32}, {40, 96, 32}}, [](Case one) {
        const auto [rows, columns, width] = one;
        Drill d{.name = std::to_string(rows) + " x " + std::to_string(columns) + ", width " + std::to_string(width),
                .size = {rows, columns, width},
                .in = small_numbers(rows * columns),
                .rows = std::size_t(rows),
                .columns = std::size_t(columns)};
        for (int copy = 0; copy < 2; ++copy) d.right.insert(d.right.end(), d.in.begin(), d.in.end());
        for (int row = 0; row < rows; ++row)
          for (int column = 0; column < columns; ++column) {
            const int byte = row * 2 * width + column % width * 2;
            d.right.push_back(float(column / width * rows * width + wgmma_layout::swizzled(byte, 2 * width) / 2));
          }
        return d;
      });
}

extern "C" Launches drill_tile_map() {  // each head's rows, and zeros below them
  constexpr int ROWS = 21, HEADS = 3, COLUMNS = 80, TILE_ROWS = 16, TILES = 2;
  Drill d{.name = "6 tiles",
          .in = small_numbers(ROWS * HEADS * COLUMNS),
          .rows = HEADS * TILES * TILE_ROWS,
          .columns = COLUMNS};
  for (int head = 0; head < HEADS; ++head)
    for (int row = 0; row < TILES * TILE_ROWS; ++row)
      for (int c = 0; c < COLUMNS; ++c) d.right.push_back(row < ROWS ? d.in[(row * HEADS + head) * COLUMNS + c] : 0.0f);
  return {d};
}

extern "C" Launches drill_transposed() {
  constexpr int ROWS = 64, COLUMNS = 32;
  Drill d{.name = "one tile", .rows = COLUMNS, .columns = ROWS, .halves = true};
  for (int i = 0; i < ROWS * COLUMNS; ++i) d.in.push_back(float(i));
  for (int column = 0; column < COLUMNS; ++column)
    for (int row = 0; row < ROWS; ++row) d.right.push_back(d.in[row * COLUMNS + column]);
  return {d};
}

}  // namespace lab
