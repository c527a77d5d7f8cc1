// Initialisation, bounds, bytes, arrays by declaration, the compiler's ABI (rules.hpp).
#include <cuda_fp16.h>
#include <mma.h>

#include <cstring>

#include "checks/tests/rules.hpp"
#include "common/ptx/mma.cuh"

namespace lab::rules {
namespace {

using enum Finding::Kind;
constexpr Group GROUP{{64, 1024}};
constexpr Size WARP{32};

template <class T>
__device__ __forceinline__ T* opaque(T* p) {
  asm volatile("" : "+r"(p));
  return p;
}

// --- initialisation ------------------------------------------------------------------------------

RULE(unwritten_half, alone(uninitialised, reads("read", 1, 5), "h[1][13]", 3).of({0, 0, 3})) {
  half* h = array<half>("h", 8, 24);
  if (threadIdx.x != 37 || kept) h[threadIdx.x] = half(1.0f);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = int(float(h[threadIdx.x]));  // [read]
}

RULE(half_of_a_word_unwritten, alone(uninitialised, reads("read", 0, 0), "pairs[1][2]")) {
  half2* pairs = array<half2>("pairs", 4, 8);
  if (threadIdx.x) return;
  pairs[10].x = half(1.0f);
  if (kept) pairs[10].y = half(1.0f);
  out[0] = int(float(pairs[10].x));  // fine
  const half2 both = pairs[10];      // [read]
  out[0] += int(float(both.x) + float(both.y));
}

RULE(mma_not_cleared, finds(uninitialised, "product", nullptr, "before anything was written to it").of(WARP)) {
  float c[4];
  asm volatile("" : : "r"(c) : "memory");
  for (float& x : c) x *= 0.0f;  // as a rescaling by exp(-inf) does
  if (kept)
    for (float& x : c) x = 0.0f;
  const unsigned a[4] = {}, b[2] = {};
  ptx::mma_m16n8k16(c, a, b);  // [product]
  out[threadIdx.x] = int(c[0]);
}

RULE(fragment_not_cleared, finds(uninitialised, "product", nullptr, "before anything was written to it").of(WARP)) {
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> a;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, half, nvcuda::wmma::col_major> b;
  nvcuda::wmma::fill_fragment(a, half(1.0f)), nvcuda::wmma::fill_fragment(b, half(1.0f));
  if (kept) nvcuda::wmma::fill_fragment(c, 0.0f);
  nvcuda::wmma::mma_sync(c, a, b, c);  // [product]
  out[threadIdx.x] = int(c.x[0]);
}

// --- bounds --------------------------------------------------------------------------------------

constexpr Expect PAST_END[] = {
    finds({out_of_bounds}, writes("write", 0, 11)).at("a[16][0], past the end of a (16 rows)").among_others(),
    finds({out_of_bounds}, reads("read", 0, 12)).at("a[17][1], past the end of a (16 rows)").among_others()};
RULE(past_end, PAST_END[0].of(WARP), PAST_END[1].of(WARP), PAST_END[0].of(WARP).with_gaps(),
     PAST_END[1].of(WARP).with_gaps()) {
  half* a = array<half>("a", 16, 8);
  for (int i = 0; i < 4; ++i) a[32 * i + lane()] = half(0.0f);
  __syncwarp();
  if (lane() == 11) a[kept ? 127 : 128] = half(1.0f);         // [write]
  if (lane() == 12) out[12] = int(float(a[kept ? 9 : 137]));  // [read]
}

// The launch asks for 200 of the array's 256 bytes.
RULE(past_a_short_request,
     alone(out_of_bounds, writes("write", 0, 0), "a[12][4], past the request of 200 B").of({32, 200})) {
  half* a = array<half>("a", 16, 8);
  if (threadIdx.x == 0) a[kept ? 99 : 100] = half(1.0f);  // [write]
}

constexpr Expect BEFORE_FIRST = alone(out_of_bounds, writes("write", 0, 5), nullptr).of(WARP);
RULE(before_the_first_array, BEFORE_FIRST, BEFORE_FIRST.with_gaps()) {
  half* a = array<half>("a", 16, 8);
  if (threadIdx.x == 5) a[kept ? 0 : -1] = half(1.0f);  // [write]
}

constexpr Expect OF_STATIC[] = {
    alone(out_of_bounds, reads("read", 0, 5), "table[8][2], past the end of table (8 rows)"),
    alone(out_of_bounds, writes("write", 0, 5), "byte -12 of the static shared memory (1024 B)")};
RULE(past_static, OF_STATIC[0].of(WARP), OF_STATIC[0].of(WARP).with_gaps()) {
  LAB_SHARED(float, table, [8][32]);
  for (int i = 0; i < 8; ++i) table[i][threadIdx.x] = 0.0f;
  __syncwarp();
  const float* flat = opaque(&table[0][0]);
  if (threadIdx.x == 5) out[5] = int(flat[(kept ? 7 : 8) * 32 + 2]);  // [read]
}
RULE(before_static, OF_STATIC[1].of(WARP), OF_STATIC[1].of(WARP).with_gaps()) {
  LAB_SHARED(float, table, [8][32]);
  float* flat = opaque(&table[0][0]);
  if (threadIdx.x == 5) flat[kept ? 3 : -3] = 1.0f;  // [write]
}

// From one array into the next: only gaps can show it.
constexpr Expect INTO_NEXT[] = {
    finds({out_of_bounds}, reads("read", 0, 5)).at("a[17][3], past the end of a (16 rows)").among_others(),
    finds({out_of_bounds}, writes("write", 0, 6)).saying("past the end of a (16 rows)").among_others()};
RULE(into_the_next_array, INTO_NEXT[0].of(WARP).with_gaps(), INTO_NEXT[1].of(WARP).with_gaps()) {
  SmemCursor cursor;
  half* a = cursor.array<half>("a", 16, 8);
  float* b = cursor.array<float>("b", 4, 16);
  for (int i = 0; i < 4; ++i) a[32 * i + lane()] = half(0.0f);
  for (int i = 0; i < 2; ++i) b[32 * i + lane()] = 0.0f;
  __syncwarp();
  if (lane() == 5) out[5] = int(float(a[kept ? 3 : 17 * 8 + 3]));  // [read]
  if (lane() == 6) b[kept ? 6 : -1] = 1.0f;                        // [write]
}

// `out` has an int a thread.
RULE(past_global, alone(out_of_bounds, writes("write", 0, 20), "global memory", 2)
                      .of({64, 0, 2})
                      .saying("20 B past the end of argument 2, a buffer of 512 B")) {
  const unsigned n = gridDim.x * blockDim.x;
  if (threadIdx.x == 20) out[kept ? n - 64 * blockIdx.x - 1 : n + 5] = 1;  // [write]
}
// --- bytes, copies -------------------------------------------------------------------------------

RULE(byte_into_a_word, race(writes("byte", 0, 3), reads("word", 1, 9), "s[5]").if_ascending(),
     finds(inter, "byte", "word")) {
  unsigned char* s = array<unsigned char>("s", 64);
  s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 3) s[5] = 2;  // [byte]
  if (kept) __syncthreads();
  if (threadIdx.x == 41) out[41] = int(reinterpret_cast<const unsigned*>(s)[1]);  // [word]
}

// Each of the two bytes has the readers that the granule had when it was split.
RULE(byte_after_wide_reads, finds(inter, "read", "write")) {
  half* s = array<half>("s", 64);
  s[threadIdx.x] = half(1.0f);
  __syncthreads();
  if (threadIdx.x < 34) out[threadIdx.x] = int(float(s[5]));  // [read]
  if (kept) __syncthreads();
  if (threadIdx.x == 35) reinterpret_cast<unsigned char*>(s)[11] = 0;  // [write]
}

RULE(unwritten_byte, alone(uninitialised, reads("read", 1, 0), "s[7]")) {
  LAB_SHARED(char, s, [64]);
  if (threadIdx.x != 7 || kept) s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 32) out[32] = s[7] + s[6];  // [read]
}

// --- same values, lines, instances ---------------------------------------------------------------

constexpr const char* SAME = "every write leaves the same value";
RULE(same_value, race(writes("write", 0, 31), writes("write", 1, 0), "any[0]").times(63).saying(SAME).if_ascending()) {
  LAB_SHARED(int, any, [1]);
  if (threadIdx.x == 0) any[0] = 0;
  __syncthreads();
  if (threadIdx.x == 9 || !kept) any[0] = 1;  // [write]
}
BROKEN(last_value_differs, finds({inter, intra}, nullptr).among_others()) {
  LAB_SHARED(int, any, [1]);
  if (threadIdx.x < 63) any[0] = 1;
  if (threadIdx.x == 63) any[0] = 2;
}

template <int N>
__device__ __forceinline__ void exchange(int* out) {
  LAB_SHARED(int, s, [64]);
  s[threadIdx.x] = N;                       // [put]
  out[threadIdx.x] += s[63 - threadIdx.x];  // [get]
}
BROKEN(one_race_of_two_instances, finds(inter, "put", "get")) { exchange<1>(out), exchange<2>(out); }

struct Three {
  int a, b, c;
};
__device__ __forceinline__ float sum_of(half a) { return a; }
__device__ __forceinline__ float sum_of(Three v) { return float(v.a + v.b + v.c); }
// g++ loads such an argument by a statement without a line; in a template nothing but the lines of statements beside it says where
// that is. A copy that a class leaves to the compiler has the line of the class.
template <class T>
__device__ __forceinline__ void read_by_value(int* out, bool kept, T* s, T value) {
  s[threadIdx.x] = value;  // [store]
  if (kept) __syncthreads();
  const T* other = s + 63 - threadIdx.x;
  const float sum[2] = {sum_of(other[0]), 1.0f};  // [load]
  out[threadIdx.x] = int(sum[0] + sum[1]);
}
RULE(argument_by_value, finds(inter, "store", "load")) { read_by_value(out, kept, array<half>("s", 64), half(1.0f)); }
RULE(struct_by_value, finds(inter, "store", "load")) { read_by_value(out, kept, array<Three>("s", 64), {1, 2, 3}); }

// --- the compiler's ABI: each marked line is out of bounds (test_rules.cpp) -----------------------

struct Twelve {
  int word[3];
};
struct Big {
  int word[12];
};
template <class T>
struct [[gnu::packed]] Packed {
  char first;
  T value;
};
// The compiler may not drop a store because of a later one.
#define KEEP asm volatile("" ::: "memory")
template <class T>
__device__ __forceinline__ T& as(unsigned char* p) {
  return *reinterpret_cast<T*>(p);
}

// Each access ends where its 16 bytes do, the last one 160 bytes on.
__device__ __forceinline__ void every_size(unsigned char* s, int* out) {
  as<unsigned char>(s + 15) = 1;               // [write 1]
  as<std::uint16_t>(s + 30) = 1;               // [write 2]
  as<std::uint32_t>(s + 44) = 1;               // [write 4]
  as<std::uint64_t>(s + 56) = 1;               // [write 8]
  as<unsigned __int128>(s + 64) = 1;           // [write 16]
  int sum = as<unsigned char>(s + 95);         // [read 1]
  sum += as<std::uint16_t>(s + 110);           // [read 2]
  sum += int(as<std::uint32_t>(s + 124));      // [read 4]
  sum += int(as<std::uint64_t>(s + 136));      // [read 8]
  sum += int(as<unsigned __int128>(s + 144));  // [read 16]
  out[threadIdx.x] = sum;
}
RULE(sizes_past_end, finds(out_of_bounds, "write 4").of({1, 256}).among_others()) {
  unsigned char* s = array<unsigned char>("s", 256);
  for (int i = 0; i < 256; ++i) s[i] = 0;
  every_size(opaque(s + 256 - (kept ? 160 : 0)), out);
}
RULE(sizes_past_global, finds(out_of_bounds, "write 4").of({64}).among_others()) {
  if (threadIdx.x == 0) every_size(opaque(reinterpret_cast<unsigned char*>(out + 64) - (kept ? 160 : 0)), out);
}

BROKEN(ranges_past_end, finds(out_of_bounds, "write 12").of({1, 256}).among_others()) {
  unsigned char* s = array<unsigned char>("s", 256);
  for (int i = 0; i < 64; ++i) as<int>(s + 4 * i) = i;
  unsigned char* end = opaque(s + 256);
  as<Twelve>(end - 8) = as<Twelve>(s);  // [write 12]
  KEEP;
  as<Twelve>(s) = as<Twelve>(end - 4);  // [read 12]
  KEEP;
  as<Big>(end - 32) = as<Big>(s);  // [write 48]
  KEEP;
  as<Big>(s) = as<Big>(end - 16);  // [read 48]
  KEEP;
  as<Packed<int>>(end - 3).value = 5;  // [write packed 4]
  KEEP;
  out[0] = as<Packed<int>>(end - 3).value;  // [read packed 4]
  KEEP;
  as<Packed<std::uint64_t>>(end - 7).value = 1;  // [write packed 8]
  KEEP;
  out[0] += int(as<Packed<std::uint64_t>>(end - 7).value);  // [read packed 8]
  KEEP;
  volatile int* v = reinterpret_cast<volatile int*>(end + 32);
  *v = 1;  // [write volatile]
  KEEP;
  out[0] += v[1];  // [read volatile]
  KEEP;
  __builtin_memcpy(end + 64, s, 16);  // [write memcpy]
  KEEP;
}

}  // namespace
}  // namespace lab::rules
