// Initialisation, bounds, and the compiler's ABI: kernels that keep a rule and kernels that break it
// (checks/tests/checked.hpp).
#include <cuda_fp16.h>

#include "checks/tests/checked.hpp"

namespace lab::checked {
namespace {

using enum Finding::Kind;
constexpr Size SIZE{96, 256, 1, 1};

// --- initialisation and bounds -------------------------------------------------------------------

CHECKED(read_uninitialised, only({alone(uninitialised, reads("half", 1, 5), "h[1][13]", 3),
                                  alone(uninitialised, reads("float", 1, 8), "f[9]", 3)},
                                 {64, 384 + 64, 3})) {
  SmemCursor cursor;
  half* h = cursor.array<half>("h", 8, 24);
  float* f = cursor.array<float>("f", 10, 1);
  if (threadIdx.x != 37) h[threadIdx.x] = half(1.0f);
  if (threadIdx.x < 9) f[threadIdx.x] = 1.0f;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = int(float(h[threadIdx.x]));  // [half]
  if (threadIdx.x == 40) out[blockIdx.x * blockDim.x + 40] += int(f[9]);    // [float]
}

CHECKED(half_initialised, ascending(alone(uninitialised, reads("read", 0, 0), "pairs[1][2]"), {32, 128})) {
  half2* pairs = array<half2>("pairs", 4, 8);
  if (threadIdx.x == 0) pairs[10].x = half(1.0f);
  if (threadIdx.x == 0) out[0] = int(float(pairs[10].x));  // fine
  if (threadIdx.x == 0) {
    const half2 both = pairs[10];  // [read]
    out[0] += int(float(both.x) + float(both.y));
  }
}

CHECKED(initialised_by_all, silent({96, 1024})) {
  unsigned char* bytes = array<unsigned char>("bytes", 64, 16);
  if (threadIdx.x < 64) reinterpret_cast<uint4*>(bytes)[threadIdx.x] = make_uint4(1, 2, 3, 4);
  __syncthreads();
  const int i = int(threadIdx.x);
  out[i] = bytes[i] + int(reinterpret_cast<std::uint64_t*>(bytes)[i]) + reinterpret_cast<short*>(bytes)[i];
}

constexpr Expect PAST_REQUEST =
    only({alone(out_of_bounds, writes("write", 0, 11), "a[16][0], past the end of a (16 rows)"),
          alone(out_of_bounds, reads("read", 0, 12), "a[17][1], past the end of a (16 rows)")},
         {32});
CHECKED(past_request, PAST_REQUEST, PAST_REQUEST.with_gaps()) {
  half* a = array<half>("a", 16, 8);
  for (int i = 0; i < 4; ++i) a[32 * i + threadIdx.x] = half(0.0f);
  __syncwarp();
  if (threadIdx.x == 11) a[128] = half(1.0f);                  // [write]
  if (threadIdx.x == 12) out[12] = int(float(a[16 * 8 + 9]));  // [read]
}

CHECKED(past_short_request,
        ascending(alone(out_of_bounds, writes("write", 0, 0), "a[12][4], past the request of 200 B"),
                  {32, 200})) {  // the launch asks for 200 of these 256 bytes
  half* a = array<half>("a", 16, 8);
  if (threadIdx.x == 0) a[99] = half(1.0f);
  if (threadIdx.x == 0) a[100] = half(1.0f);  // [write]
  out[threadIdx.x] = 0;
}

CHECKED(into_gap, ELSEWHERE) {
  SmemCursor cursor;
  half* a = cursor.array<half>("a", 16, 8);
  float* b = cursor.array<float>("b", 4, 16);
  for (int i = 0; i < 4; ++i) a[32 * i + threadIdx.x] = half(0.0f);
  for (int i = 0; i < 2; ++i) b[32 * i + threadIdx.x] = 0.0f;
  __syncwarp();
  if (threadIdx.x == 5) out[5] = int(float(a[17 * 8 + 3]));  // [read]
  if (threadIdx.x == 6) b[-1] = 1.0f;                        // [write]
}

constexpr Expect PAST_STATIC =
    ascending(alone(out_of_bounds, reads("read", 0, 5), "table[8][2], past the end of table (8 rows)"), {32, NO_SMEM});
CHECKED(past_static, PAST_STATIC, PAST_STATIC.with_gaps()) {
  LAB_SHARED(float, table, [8][32]);
  for (int i = 0; i < 8; ++i) table[i][threadIdx.x] = 0.0f;
  __syncwarp();
  float* flat = &table[0][0];
  asm volatile("" : "+r"(flat));
  if (threadIdx.x == 5) out[5] = int(flat[8 * 32 + 2]);  // [read]
}

constexpr Expect BEFORE_STATIC = ascending(
    alone(out_of_bounds, writes("write", 0, 5), "byte -12 of the static shared memory (1024 B)"), {32, NO_SMEM});
CHECKED(before_static, BEFORE_STATIC, BEFORE_STATIC.with_gaps()) {
  LAB_SHARED(float, table, [8][32]);
  float* flat = &table[0][0];
  asm volatile("" : "+r"(flat));
  if (threadIdx.x == 5) flat[-3] = 1.0f;  // [write]
  out[threadIdx.x] = 0;
}

CHECKED(before_first, ascending(alone(out_of_bounds, writes("write", 0, 5), nullptr), {32}),
        ascending(alone(out_of_bounds, writes("write", 0, 5), nullptr), {32}).with_gaps()) {
  half* a = array<half>("a", 16, 8);
  if (threadIdx.x == 5) a[-1] = half(1.0f);  // [write]
  out[threadIdx.x] = 0;
}

CHECKED(past_global, ascending({alone(out_of_bounds, writes("write", 0, 20), "global memory", 2),
                                alone(out_of_bounds, reads("read", 1, 8), "global memory", 2)},
                               {96, NO_SMEM, 2})
                         .saying(" B past the end of argument 2, a buffer of 768 B")) {  // `out` has an int a thread
  const unsigned n = gridDim.x * blockDim.x;
  if (threadIdx.x == 20) out[n] = 1;                                          // [write]
  if (threadIdx.x == 40) out[blockIdx.x * blockDim.x + 40] = out[n + 5] + 1;  // [read]
}

CHECKED(past_global_by_half, ascending(alone(out_of_bounds, writes("write", 0, 20), "global memory"), {96, NO_SMEM})) {
  const unsigned n = gridDim.x * blockDim.x;
  auto* last = reinterpret_cast<std::uint64_t*>(out + n - 1);
  asm volatile("" : "+r"(last));
  if (threadIdx.x == 20) *last = 1;  // [write]
}

CHECKED(inside_global, silent({96, NO_SMEM, 3})) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = int(i);
  __syncthreads();
  if (i % 4 == 0) *reinterpret_cast<uint4*>(out + i) = make_uint4(i, i + 1, i + 2, i + 3);
}

// --- the compiler's ABI --------------------------------------------------------------------------

struct Twelve {
  int word[3];
};
struct Big {
  int word[12];
};
struct [[gnu::packed]] Odd {
  char first;
  int value;
};

__device__ __forceinline__ unsigned char* opaque(unsigned char* p) {
  asm volatile("" : "+r"(p));
  return p;
}
// The compiler may not drop a store because of a later one.
#define KEEP asm volatile("" ::: "memory")

template <class T>
__device__ __forceinline__ T& as(unsigned char* p) {
  return *reinterpret_cast<T*>(p);
}
__device__ __forceinline__ void every_size(unsigned char* s, int* out) {
  as<unsigned char>(s + 0) = 1;                // [write 1]
  as<std::uint16_t>(s + 16) = 1;               // [write 2]
  as<std::uint32_t>(s + 32) = 1;               // [write 4]
  as<std::uint64_t>(s + 48) = 1;               // [write 8]
  as<unsigned __int128>(s + 64) = 1;           // [write 16]
  int sum = as<unsigned char>(s + 80);         // [read 1]
  sum += as<std::uint16_t>(s + 96);            // [read 2]
  sum += int(as<std::uint32_t>(s + 112));      // [read 4]
  sum += int(as<std::uint64_t>(s + 128));      // [read 8]
  sum += int(as<unsigned __int128>(s + 144));  // [read 16]
  out[threadIdx.x] = sum;
}

// 256 bytes are asked for; every access lies past them.
CHECKED(sizes_past_end, ELSEWHERE) { every_size(opaque(array<unsigned char>("s", 256, 1) + 256), out); }

// The last byte of every access is the last of the request.
CHECKED(sizes_up_to_end, silent({1})) {
  unsigned char* end = opaque(array<unsigned char>("s", 256, 1) + 256);
  as<unsigned __int128>(end - 16) = 1;
  as<std::uint64_t>(end - 8) = 1;
  as<std::uint32_t>(end - 4) = 1;
  as<std::uint16_t>(end - 2) = 1;
  as<unsigned char>(end - 1) = 1;
  out[threadIdx.x] = int(as<unsigned __int128>(end - 16)) + int(as<std::uint64_t>(end - 8)) +
                     int(as<std::uint32_t>(end - 4)) + as<std::uint16_t>(end - 2) + as<unsigned char>(end - 1);
}

// Only the last two bytes of every access lie past the end of the array's 256.
CHECKED(sizes_across_end, ELSEWHERE) {
  unsigned char* end = opaque(array<unsigned char>("s", 256, 1) + 256);
  for (int i = 4; i <= 16; i += 4) as<std::uint32_t>(end - i) = 1;
  struct [[gnu::packed]] P4 {
    std::uint32_t v;
  };
  struct [[gnu::packed]] P8 {
    std::uint64_t v;
  };
  as<P4>(end - 2).v = 1;  // [write 4]
  KEEP;
  as<P8>(end - 6).v = 1;  // [write 8]
  KEEP;
  int sum = int(as<P4>(end - 2).v);  // [read 4]
  KEEP;
  sum += int(as<P8>(end - 6).v);  // [read 8]
  KEEP;
  out[threadIdx.x] = sum;
}

CHECKED(ranges_past_end, ELSEWHERE) {
  unsigned char* s = array<unsigned char>("s", 256, 1);
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
  as<Odd>(end - 3).value = 5;  // [write odd]
  KEEP;
  out[threadIdx.x] = as<Odd>(end - 1).value;  // [read odd]
  KEEP;
  volatile int* v = reinterpret_cast<volatile int*>(end + 32);
  *v = 1;  // [write volatile]
  KEEP;
  out[threadIdx.x] += v[1];  // [read volatile]
  KEEP;
  __builtin_memcpy(end + 64, s, 16);  // [write memcpy]
  KEEP;
}

CHECKED(sizes_past_global, ELSEWHERE) {
  every_size(opaque(reinterpret_cast<unsigned char*>(out + gridDim.x * blockDim.x)), out);
}

}  // namespace
}  // namespace lab::checked
