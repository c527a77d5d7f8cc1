// Questions of make probe what=wgmma to a GPU's wgmma: does it find and leave its matrices where common/wgmma_layout.hpp says, and compute
// what common/emulator/tensor_core.hpp says, bit for bit? Products by descriptors of all kinds are the sample's: A and B lie somewhere in an
// image of small integers that fills shared memory, so every sum is exact, and a half read from a wrong place makes a wrong number.
#pragma once
#include <cuda_fp16.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "checks/probes/probe.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/wgmma_layout.hpp"
#include "reference/hash.hpp"

namespace lab::wgmma_probe {

using probe::from_device, probe::on_device, probe::Tally;

constexpr const char* SAMPLE = "reference/wgmma_sample.txt";

// --- products by descriptors ----------------------------------------------------------------------------

constexpr int IMAGE_BYTES = 64 * 1024, IMAGE_HALVES = IMAGE_BYTES / 2;
constexpr int WIDTHS[] = {8, 16, 32, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256};  // each N of the sample

struct Case {
  int n, b_mn_major, a_registers, accumulate;
  unsigned long long a, b;  // descriptors; their addresses count from the image's first byte
  unsigned seed;
};
enum Source : std::uint32_t { IMAGE = 0x1000000, A_REGISTERS = 0x2000000, ACCUMULATOR = 0x3000000 };
// The number at place `i` of a source: an integer of -8..8.
__host__ __device__ constexpr int number(std::uint32_t seed, std::uint32_t source, int i) {
  std::uint32_t x = seed * 0x9E3779B1u ^ (source + std::uint32_t(i)) * 0x85EBCA77u;
  x ^= x >> 15, x *= 0x2C1B3C6Du, x ^= x >> 12, x *= 0x297A2D39u, x ^= x >> 15;
  return int(x % 17) - 8;
}
// A descriptor whose address counts from `base`, a multiple of 1024.
__host__ __device__ constexpr std::uint64_t based(std::uint64_t descriptor, std::uint32_t base) {
  return descriptor + (base >> 4);
}

// One warpgroup. d[thread][i], i < N / 2; base: where the image lies.
template <int N, bool B_MN_MAJOR>
__global__ void __launch_bounds__(128) product(Case c, float* out, unsigned* base) {
  extern __shared__ __align__(1024) unsigned char shared[];
  half* const image = reinterpret_cast<half*>(shared);
  const int thread = int(threadIdx.x);
  for (int i = thread; i < IMAGE_HALVES; i += 128) image[i] = half(float(number(c.seed, IMAGE, i)));
  ptx::fence_proxy_async();
  __syncthreads();
  const unsigned start = ptx::shared_address(image);
  if (thread == 0) *base = start;
  float d[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    const wgmma_layout::Place at = wgmma_layout::d(thread, i);
    d[i] = c.accumulate ? float(number(c.seed, ACCUMULATOR, at.row * N + at.column)) : NAN;
  }
  unsigned a[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const wgmma_layout::Place at = wgmma_layout::a(thread, 2 * r);
    const int place = at.row * wgmma_layout::K + at.column;
    a[r] = half_pair(float(number(c.seed, A_REGISTERS, place)), float(number(c.seed, A_REGISTERS, place + 1)));
  }
  ptx::fence_registers(d);
  const auto run = [&](const auto& of_a) {
    ptx::wgmma_fence();
    ptx::wgmma<N, B_MN_MAJOR>(d, of_a, based(c.b, start), c.accumulate);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
  };
  if (c.a_registers)
    run(a);
  else
    run(based(c.a, start));
  ptx::fence_registers(d);
#pragma unroll
  for (int i = 0; i < N / 2; ++i) out[thread * (N / 2) + i] = d[i];
}

// The kernel above for an N, one of WIDTHS.
using ProductKernel = void (*)(Case, float*, unsigned*);
template <std::size_t... I>
ProductKernel product_kernel(const Case& c, std::index_sequence<I...>) {
  ProductKernel found = nullptr;
  ((c.n == WIDTHS[I] ? void(found = c.b_mn_major ? product<WIDTHS[I], true> : product<WIDTHS[I], false>) : void()),
   ...);
  return found;
}

// The sample's cases: this GPU's line of each, which has its D.
inline void products(Tally& tally) {
  float* const device = on_device<float>(nullptr, 64 * 256);
  unsigned* const base_device = on_device<unsigned>(nullptr, 1);
  std::ifstream file(SAMPLE);
  for (std::string line; std::getline(file, line);) {
    Case c;
    unsigned long long recorded = 0;
    if (std::sscanf(line.c_str(), "case %d %d %d %d %llx %llx %u %*u %llx", &c.n, &c.b_mn_major, &c.a_registers,
                    &c.accumulate, &c.a, &c.b, &c.seed, &recorded) != 8)
      continue;
    probe::run(product_kernel(c, std::make_index_sequence<std::size(WIDTHS)>()), 1, 128, IMAGE_BYTES, c, device,
               base_device);
    const std::vector<float> registers = from_device(device, std::size_t(64 * c.n));
    const unsigned base = from_device(base_device, 1)[0];
    if (base % 1024) throw std::runtime_error("shared memory begins at an unforeseen address");
    std::vector<float> d(registers.size());
    for (int thread = 0; thread < 128; ++thread)
      for (int i = 0; i < c.n / 2; ++i) {
        const wgmma_layout::Place at = wgmma_layout::d(thread, i);
        d[std::size_t(at.row * c.n + at.column)] = registers[std::size_t(thread * (c.n / 2) + i)];
      }
    std::uint64_t hash = FNV_START;  // of D's words row by row
    for (const float value : d) hash = fnv1a(hash, probe::bits(value));
    const std::string now = format("case %d %d %d %d %016llx %016llx %u %u %016llx", c.n, c.b_mn_major, c.a_registers,
                                   c.accumulate, c.a, c.b, c.seed, base, (unsigned long long)hash);
    tally.add(hash == recorded, [&] { return now + ", the sample says " + line; });
    tally.sample += now + "\n";
  }
}

// --- the bits of dot products -----------------------------------------------------------------------------

// 64 x 32 dot products of 16: a[row][k], b[k][column], c[row][column] as bits.
struct Dots {
  std::uint16_t a[64][16], b[16][32];
  float c[64][32];
};
template <bool A_REGISTERS>
__global__ void __launch_bounds__(128) dots(const Dots* problems, float (*results)[64][32]) {
  const Dots& p = problems[blockIdx.x];
  extern __shared__ __align__(1024) unsigned char shared[];
  auto* const a = reinterpret_cast<std::uint16_t*>(shared);
  auto* const b = a + 64 * 16;
  const int thread = int(threadIdx.x);
  // Rows of 32 bytes without gaps, 32-byte swizzle: 16-byte halves of rows 4..7 of each 8 change places.
  for (int i = thread; i < 64 * 16; i += 128) {
    const int row = i / 16, k = i % 16;
    a[row * 16 + (k ^ (row / 4 % 2 * 8))] = p.a[row][k];
    if (row < 32) b[row * 16 + (k ^ (row / 4 % 2 * 8))] = p.b[k][row];
  }
  ptx::fence_proxy_async();
  __syncthreads();
  float d[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const wgmma_layout::Place at = wgmma_layout::d(thread, i);
    d[i] = p.c[at.row][at.column];
  }
  unsigned of_a[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const wgmma_layout::Place at = wgmma_layout::a(thread, 2 * r);
    of_a[r] = p.a[at.row][at.column] | unsigned(p.a[at.row][at.column + 1]) << 16;
  }
  ptx::fence_registers(d);
  ptx::wgmma_fence();
  const ptx::Descriptor of_b = ptx::wgmma_descriptor(b, 0, 256, Swizzle::b32);
  if constexpr (A_REGISTERS)
    ptx::wgmma<32>(d, of_a, of_b, true);
  else
    ptx::wgmma<32>(d, ptx::wgmma_descriptor(a, 0, 256, Swizzle::b32), of_b, true);
  ptx::wgmma_commit();
  ptx::wgmma_wait<0>();
  ptx::fence_registers(d);
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const wgmma_layout::Place at = wgmma_layout::d(thread, i);
    results[blockIdx.x][at.row][at.column] = d[i];
  }
}

// Four tiles of a family on the diagonal; beside it, rows of one meet columns of another.
inline Dots dots_of(const dot_families::Family& family, dot_families::Random& random) {
  Dots dots;
  for (int t = 0; t < 4; ++t) {
    dot_families::Tile tile;
    family.fill(tile, random);
    for (int row = 0; row < 16; ++row) {
      std::memcpy(dots.a[16 * t + row], tile.a[row], sizeof tile.a[row]);
      for (int column = 0; column < 32; ++column) dots.c[16 * t + row][column] = tile.c[row][column % 8];
    }
    for (int k = 0; k < 16; ++k) std::memcpy(&dots.b[k][8 * t], tile.b[k], sizeof tile.b[k]);
  }
  return dots;
}

// 2048 dot products a block, or those of the sample.
inline void dot_products(bool a_registers, bool whole, Tally& tally) {
  const int blocks = whole ? 64 : probe::SAMPLED;
  using Results = float[64][32];
  auto* const results = on_device<Results>(nullptr, std::size_t(blocks));
  for (const dot_families::Family& family : dot_families::FAMILIES) {
    dot_families::Random random(20261121 + std::uint64_t(&family - dot_families::FAMILIES) * 2 + a_registers);
    std::vector<Dots> problems;
    for (int i = 0; i < blocks; ++i) problems.push_back(dots_of(family, random));
    probe::run(a_registers ? dots<true> : dots<false>, unsigned(blocks), 128, 4096,
               on_device<Dots>(problems.data(), problems.size()), results);
    probe::dot_products(family.name, "dot ", problems, from_device(&results[0][0][0], std::size_t(blocks) * 64 * 32),
                        whole, tally);
  }
}

inline std::vector<probe::Section> product_sections(bool whole) {
  std::vector<probe::Section> all = {{"products by descriptors", products}};
  for (const bool a_registers : {false, true})
    all.push_back({a_registers ? "dot products, A from registers" : "dot products, A from shared memory",
                   [=](Tally& tally) { dot_products(a_registers, whole, tally); }});
  return all;
}

}  // namespace lab::wgmma_probe
