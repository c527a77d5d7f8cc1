// Kernels that race, or misuse memory and barriers, among others that do neither: of these nothing may be said.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

__device__ void f(int* g, int t) { __shared__ int s[32]; if (t < 32) s[t] = t; __syncthreads(); g[t] = s[t % 32]; }
__device__ void h(int* g, int t) { __shared__ int s[64]; s[t] = t; __syncthreads(); g[t] += s[63 - t]; }

#define KERNEL(name) __global__ void name(int* g)
#define t int(threadIdx.x)

// --- barriers of a block ---
KERNEL(div_loop) {
  for (int i = 0; i <= t / 32; ++i) {
    g[64 * i + t] = i;
    __syncthreads();
  }
}
KERNEL(div_same_line) {
  if (t < 32) __syncthreads(); else __syncthreads();
  g[t] = t;
}
KERNEL(div_lanes_else) {
  if (t % 2)
    __syncthreads();
  else
    __syncthreads();
}
KERNEL(early_return) {
  __shared__ int s[64];
  if (t >= 40) return;
  s[t] = t;
  __syncthreads();
  g[t] = s[39 - t];
}

// --- shared memory ---
KERNEL(s_atomic_clean) {
  __shared__ int n[4];
  if (t < 4) n[t] = 0;
  __syncthreads();
  atomicAdd(&n[t % 4], 1);
  __syncthreads();
  g[t] = n[t % 4];
}
KERNEL(s_atomic_init) {
  __shared__ int n;
  if (t == 0) atomicExch(&n, 0);
  __syncthreads();
  g[t] = n;
}
KERNEL(s_atomic_read) {
  __shared__ int n[4];
  if (t < 4) n[t] = 0;
  __syncthreads();
  atomicAdd(&n[t % 4], 1);
  g[t] = n[t % 4];
}
KERNEL(s_atomic_zero) {
  __shared__ int n[4];
  if (t < 4) n[t] = 0;
  atomicAdd(&n[t % 4], 1);
  __syncthreads();
  g[t] = n[t % 4];
}
KERNEL(s_bool_flags) {
  __shared__ bool f[4];
  if (t % 32 == 0) f[t / 32] = g[t] == 0;
  __syncthreads();
  g[t] = f[t % 4];
}
KERNEL(s_cas_lock) {
  __shared__ int lock, n;
  if (t == 0) lock = n = 0;
  __syncthreads();
  for (bool done = false; !done;) if (atomicCAS(&lock, 0, 1) == 0) { __threadfence_block(); n += 1; __threadfence_block(); atomicExch(&lock, 0); done = true; }
  __syncthreads();
  g[t] = n;
}
KERNEL(s_char) {
  __shared__ unsigned char s[64];
  s[t] = t;
  __syncthreads();
  g[t] = s[63 - t];
}
KERNEL(s_mixed) {
  __shared__ char c;
  __shared__ int d[2];
  if (t == 0) c = 1;
  if (t == 32) d[0] = 1;
  __syncthreads();
  g[t] = c + d[0];
}
KERNEL(s_samename) { f(g, t); __syncthreads(); h(g, t); }
KERNEL(s_war_uninit) {
  __shared__ int s[64];
  if (t == 0) g[0] = s[40];
  if (t == 40) s[40] = 7;
  __syncthreads();
  g[t] = s[40];
}
KERNEL(memcpy_init) {
  __shared__ int s[64 * 3];
  memcpy(s + 3 * t, g + 3 * t, 12);
  __syncthreads();
  g[300 + t] = s[3 * (63 - t)];
}
KERNEL(memcpy_race) {
  __shared__ char s[64 * 12];
  memset(s + 12 * t, t, 12); __syncthreads();
  memcpy(s + 12 * t, g + 3 * t, 12);
  g[300 + t] = s[12 * (63 - t)];
}
KERNEL(data_dependent) {
  __shared__ int s[64];
  s[g[t]] = t;
  __syncthreads();
  g[t] = s[0];
}
KERNEL(uninit_dyn) {
  extern __shared__ int s[];
  if (t) s[t] = t;
  __syncthreads();
  g[t] = s[t];
}
KERNEL(sum_float_atomic) {
  __shared__ float f;
  if (t == 0) f = 0;
  __syncthreads();
  atomicAdd(&f, 1.0f);
  __syncthreads();
  g[t] = int(f);
}
KERNEL(oob_padding) {
  __shared__ int a[33];
  if (t < 32) a[t] = t;
  if (t == 0) a[33] = 7;
  __syncthreads();
  g[t] = a[t % 32] + (t ? 0 : a[33]);
}

// --- within a warp ---
KERNEL(syncwarp_cond) {
  __shared__ int s[64];
  if (t < 32) { s[t] = t; __syncwarp(); g[t] = s[31 - t]; __syncwarp(); }
  __syncthreads();
  g[t] = s[t % 32];
}
KERNEL(warp_masked) {
  __shared__ int s[32];
  if (t < 16) { s[t] = t; __syncwarp(0xFFFF); g[t] = s[15 - t]; }
}

// --- global memory ---
KERNEL(g_atomic_plain) {
  if (t == 0) atomicAdd(&g[0], 1);
  if (t == 32) g[0] = 5;
}
KERNEL(g_block) { g[0] = blockIdx.x; }
KERNEL(g_char_warps) { ((unsigned char*)g)[t] = t; }
KERNEL(g_same) { if (t == 0) g[0] = 1; }
KERNEL(g_uninit) { g[2000 + t] = g[4000 + t]; }
KERNEL(g_warp_sync) {
  g[t] = t;
  __syncthreads();
  g[100 + t] = g[63 - t];
}
KERNEL(byte_blocks) { ((unsigned char*)g)[blockIdx.x] = 1; }
KERNEL(last_block) {
  __shared__ bool last;
  if (t == 0) {
    g[1 + blockIdx.x] = blockIdx.x;
    __threadfence();
    last = atomicAdd(&g[0], 1) == int(gridDim.x) - 1;
  }
  __syncthreads();
  if (last && t == 0) { int sum = 0; for (int i = 0; i < int(gridDim.x); ++i) sum += ((volatile int*)g)[1 + i]; g[100] = sum; }
}
KERNEL(lock) {
  if (t == 0) {
    while (atomicCAS(&g[0], 0, 1) != 0) {}
    __threadfence();
    g[1] += 1;
    __threadfence();
    atomicExch(&g[0], 0);
  }
}
KERNEL(spin) {
  if (t == 0) { g[1] = 5; __threadfence(); atomicExch(&g[0], 1); }
  if (t == 32) { while (atomicAdd(&g[0], 0) == 0) {} __threadfence(); g[2] = g[1]; }
}
KERNEL(spin_lanes) {
  if (t == 0) { g[1] = 5; __threadfence(); atomicExch(&g[0], 1); }
  if (t == 1) { while (atomicAdd(&g[0], 0) == 0) {} __threadfence(); g[2] = g[1]; }
}
KERNEL(spin_volatile) {
  if (t == 0) { g[1] = 5; __threadfence(); *(volatile int*)g = 1; }
  if (t == 32) { while (*(volatile int*)g == 0) {} __threadfence(); g[2] = g[1]; }
}
KERNEL(misaligned4) { *(int*)((char*)g + 8 * t + 1) = t; }
KERNEL(stack_oob) {
  int a[4] = {t, t, t, t};
  a[g[t] + 4] = 1;
  g[t] = a[g[t] & 3];
}

int main() {
  int *g, kernels = 0, failed = 0;
  cudaMalloc(&g, 4096 * sizeof(int));
#define RUN(name, ...) cudaMemset(g, 0, 4096 * sizeof(int)), name<<<__VA_ARGS__>>>(g), failed += cudaDeviceSynchronize() != cudaSuccess, ++kernels
  RUN(div_loop, 1, 64);
  RUN(div_same_line, 1, 64);
  RUN(div_lanes_else, 1, 64);
  RUN(early_return, 1, 64);
  RUN(s_atomic_clean, 1, 64);
  RUN(s_atomic_init, 1, 64);
  RUN(s_atomic_read, 1, 64);
  RUN(s_atomic_zero, 1, 64);
  RUN(s_bool_flags, 1, 128);
  RUN(s_cas_lock, 1, 64);
  RUN(s_char, 1, 64);
  RUN(s_mixed, 1, 64);
  RUN(s_samename, 1, 64);
  RUN(s_war_uninit, 1, 64);
  RUN(memcpy_init, 1, 64);
  RUN(memcpy_race, 1, 64);
  RUN(data_dependent, 1, 64);
  RUN(uninit_dyn, 1, 64, 256);
  RUN(sum_float_atomic, 1, 64);
  RUN(oob_padding, 1, 64);
  RUN(syncwarp_cond, 1, 64);
  RUN(warp_masked, 1, 32);
  RUN(g_atomic_plain, 1, 64);
  RUN(g_block, 2, 32);
  RUN(g_char_warps, 1, 64);
  RUN(g_same, 4, 32);
  RUN(g_uninit, 1, 64);
  RUN(g_warp_sync, 1, 64);
  RUN(byte_blocks, 4, 1);
  RUN(last_block, 4, 32);
  RUN(lock, 4, 32);
  RUN(spin, 1, 64);
  RUN(spin_lanes, 1, 2);
  RUN(spin_volatile, 1, 64);
  RUN(misaligned4, 1, 32);
  RUN(stack_oob, 1, 32);
  printf("%d kernels, %d failed\n", kernels, failed);
}
