// Kernels that break a rule, <false>, and the same ones mended, <true>: of these nothing may be reported, and what they compute is the
// same in every order of threads and blocks.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cstdio>

#define KERNEL(name) template <bool kept> __global__ void name(int* out)
#define t threadIdx.x
#define lane (threadIdx.x % 32)
#define warp (threadIdx.x / 32)
#define arrive(barrier, threads) asm volatile("bar.arrive %0, %1;" : : "r"(barrier), "r"(threads) : "memory")
#define sync(barrier, threads) asm volatile("bar.sync %0, %1;" : : "r"(barrier), "r"(threads) : "memory")

const int INTS = 1024;
static int *out, errors, mended;
static unsigned computed;

static void begin() {
  if (!out) cudaMalloc(&out, INTS * sizeof(int));
  cudaMemset(out, 0, INTS * sizeof(int));
}
static void end(bool right) {
  const cudaError_t error = cudaDeviceSynchronize();
  errors += error != cudaSuccess;
  if (!right) return;
  if (error != cudaSuccess) printf("a mended kernel fails: %s\n", cudaGetErrorName(error));
  ++mended;
  for (int i = 0; i < INTS; ++i) computed = 31 * computed + out[i];
}
// The last line that a program prints.
static void done() { printf("%d mended kernels computed %08x, %d kernels failed\n", mended, computed, errors); }

#define BROKEN(kernel, blocks, threads) begin(); kernel<false><<<blocks, threads>>>(out); end(false)
#define RIGHT(kernel, blocks, threads) begin(); kernel<true><<<blocks, threads>>>(out); end(true)
#define BOTH(kernel, blocks, threads) BROKEN(kernel, blocks, threads); RIGHT(kernel, blocks, threads)
