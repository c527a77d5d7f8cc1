// The beginning of every program of this folder. RULE(name) is a kernel that is launched as it should be, name<true>, and with the fault,
// name<false>. A comment [mark] is how expected.tsv names the line.
#pragma once
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

// Maps of one 64 x 64 tensor of halves, element i is i % 37, in boxes of 8 rows, of 8 rows swizzled, of 4 rows; and of one to store into.
struct Maps {
  CUtensorMap in, swizzled, rows4, out;
};
#define RULE(name)      \
  template <bool KEPT>  \
  __global__ void name( \
      [[maybe_unused]] const __grid_constant__ Maps maps, [[maybe_unused]] half* data, [[maybe_unused]] int* out)

__device__ inline int warp() { return int(threadIdx.x / 32); }
__device__ inline int lane() { return int(threadIdx.x % 32); }
__device__ inline int bits(half h) { return __half_as_ushort(h); }
__device__ inline void must(bool good) {
  if (!good) __trap();
}

struct Config {
  unsigned threads, blocks = 1, cluster = 1;
  bool overlaps = false;
};

namespace host {
inline Maps maps;
inline half* data;
inline int* out;
inline unsigned long long sum;
inline int right, failed;

inline void encode(CUtensorMap& map, half* tensor, unsigned rows, CUtensorMapSwizzle swizzle) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  const cuuint64_t extents[] = {64, 64}, strides[] = {128};
  const cuuint32_t box[] = {64, rows}, steps[] = {1, 1};
  reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, tensor, extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

inline void start() {
  constexpr int ELEMENTS = 64 * 64;
  static half values[ELEMENTS];
  half* stored = nullptr;
  cudaMalloc(&data, sizeof values), cudaMalloc(&stored, sizeof values), cudaMalloc(&out, 4096);
  for (int i = 0; i < ELEMENTS; ++i) values[i] = __float2half(float(i % 37));
  cudaMemcpy(data, values, sizeof values, cudaMemcpyHostToDevice);
  encode(maps.in, data, 8, CU_TENSOR_MAP_SWIZZLE_NONE), encode(maps.out, stored, 8, CU_TENSOR_MAP_SWIZZLE_NONE);
  encode(maps.swizzled, data, 8, CU_TENSOR_MAP_SWIZZLE_128B), encode(maps.rows4, data, 4, CU_TENSOR_MAP_SWIZZLE_NONE);
}

// Of right kernels what they computed counts too: no order of threads changes it.
inline void end(bool kept, const char* name) {
  const cudaError_t error = cudaDeviceSynchronize();
  int got[1024];
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  for (int i = 0; kept && i < 1024; ++i) sum = sum * 31 + unsigned(got[i]);
  if (kept) ++(error ? failed : right);
  if (kept && error) printf("%s: %s\n", name, cudaGetErrorName(error));
}
inline int result() {
  printf("%d right, %d failed, computed %llu\n", right, failed, sum);
  return 0;
}
}  // namespace host

#define LAUNCH(kernel, kept, ...)                                                                   \
  do {                                                                                              \
    const Config size{__VA_ARGS__};                                                                 \
    cudaLaunchAttribute attributes[2]{};                                                            \
    attributes[0].id = cudaLaunchAttributeClusterDimension;                                         \
    attributes[0].val.clusterDim = {size.cluster, 1, 1};                                            \
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;                          \
    attributes[1].val.programmaticStreamSerializationAllowed = size.overlaps;                       \
    cudaLaunchConfig_t config{};                                                                    \
    config.gridDim = dim3(size.blocks), config.blockDim = dim3(size.threads);                       \
    config.dynamicSmemBytes = sizeof(Smem), config.attrs = attributes, config.numAttrs = 2;         \
    cudaMemset(host::out, 0, 4096);                                                                 \
    cudaLaunchKernelEx(&config, kernel<kept>, host::maps, host::data, host::out);                   \
    host::end(kept, #kernel);                                                                       \
  } while (0)
#define BROKEN(kernel, ...) LAUNCH(kernel, false, __VA_ARGS__)
#define RIGHT(kernel, ...) LAUNCH(kernel, true, __VA_ARGS__)
#define BOTH(kernel, ...) \
  RIGHT(kernel, __VA_ARGS__); \
  BROKEN(kernel, __VA_ARGS__)
