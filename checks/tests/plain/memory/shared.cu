// Shared memory: initialisation, bounds, single bytes; which races are one, and where a report says that they are.
#include "both.h"

// --- initialisation ---
KERNEL(unwritten_half) {
  __shared__ half h[8][24];
  half* flat = h[0];
  if (t != 37 || kept) flat[t] = half(1.0f);
  __syncthreads();
  out[t] = int(float(flat[t]));
}
KERNEL(half_of_a_pair_unwritten) {
  __shared__ half2 pairs[16];
  if (t) return;
  pairs[10].x = half(1.0f);
  if (kept) pairs[10].y = half(1.0f);
  out[0] = int(float(pairs[10].x));  // this one is written
  const half2 both = pairs[10];
  out[0] += int(float(both.x) + float(both.y));
}
KERNEL(unwritten_byte) {
  __shared__ char s[64];
  if (t != 7 || kept) s[t] = 1;
  __syncthreads();
  if (t == 32) out[32] = s[7] + s[6];
}
KERNEL(block_after_block) {
  __shared__ int s[2];
  if (blockIdx.x == 0 || kept) s[t] = 1;
  out[2 * blockIdx.x + t] = s[t];
}

// --- bounds ---
__device__ int* opaque(void* p) {
  asm volatile("" : "+r"(p));
  return (int*)p;
}
KERNEL(past_the_end) {
  __shared__ int a[16];
  if (t < 16) a[t] = 0;
  __syncwarp();
  if (t == 11) opaque(a)[kept ? 15 : 16] = 1;
  if (t == 12) out[12] = opaque(a)[kept ? 14 : 17];
}
KERNEL(before_the_first) {
  __shared__ int a[16];
  if (t == 5) opaque(a)[kept ? 0 : -1] = 1;
}
KERNEL(into_the_next_array) {
  __shared__ half a[16][8];
  __shared__ float b[4][16];
  for (int i = 0; i < 4; ++i) a[4 * i + lane / 8][lane % 8] = half(0.0f);
  for (int i = 0; i < 2; ++i) b[2 * i + lane / 16][lane % 16] = 0.0f;
  __syncwarp();
  if (lane == 5) out[5] = ((half*)opaque(a))[kept ? 3 : 17 * 8 + 3] == half(0.0f);
  if (lane == 6) opaque(b)[kept ? 6 : -1] = 1;
}
KERNEL(past_a_buffer) {
  if (t == 20) out[kept ? 1023 : 1029] = 1;
}

// --- bytes ---
KERNEL(byte_into_a_word) {
  __shared__ __align__(4) unsigned char s[64];
  s[t] = 1;
  __syncthreads();
  if (t == 3) s[5] = 2;
  if (kept) __syncthreads();
  if (t == 41) out[41] = ((unsigned*)s)[1] >> 8 & 255;
}
// Each of the two bytes has the readers that the half had when it was split.
KERNEL(byte_after_wide_reads) {
  __shared__ half s[64];
  s[t] = half(1.0f);
  __syncthreads();
  if (t < 34) out[t] = int(float(s[5]));
  if (kept) __syncthreads();
  if (t == 35) ((unsigned char*)s)[11] = 0;
}

// --- one race is one finding ---
KERNEL(same_value) {
  __shared__ int any[1];
  if (t == 0) any[0] = 0;
  __syncthreads();
  if (t == 9 || !kept) any[0] = 1;
}
KERNEL(last_value_differs) {
  __shared__ int any[1];
  if (t < 63) any[0] = 1;
  if (t == 63) any[0] = 2;
}
template <int N>
__device__ __forceinline__ void exchange(int* out) {
  __shared__ int s[64];
  s[t] = N;
  out[t] += s[63 - t];
}
KERNEL(of_two_instances) { exchange<1>(out), exchange<2>(out); }
// Of several hundred racing pairs in six blocks.
KERNEL(many_at_once) {
  __shared__ int s[64];
  if (t < 64) s[t] = 0;
  __syncthreads();
  out[96 * blockIdx.x + t] = s[t % 64];
  if (t < 64) s[63 - t] = 1;
}

// --- its lines ---
struct Three {
  int a, b, c;
};
__device__ __forceinline__ float sum_of(half a) { return a; }
__device__ __forceinline__ float sum_of(Three v) { return float(v.a + v.b + v.c); }
// g++ loads such an argument by a statement without a line; in a template nothing but the lines of statements beside it says where that
// is. A copy that a class leaves to the compiler has the line of the class.
template <class T>
__device__ __forceinline__ void read_by_value(int* out, bool kept, T* s, T value) {
  s[t] = value;
  if (kept) __syncthreads();
  const T* other = s + 63 - t;
  const float sum[2] = {sum_of(other[0]), 1.0f};
  out[t] = int(sum[0] + sum[1]);
}
KERNEL(half_by_value) {
  __shared__ half s[64];
  read_by_value(out, kept, s, half(1.0f));
}
KERNEL(struct_by_value) {
  __shared__ Three s[64];
  s[t] = {t == 0, 2, 3};
  if (kept) __syncthreads();
  const Three other = s[63 - t];
  out[t] = int(sum_of(other));
}

int main() {
  BOTH(unwritten_half, 1, 64);
  BOTH(half_of_a_pair_unwritten, 1, 64);
  BOTH(unwritten_byte, 1, 64);
  BOTH(block_after_block, 3, 2);
  BOTH(past_the_end, 1, 32);
  BOTH(before_the_first, 1, 32);
  BOTH(into_the_next_array, 1, 32);
  BOTH(past_a_buffer, 1, 32);
  BOTH(byte_into_a_word, 1, 64);
  BOTH(byte_after_wide_reads, 1, 64);
  BOTH(same_value, 1, 64);
  BROKEN(last_value_differs, 1, 64);
  BROKEN(of_two_instances, 1, 64);
  BROKEN(many_at_once, 6, 96);
  BOTH(half_by_value, 1, 64);
  BOTH(struct_by_value, 1, 64);
  done();
}
