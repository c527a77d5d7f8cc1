// Products by all kinds of descriptors, and what common/wgmma_layout.hpp says they give. `make probe what=wgmma check=1`
// runs them on a GPU, the unit tests on the CPU. A and B lie somewhere in an image of small integers that fills shared
// memory, so every sum is exact, and a half read from a wrong place makes a wrong number.
#pragma once
#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/fp16.hpp"
#include "common/wgmma_layout.hpp"
#include "reference/hash.hpp"

namespace lab::wgmma_cases {

inline constexpr int IMAGE_BYTES = 64 * 1024, IMAGE_HALVES = IMAGE_BYTES / 2;

struct Case {
  const char* section;
  int n;
  bool b_mn_major, a_registers, accumulate;
  std::uint64_t a, b;  // descriptors; their addresses count from the image's first byte
  std::uint32_t seed;
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

// D[row][column], the image beginning at shared address `base`.
inline float expected(const Case& c, std::uint32_t base, int row, int column) {
  const wgmma_layout::Matrix a(based(c.a, base)), b(based(c.b, base));
  const auto in_image = [&](const wgmma_layout::Matrix& m, bool mn_major, int mn, int k) {
    return number(c.seed, IMAGE, int(wgmma_layout::address_of(m, mn_major, mn, k) - base) / 2);
  };
  int sum = c.accumulate ? number(c.seed, ACCUMULATOR, row * c.n + column) : 0;
  for (int k = 0; k < wgmma_layout::K; ++k)
    sum += (c.a_registers ? number(c.seed, A_REGISTERS, row * wgmma_layout::K + k) : in_image(a, false, row, k)) *
           in_image(b, c.b_mn_major, column, k);
  return float(sum);
}

// Whether all that it reads lies in the image.
inline bool fits(const Case& c, std::uint32_t base) {
  const auto inside = [&](std::uint64_t descriptor, bool mn_major, int count) {
    for (int mn = 0; mn < count; ++mn)
      for (int k = 0; k < wgmma_layout::K; ++k) {
        const std::uint32_t at =
            wgmma_layout::address_of(wgmma_layout::Matrix(based(descriptor, base)), mn_major, mn, k);
        if (at < base || at + 2 > base + IMAGE_BYTES) return false;
      }
    return true;
  };
  return (c.a_registers || inside(c.a, false, wgmma_layout::M)) && inside(c.b, c.b_mn_major, c.n);
}

struct Fields {
  unsigned address, leading, stride, base_offset, swizzle;  // bytes; swizzle 0, 32, 64 or 128
};
constexpr std::uint64_t encoded(const Fields& f) {
  const std::uint64_t code = f.swizzle == 128 ? 1 : f.swizzle == 64 ? 2 : f.swizzle == 32 ? 3 : 0;
  return std::uint64_t(f.address >> 4) | std::uint64_t(f.leading >> 4) << 16 | std::uint64_t(f.stride >> 4) << 32 |
         std::uint64_t(f.base_offset) << 49 | code << 62;
}

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : state_(seed | 1u) {}
  unsigned operator()(unsigned sides) {
    state_ ^= state_ << 13, state_ ^= state_ >> 17, state_ ^= state_ << 5;
    return state_ % sides;
  }

 private:
  std::uint32_t state_;
};

inline constexpr int WIDTHS[] = {8, 16, 32, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256};
inline constexpr unsigned SWIZZLES[] = {0, 32, 64, 128};

// A tile as stages lay it out, at `address`: rows of `swizzle` bytes without gaps.
inline std::uint64_t tile(unsigned address, unsigned swizzle, bool mn_major) {
  if (swizzle == 0) return encoded({address, 128, 256, 0, 0});
  return encoded({address, mn_major ? 16 * swizzle : 0, 8 * swizzle, 0, swizzle});
}

// All cases, grouped by section.
inline std::vector<Case> all_cases() {
  constexpr unsigned B_AT = 16 * 1024;
  std::vector<Case> cases;
  std::uint32_t seed = 1;
  const auto add = [&](const Case& c) {
    if (fits(c, 1024)) cases.push_back(c), cases.back().seed = seed++;
  };
  for (const int n : WIDTHS)
    for (const bool mn_major : {false, true})
      for (const bool registers : {false, true})
        for (const bool accumulate : {false, true})
          if (n * 2 % 128 == 0 || !mn_major)
            add({"every N, 128-byte swizzle", n, mn_major, registers, accumulate, tile(0, 128, false),
                 tile(B_AT, 128, mn_major), 0});
  for (const unsigned of_a : SWIZZLES)
    for (const unsigned of_b : SWIZZLES)
      for (const int n : {8, 64, 128, 256})
        for (const bool mn_major : {false, true})
          if (!mn_major || of_b == 0 || unsigned(2 * n) % of_b == 0)
            add({"every swizzle", n, mn_major, false, true, tile(0, of_a, false), tile(B_AT, of_b, mn_major), 0});
  for (unsigned step = 0; step < 4; ++step)
    for (const int n : {64, 128}) {
      add({"steps along k", n, false, false, true, tile(32 * step, 128, false), tile(B_AT + 32 * step, 128, false), 0});
      add({"steps along k", n, true, false, true, tile(32 * step, 128, false), tile(B_AT + 2048 * step, 128, true), 0});
    }
  Dice dice(7);
  const auto some = [&](const char* section, bool mn_major, unsigned swizzle, Fields b, int times) {
    for (int i = 0; i < times; ++i) {
      Fields now = b;
      now.swizzle = swizzle;
      if (b.leading == 0) now.leading = 16 * (1 + dice(128));
      if (b.stride == 0) now.stride = 16 * (1 + dice(128));
      constexpr int N[] = {8, 16, 64, 96, 128};
      const int n = N[dice(5)];
      add({section, n, mn_major, dice(2) == 1, true, tile(1024 * dice(8), 128, false), encoded(now), 0});
    }
  };
  for (const unsigned swizzle : SWIZZLES)
    for (const bool mn_major : {false, true}) {
      some("leading and stride offsets", mn_major, swizzle, {B_AT, 0, 0, 0, 0}, 24);
      for (int i = 0; i < 12; ++i)
        some("starts on any 16 bytes", mn_major, swizzle,
             {B_AT + 16 * dice(256), 0, 8 * (swizzle ? swizzle : 16), 0, 0}, 1);
      for (unsigned row = 1; row < 8; ++row) {
        some("starts on a row of 128 bytes", mn_major, swizzle, {B_AT + 128 * row, 2048, 1024, 0, 0}, 2);
        some("base offset", mn_major, swizzle, {B_AT + 128 * row, 2048, 1024, row, 0}, 2);
      }
    }
  for (const unsigned swizzle : SWIZZLES)  // A's descriptor by itself
    for (int i = 0; i < 12; ++i)
      add({"A: leading and stride offsets", 64, false, false, true,
           encoded({1024 * dice(4), 16 * (1 + dice(128)), 16 * (1 + dice(64)), 0, swizzle}), tile(B_AT, 128, false),
           0});
  return cases;
}

// FNV-1a of a result's words, as a sample has it.
inline std::uint64_t fnv(const std::vector<float>& values) {
  std::uint64_t hash = FNV_START;
  for (const float value : values) hash = fnv1a(hash, std::bit_cast<std::uint32_t>(value));
  return hash;
}

inline std::string spelt(const Case& c) {
  const auto words = [](std::uint64_t descriptor) {
    const wgmma_layout::Matrix m(descriptor);
    return "+" + std::to_string(m.address) + ", leading " + std::to_string(m.leading) + ", stride " +
           std::to_string(m.stride) + ", base offset " + std::to_string(m.base_offset) + ", swizzle " +
           std::to_string(m.swizzle);
  };
  return "N = " + std::to_string(c.n) + (c.b_mn_major ? ", n innermost" : ", k innermost") +
         (c.accumulate ? "" : ", scale-D 0") + ", A " + (c.a_registers ? std::string("registers") : words(c.a)) +
         "; B " + words(c.b);
}

}  // namespace lab::wgmma_cases
