// Shared memory to the byte: bytes beside each other, copies of any length, atomics, arrays by declaration; registers
// that nothing has written (checks/tests/checked.hpp).
#include <cuda_fp16.h>
#include <mma.h>

#include <cstring>

#include "checks/tests/checked.hpp"
#include "common/ptx/mma.cuh"

namespace lab::checked {
namespace {

using enum Finding::Kind;
constexpr Size SIZE{64, 1024, 1, 1};

// --- bytes ---------------------------------------------------------------------------------------

CHECKED(bytes_beside_each_other, silent(), silent({64, NO_SMEM, 3})) {
  LAB_SHARED(unsigned char, s, [64]);
  LAB_SHARED(bool, low, [2]);
  s[threadIdx.x] = (unsigned char)(threadIdx.x);
  if (threadIdx.x % 32 == 0) low[threadIdx.x / 32] = threadIdx.x == 0;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[63 - threadIdx.x] + low[threadIdx.x % 2];
}

CHECKED(byte_read_too_early, races(inter, "write", "read"),
        ascending(race(writes("write", 0, 3), reads("read", 1, 9), "s[3]"))) {
  LAB_SHARED(char, s, [64]);
  s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 3) s[3] = 2;                // [write]
  if (threadIdx.x == 41) out[41] = s[3];         // [read]
  if (threadIdx.x == 42) out[42] = s[2] + s[4];  // beside it
}

CHECKED(byte_into_a_word, races(inter, "byte", "word"),
        ascending(race(writes("byte", 0, 3), reads("word", 1, 9), "s[5]"))) {
  unsigned char* s = array<unsigned char>("s", 64, 1);
  s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 3) s[5] = 2;                                                 // [byte]
  if (threadIdx.x == 41) out[41] = int(reinterpret_cast<const unsigned*>(s)[1]);  // [word]
}

CHECKED(byte_uninitialised, only(alone(uninitialised, reads("read", 1, 0), "s[7]"))) {
  LAB_SHARED(char, s, [64]);
  if (threadIdx.x != 7) s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 32) out[32] = s[7] + s[6];  // [read]
}

// Each of the two bytes has the readers that the granule had when it was split.
CHECKED(byte_after_wide_reads, races(inter, "read", "write")) {
  half* s = array<half>("s", 64, 1);
  s[threadIdx.x] = half(1.0f);
  __syncthreads();
  if (threadIdx.x < 34) out[threadIdx.x] = int(float(s[5]));           // [read]
  if (threadIdx.x == 35) reinterpret_cast<unsigned char*>(s)[11] = 0;  // [write]
}

// --- copies --------------------------------------------------------------------------------------

CHECKED(copies_initialise, silent(), silent({64, 1024, 3})) {
  int* s = array<int>("s", 192, 1);
  const int own[3] = {int(threadIdx.x), 1, 2};
  int bytes = 12;
  asm volatile("" : "+r"(bytes));
  std::memset(s + 3 * threadIdx.x, 0, 12);
  std::memcpy(s + 3 * threadIdx.x, own, std::size_t(bytes));
  __syncthreads();
  int back[3];
  memmove(back, s + 3 * (63 - threadIdx.x), 12);
  out[blockIdx.x * blockDim.x + threadIdx.x] = back[0] + back[2];
}

CHECKED(copy_of_12_bytes, races(inter, "copy", "read"),
        ascending(race(writes("copy", 0, 3), reads("read", 1, 9), "s[4]"))) {
  int* s = array<int>("s", 64, 1);
  s[threadIdx.x] = 1;
  __syncthreads();
  const int own[3] = {1, 2, 3};
  if (threadIdx.x == 3) std::memcpy(s + 3, own, 12);  // [copy]
  if (threadIdx.x == 41) out[41] = s[4];              // [read]
}

// --- atomics -------------------------------------------------------------------------------------

CHECKED(atomics_in_order, silent(), silent({64, 1024, 3})) {
  LAB_SHARED(unsigned, n, [4]);
  if (threadIdx.x < 4) n[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&n[threadIdx.x % 4], 1u);
  atomicAdd(&n[threadIdx.x % 2], 1u);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = int(n[threadIdx.x % 4]);
}

constexpr Expect TOO_EARLY = finds({inter, intra}, {"add", "read"}, "one of them is atomic").every().sometimes();
CHECKED(atomic_read_too_early, TOO_EARLY) {
  LAB_SHARED(unsigned, n, [1]);
  if (threadIdx.x == 0) n[0] = 0;
  __syncthreads();
  atomicAdd(&n[0], 1u);                      // [add]
  if (threadIdx.x == 0) out[0] = int(n[0]);  // [read]
}

CHECKED(atomic_zeroed_too_late, finds({inter, intra}, {"zero", "add"}, "one of them is atomic").every().sometimes()) {
  LAB_SHARED(float, n, [4]);
  if (threadIdx.x < 4) n[threadIdx.x] = 0.0f;  // [zero]
  atomicAdd(&n[threadIdx.x % 4], 1.0f);        // [add]
  __syncthreads();
  out[threadIdx.x] = int(n[threadIdx.x % 4]);
}

CHECKED(atomic_uninitialised, only(alone(uninitialised, reads("add", 0, 5), "n[0]"))) {
  LAB_SHARED(float, n, [1]);
  if (threadIdx.x == 5) atomicAdd(&n[0], 1.0f);  // [add]
  __syncthreads();
  out[threadIdx.x] = int(n[0]);
}

// --- one fault, one finding ----------------------------------------------------------------------

// The read may come before anything is written; what is wrong is that nothing orders it.
CHECKED(read_before_its_write, races(inter, "read", "write")) {
  LAB_SHARED(int, s, [64]);
  if (threadIdx.x == 0) out[0] = s[40];  // [read]
  if (threadIdx.x == 40) s[40] = 7;      // [write]
  __syncthreads();
  out[threadIdx.x] += s[40];
}

CHECKED(same_value, ascending(race(writes("write", 0, 31), writes("write", 1, 0), "any[0]", 63))
                        .saying("every write leaves the same value")) {
  LAB_SHARED(int, any, [1]);
  if (threadIdx.x == 0) any[0] = 0;
  __syncthreads();
  any[0] = 1;  // [write]
  __syncthreads();
  out[threadIdx.x] = any[0];
}

CHECKED(last_value_differs, ELSEWHERE) {
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
CHECKED(one_race_of_two_instances, races(inter, "put", "get")) { exchange<1>(out), exchange<2>(out); }

// --- arrays by declaration, threads that have exited -----------------------------------------------

__device__ __forceinline__ int turned(int v) {
  LAB_SHARED(int, s, [32]);
  if (threadIdx.x < 32) s[threadIdx.x] = v;
  __syncthreads();
  return s[31 - threadIdx.x % 32];
}
template <int N>
__device__ __forceinline__ int filled(int v) {
  LAB_SHARED(int, s, [N]);
  for (int i = int(threadIdx.x); i < N; i += 64) s[i] = v;
  __syncthreads();
  return s[N - 1];
}
CHECKED(arrays_of_one_name, silent({64, NO_SMEM, 3})) {
  LAB_SHARED(int, s, [64]);
  s[threadIdx.x] = 7;
  const int sum = turned(1) + filled<32>(10) + filled<256>(100);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[63 - threadIdx.x] * 1000 + sum;
}

CHECKED(exit_before_a_barrier, silent(), silent({64, NO_SMEM, 3})) {
  LAB_SHARED(int, s, [64]);
  if (threadIdx.x >= 40) return;
  s[threadIdx.x] = 1;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[39 - threadIdx.x];
}

// --- lines ---------------------------------------------------------------------------------------

struct Three {
  int a, b, c;
};
__device__ __forceinline__ float sum_of(half a) { return a; }
__device__ __forceinline__ float sum_of(Three v) { return float(v.a + v.b + v.c); }

// g++ loads such an argument by a statement without a line; in a template nothing but the lines of statements beside it
// says where that is. A copy that a class leaves to the compiler has the line of the class.
template <class T>
__device__ __forceinline__ void read_by_value(int* out, T* s, T value) {
  s[threadIdx.x] = value;  // [store]
  const T* other = s + 63 - threadIdx.x;
  const float sum[2] = {sum_of(other[0]), 1.0f};  // [load]
  out[threadIdx.x] = int(sum[0] + sum[1]);
}
CHECKED(argument_by_value, races(inter, "store", "load")) { read_by_value(out, array<half>("s", 64, 1), half(1.0f)); }
CHECKED(struct_by_value, races(inter, "store", "load")) { read_by_value(out, array<Three>("s", 64, 1), {1, 2, 3}); }

// --- half, registers -----------------------------------------------------------------------------

CHECKED(half_rounds, silent({1, NO_SMEM})) {
  const half s(2048.0f), one(1.0f);
  out[0] = int(float(s + one + one)) + 10000 * int(float(s * one - one * one + one));
}

constexpr Expect UNWRITTEN = finds(uninitialised, {"product"}, "before anything was written to it", {32, NO_SMEM});
CHECKED(mma_not_cleared, UNWRITTEN.every()) {
  float c[4];
  asm volatile("" : : "r"(c) : "memory");
  const unsigned a[4] = {}, b[2] = {};
  for (float& x : c) x *= 0.0f;  // as a rescaling by exp(-inf) does
  ptx::mma_m16n8k16(c, a, b);    // [product]
  out[threadIdx.x] = int(c[0]);
}

CHECKED(fragment_not_cleared, UNWRITTEN.every()) {
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> a;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, half, nvcuda::wmma::col_major> b;
  nvcuda::wmma::fill_fragment(a, half(1.0f)), nvcuda::wmma::fill_fragment(b, half(1.0f));
  nvcuda::wmma::mma_sync(c, a, b, c);  // [product]
  out[threadIdx.x] = int(c.x[0]);
}

}  // namespace
}  // namespace lab::checked
