// wgmma.mma_async.sync.aligned.m64nNk16.f32.f16.f16: D (64 x N, fp32) = A (64 x 16) B (16 x N), or D += A B, by the
// four warps of a warpgroup together, asynchronously; sm_90a. (PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions".)
//
//   D  warp w of the group holds rows 16w .. 16w + 15, 8 columns after 8 as mma.sync's C: with g = lane / 4 and
//      t = lane % 4, d[4i], d[4i + 1] are row g, columns 8i + 2t, 8i + 2t + 1; d[4i + 2], d[4i + 3] the same of row g
//      + 8.
//   A  from registers: the warp's 16 x 16 as mma.sync's A; or from shared memory by a descriptor: k innermost, or, with
//      A_MN_MAJOR, its rows ([k][m]).
//   B  from shared memory by a descriptor: k innermost ([n][k], as K of Q K^T is), or, with B_MN_MAJOR, n innermost
//      ([k][n], as V of P V is).
//
// The order of things: wgmma_fence() before the first product, and again after registers it uses (A, D) were touched;
// the products; wgmma_commit() makes those so far a group; wgmma_wait<LEFT>() until at most LEFT groups are under way.
// Until its wait a product may read its shared memory and its A registers, and write D, at any time: touch none of
// them. Operands written by plain stores need fence_proxy_async() and a barrier first. All 128 threads call all of it
// together.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/hopper/swizzle.cuh"
#include "common/tile.cuh"

namespace lab::ptx {

// The descriptor of a matrix in shared memory: bits 0-13 address / 16, 16-29 leading and 32-45 stride byte
// offset / 16, 49-51 base offset (0: the pattern starts where the address says), 62-63 swizzle. (PTX ISA, "Matrix
// Descriptor Format".)
//
//   k innermost, swizzle 128 (rows of 64 halves): stride = 1024 bytes, from 8 rows to the next 8; leading is not used.
//   16 further along k is +32 bytes. n innermost, swizzle 128 (rows of 64 columns): stride = 1024 bytes, from 8 k to
//   the next 8; leading, from 64 columns to the next 64. 16 further along k is +2048 bytes.
using Descriptor = std::uint64_t;

__host__ __device__ constexpr Descriptor wgmma_descriptor(std::uint32_t address, unsigned leading_bytes,
                                                          unsigned stride_bytes, Swizzle swizzle = Swizzle::b128) {
  const std::uint64_t code = swizzle == Swizzle::none ? 0 : 4 - static_cast<int>(swizzle);  // 128 B 1, 64 B 2, 32 B 3
  return std::uint64_t(address & 0x3FFFF) >> 4 | std::uint64_t(leading_bytes >> 4) << 16 |
         std::uint64_t(stride_bytes >> 4) << 32 | code << 62;
}
__device__ __forceinline__ Descriptor wgmma_descriptor(const void* shared, unsigned leading_bytes,
                                                       unsigned stride_bytes, Swizzle swizzle = Swizzle::b128) {
  return wgmma_descriptor(shared_address(shared), leading_bytes, stride_bytes, swizzle);
}

// The same matrix, `bytes` further: a multiple of 16.
__device__ __forceinline__ Descriptor advance(Descriptor descriptor, unsigned bytes) {
  return descriptor + (bytes >> 4);
}

// wgmma.fence.sync.aligned
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); }

// wgmma.commit_group.sync.aligned
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory"); }

// wgmma.wait_group.sync.aligned
template <int LEFT>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(LEFT) : "memory");
}

// The same, of a number below 4 that is a constant once a loop is unrolled.
__device__ __forceinline__ void wgmma_wait_all_but(int left) {
  switch (left) {
    case 0:
      return wgmma_wait<0>();
    case 1:
      return wgmma_wait<1>();
    case 2:
      return wgmma_wait<2>();
    default:
      return wgmma_wait<3>();
  }
}

// Emits nothing: the compiler must not move what it does with these registers to the other side. After the wait for a
// product: D, and A where it comes from registers. (PTX ISA, "wgmma.mma_async": to touch either before that is undefined.
// The compiler knows of no wait: it takes A's registers for free once the product is issued.)
template <int COUNT>
__device__ __forceinline__ void fence_registers(float (&registers)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(registers[i]) : : "memory");
}
template <int COUNT>
__device__ __forceinline__ void fence_registers(unsigned (&a)[COUNT][4]) {
#pragma unroll
  for (int i = 0; i < 4 * COUNT; ++i) asm volatile("" : "+r"(a[i / 4][i % 4]) : : "memory");
}

// Inline assembly names every register of D. So each N has a line (the stages' are 64, 80 and 128; the search tries others,
// and the probe all): the numbers of D's N / 2 operands, those of the up to
// seven that follow them, and D itself, eight registers at a time.
// clang-format off
#define LAB_D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define LAB_D16(i) LAB_D8(i), LAB_D8(i + 8)
#define LAB_D32(i) LAB_D16(i), LAB_D16(i + 16)
#define LAB_R4 "%0, %1, %2, %3"
#define LAB_R8 LAB_R4 ", %4, %5, %6, %7"
#define LAB_R16 LAB_R8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define LAB_R32 LAB_R16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define LAB_R40 LAB_R32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define LAB_R48 LAB_R40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define LAB_R56 LAB_R48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define LAB_R64 LAB_R56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define LAB_R72 LAB_R64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define LAB_R80 LAB_R72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define LAB_R88 LAB_R80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define LAB_R96 LAB_R88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define LAB_R112 LAB_R96 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define LAB_R128 LAB_R112 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define LAB_EACH_WIDTH(X)                                                                        \
  X(8, LAB_R4, 4, 5, 6, 7, 8, 9, 10, "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]))             \
  X(16, LAB_R8, 8, 9, 10, 11, 12, 13, 14, LAB_D8(0))                                             \
  X(32, LAB_R16, 16, 17, 18, 19, 20, 21, 22, LAB_D16(0))                                         \
  X(64, LAB_R32, 32, 33, 34, 35, 36, 37, 38, LAB_D32(0))                                         \
  X(80, LAB_R40, 40, 41, 42, 43, 44, 45, 46, LAB_D32(0), LAB_D8(32))                             \
  X(96, LAB_R48, 48, 49, 50, 51, 52, 53, 54, LAB_D32(0), LAB_D16(32))                            \
  X(112, LAB_R56, 56, 57, 58, 59, 60, 61, 62, LAB_D32(0), LAB_D16(32), LAB_D8(48))               \
  X(128, LAB_R64, 64, 65, 66, 67, 68, 69, 70, LAB_D32(0), LAB_D32(32))                           \
  X(144, LAB_R72, 72, 73, 74, 75, 76, 77, 78, LAB_D32(0), LAB_D32(32), LAB_D8(64))               \
  X(160, LAB_R80, 80, 81, 82, 83, 84, 85, 86, LAB_D32(0), LAB_D32(32), LAB_D16(64))              \
  X(176, LAB_R88, 88, 89, 90, 91, 92, 93, 94, LAB_D32(0), LAB_D32(32), LAB_D16(64), LAB_D8(80))  \
  X(192, LAB_R96, 96, 97, 98, 99, 100, 101, 102, LAB_D32(0), LAB_D32(32), LAB_D32(64))           \
  X(224, LAB_R112, 112, 113, 114, 115, 116, 117, 118, LAB_D32(0), LAB_D32(32), LAB_D32(64), LAB_D16(96)) \
  X(256, LAB_R128, 128, 129, 130, 131, 132, 133, 134, LAB_D32(0), LAB_D32(32), LAB_D32(64), LAB_D32(96))
// clang-format on

inline constexpr bool K_MAJOR = false, MN_MAJOR = true;

__host__ __device__ constexpr bool wgmma_has(int n) {
  for (const int known : {8, 16, 32, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256})
    if (n == known) return true;
  return false;
}

// A from shared memory. `accumulate` false: D is overwritten. No "memory" clobber: the fence before the products and the
// commit and the wait behind them have it, and between those a thread leaves the operands alone.
template <int N, bool B_MN_MAJOR = false, bool A_MN_MAJOR = false>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], Descriptor a, Descriptor b, bool accumulate) {
  static_assert(wgmma_has(N), "add a line for this N");
#define LAB_WGMMA(n, registers, of_a, of_b, of_accumulate, a_major, b_major, _5, _6, ...)                      \
  if constexpr (N == n)                                                                                        \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #of_accumulate                                           \
                 ", 0;\n"                                                                                      \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" registers "}, %" #of_a ", %" #of_b \
                 ", p, 1, 1, %" #a_major ", %" #b_major ";\n}\n"                                               \
                 : __VA_ARGS__                                                                                 \
                 : "l"(a), "l"(b), "r"(int(accumulate)), "n"(int(A_MN_MAJOR)), "n"(int(B_MN_MAJOR)));
  LAB_EACH_WIDTH(LAB_WGMMA)
#undef LAB_WGMMA
}

// A from registers.
template <int N, bool B_MN_MAJOR = false>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], const unsigned (&a)[4], Descriptor b, bool accumulate) {
  static_assert(wgmma_has(N), "add a line for this N");
#define LAB_WGMMA(n, registers, a0, a1, a2, a3, of_b, of_accumulate, of_major, ...)                                   \
  if constexpr (N == n)                                                                                               \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #of_accumulate                                                  \
                 ", 0;\n"                                                                                             \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" registers "}, {%" #a0 ", %" #a1 ", %" #a2 \
                 ", %" #a3 "}, %" #of_b ", p, 1, 1, %" #of_major ";\n}\n"                                             \
                 : __VA_ARGS__                                                                                        \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(accumulate)), "n"(int(B_MN_MAJOR)));
  LAB_EACH_WIDTH(LAB_WGMMA)
#undef LAB_WGMMA
}

// setmaxnreg: a warpgroup gives registers back to its block, or takes more. COUNT is what each of its threads has
// afterwards, a multiple of 8 from 24 to 256. (PTX ISA, "setmaxnreg".) registers_take waits until the block has as many to
// give: it hangs if no warpgroup releases them. The kernel needs __launch_bounds__, so that what a thread starts with is
// known.
template <int COUNT>
__device__ __forceinline__ void registers_release() {
  static_assert(COUNT >= 24 && COUNT <= 256 && COUNT % 8 == 0);
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(COUNT));
}
template <int COUNT>
__device__ __forceinline__ void registers_take() {
  static_assert(COUNT >= 24 && COUNT <= 256 && COUNT % 8 == 0);
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(COUNT));
}

// The operand of a product whose 16 columns, or rows of an MN-major one, begin at `first`, in a tile of one slab, [rows][64].
__device__ __forceinline__ Descriptor descriptor(const void* first) {
  return wgmma_descriptor(first, 16, 1024);  // 16: not used; 1024: from 8 rows to the next 8
}

// The operand of a product that begins at this row and column of a tile of [slabs][rows][64] halves. A later 16 columns
// of a slab begin within its first row, for the hardware swizzles the whole address; the leading offset, from slab to
// slab, is used by MN_MAJOR alone. The offset from product to product is added last, as a constant, so that the tile's
// own descriptor is computed once: rows to the address, for the row may be the warpgroup's.
template <int SLABS, int ROWS>
__device__ __forceinline__ Descriptor descriptor(const half (&tile)[SLABS][ROWS][64], int row, int column) {
  constexpr Descriptor FIELDS = wgmma_descriptor(0u, sizeof tile[0], 1024);  // 1024: from 8 rows to the next 8
  const unsigned at = (shared_address(tile) & 0x3FFFF) / 16 + row * 8;       // without the rank in a cluster
  const unsigned bytes = column / 64 * sizeof tile[0] + column % 64 * sizeof(half);
  return (FIELDS >> 32 << 32 | (unsigned(FIELDS) + at)) + bytes / 16;
}

// The same of tile `slot` of several: all tiles' descriptors come from the first one's.
template <int SLOTS, int SLABS, int ROWS>
__device__ __forceinline__ Descriptor descriptor(const half (&tiles)[SLOTS][SLABS][ROWS][64], int slot, int row,
                                                 int column) {
  return descriptor(tiles[0], row, column) + slot * (sizeof tiles[0] / 16);
}

// D as [columns / 8][4], mma.sync's layout.
template <bool B_MAJOR, bool A_MAJOR = K_MAJOR, int TILES>
__device__ __forceinline__ void wgmma(float (&d)[TILES][4], Descriptor a, Descriptor b, bool accumulate) {
  wgmma<8 * TILES, B_MAJOR, A_MAJOR>(reinterpret_cast<float(&)[4 * TILES]>(d), a, b, accumulate);
}
template <bool B_MAJOR, int TILES>
__device__ __forceinline__ void wgmma(float (&d)[TILES][4], const unsigned (&a)[4], Descriptor b,
                                      bool accumulate = true) {
  wgmma<8 * TILES, B_MAJOR>(reinterpret_cast<float(&)[4 * TILES]>(d), a, b, accumulate);
}
template <int TILES>
__device__ __forceinline__ void fence_registers(float (&d)[TILES][4]) {
#pragma unroll
  for (int i = 0; i < 4 * TILES; ++i) asm volatile("" : "+f"(d[i / 4][i % 4]) : : "memory");
}

}  // namespace lab::ptx
