// make probe what=mma: does this GPU compute what common/emulator/tensor_core.hpp says, bit for bit (random dot products of every family
// through mma.sync.m16n8k16), and do its lanes hold what common/mma_layout.hpp says (ldmatrix and stmatrix of numbered matrices)?
#pragma once
#include <cuda_fp16.h>

#include "checks/probes/probe.cuh"
#include "common/mma_layout.hpp"
#include "common/ptx/mma.cuh"

namespace lab::mma_probe {

namespace layout = mma_layout;
using dot_families::Tile;
using probe::Tally;

constexpr int FROM = 90, TO = 90;  // of which there is a model
inline std::string head(const std::string& gpu) {
  return "# Dot products as the tensor core of one GPU gives them (mma.sync.m16n8k16): a and b, 16 halves each,\n"
         "# c, result; all as bits. Measured on an " +
         gpu + ", by `make probe what=mma sample=...`.\nsm_90\n";
}
constexpr std::uint64_t SEED = 20261121;
constexpr int VARIANTS = 6;  // of ldmatrix: x1, x2, x4, then .trans

// One warp per tile.
__global__ void multiply(const Tile* tiles, float (*results)[16][8]) {
  const Tile& tile = tiles[blockIdx.x];
  const int lane = int(threadIdx.x);
  unsigned a[4] = {}, b[2] = {};
  float c[4];
  for (int e = 0; e < layout::A_ELEMENTS; ++e) {
    const layout::Place at = layout::a(lane, e);
    a[e / 2] |= unsigned(tile.a[at.row][at.column]) << (16 * (e % 2));
  }
  for (int e = 0; e < layout::B_ELEMENTS; ++e) {
    const layout::Place at = layout::b(lane, e);
    b[e / 2] |= unsigned(tile.b[at.row][at.column]) << (16 * (e % 2));
  }
  for (int e = 0; e < layout::C_ELEMENTS; ++e) {
    const layout::Place at = layout::c(lane, e);
    c[e] = tile.c[at.row][at.column];
  }
  ptx::mma_m16n8k16(c, a, b);
  for (int e = 0; e < layout::C_ELEMENTS; ++e) {
    const layout::Place at = layout::c(lane, e);
    results[blockIdx.x][at.row][at.column] = c[e];
  }
}

// Element (row, column) of matrix i is the number 64 i + 8 row + column, as bits. loaded[variant][lane][2 i + half].
__global__ void move_matrices(std::uint16_t (*loaded)[32][8], std::uint16_t (*stored)[4][8][8]) {
  extern __shared__ __align__(1024) unsigned char image[];
  auto* const memory = reinterpret_cast<half(*)[64]>(image);
  [[maybe_unused]] half(*const back)[64] = memory + 4;
  const int lane = int(threadIdx.x);
  auto* numbers = reinterpret_cast<std::uint16_t*>(&memory[0][0]);
  for (int i = lane; i < 256; i += 32) numbers[i] = std::uint16_t(i);
  __syncwarp();
  const half* row = &memory[lane / 8][lane % 8 * 8];
  for (int variant = 0; variant < VARIANTS; ++variant) {
    unsigned r[4] = {};
#define LOAD(which, name, registers, address, ...)                                              \
  if (variant == which)                                                                         \
  asm volatile("ldmatrix.sync.aligned.m8n8." name ".shared.b16 {" registers "}, [" address "];" \
               : __VA_ARGS__                                                                    \
               : "r"(ptx::shared_address(row))                                                  \
               : "memory")
    LOAD(0, "x1", "%0", "%1", "=r"(r[0]));
    LOAD(1, "x2", "%0, %1", "%2", "=r"(r[0]), "=r"(r[1]));
    LOAD(2, "x4", "%0, %1, %2, %3", "%4", "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]));
    LOAD(3, "x1.trans", "%0", "%1", "=r"(r[0]));
    LOAD(4, "x2.trans", "%0, %1", "%2", "=r"(r[0]), "=r"(r[1]));
    LOAD(5, "x4.trans", "%0, %1, %2, %3", "%4", "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]));
#undef LOAD
    const int matrices = 1 << variant % 3;
    for (int e = 0; e < 2 * matrices; ++e) loaded[variant][lane][e] = std::uint16_t(r[e / 2] >> (16 * (e % 2)));
#if __CUDA_ARCH__ >= 900  // PTX for older GPUs is made, too
    auto* returned = reinterpret_cast<std::uint16_t*>(&back[0][0]);
    for (int i = lane; i < 256; i += 32) returned[i] = 0xFFFF;
    __syncwarp();
    half* to = &back[lane / 8][lane % 8 * 8];
#define STORE(which, name, registers, ...)                                             \
  if (variant == which)                                                                \
  asm volatile("stmatrix.sync.aligned.m8n8." name ".shared.b16 [%0], {" registers "};" \
               :                                                                       \
               : "r"(ptx::shared_address(to)), __VA_ARGS__                             \
               : "memory")
    STORE(0, "x1", "%1", "r"(r[0]));
    STORE(1, "x2", "%1, %2", "r"(r[0]), "r"(r[1]));
    STORE(2, "x4", "%1, %2, %3, %4", "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
    STORE(3, "x1.trans", "%1", "r"(r[0]));
    STORE(4, "x2.trans", "%1, %2", "r"(r[0]), "r"(r[1]));
    STORE(5, "x4.trans", "%1, %2, %3, %4", "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
#undef STORE
    __syncwarp();
    for (int i = lane; i < 256; i += 32) (&stored[variant][0][0][0])[i] = returned[i];
    __syncwarp();
#endif
  }
}

// A family's tiles, of 128 dot products each.
inline void family(const dot_families::Family& family, std::size_t count, Tally& tally) {
  dot_families::Random random(SEED + std::uint64_t(&family - dot_families::FAMILIES));
  std::vector<Tile> tiles(count);
  for (Tile& tile : tiles) family.fill(tile, random);
  using Result = float[16][8];
  Result* const results = probe::on_device<Result>(nullptr, count);
  probe::run(multiply, unsigned(count), 32, 0, probe::on_device<Tile>(tiles.data(), count), results);
  probe::dot_products(family.name, "", tiles, probe::from_device(&results[0][0][0], count * 128), true, tally);
}

// Of one variant what lanes have loaded, or what they have stored.
inline void matrix_places(int variant, bool stores, Tally& tally) {
  using Loaded = std::uint16_t[32][8];
  using Stored = std::uint16_t[4][8][8];
  Loaded* const loaded = probe::on_device<Loaded>(nullptr, VARIANTS);
  Stored* const stored = probe::on_device<Stored>(nullptr, VARIANTS);
  probe::run(move_matrices, 1, 32, 1024, loaded, stored);
  const int matrices = 1 << variant % 3;
  const auto loads = probe::from_device(&loaded[variant][0][0], 32 * 8);
  const auto back = probe::from_device(&stored[variant][0][0][0], 256);
  for (int lane = 0; !stores && lane < 32; ++lane)
    for (int e = 0; e < 2 * matrices; ++e) {
      const layout::Place at = layout::ldmatrix(lane, e, variant >= 3);
      tally.add(loads[std::size_t(8 * lane + e)] == 64 * (e / 2) + 8 * at.row + at.column,
                [&] { return format("lane %d, element %d", lane, e); });
    }
  for (int i = 0; stores && i < 256; ++i)
    tally.add(back[std::size_t(i)] == (i < 64 * matrices ? i : 0xFFFF), [&] { return format("half %d", i); });
}

// `whole`: more than the sample, as a GPU does.
inline std::vector<probe::Section> sections(bool whole) {
  std::vector<probe::Section> all;
  for (int variant = 0; variant < VARIANTS; ++variant)
    for (const bool stores : {false, true})
      all.push_back(
          {(stores ? "stmatrix.x" : "ldmatrix.x") + std::to_string(1 << variant % 3) + (variant >= 3 ? ".trans" : ""),
           [=](Tally& tally) { matrix_places(variant, stores, tally); }});
  for (const dot_families::Family& f : dot_families::FAMILIES)
    all.push_back({f.name, [&f, whole](Tally& tally) { family(f, whole ? 512 : probe::SAMPLED, tally); }});
  return all;
}

}  // namespace lab::mma_probe
