// Collectives, barriers, indices and copies compute what the CUDA guide says, in every order of threads.
#include <cuda_pipeline.h>
#include <vector>
#include "both.h"

static int wrong, compared;
template <class A, class B>
static void same(const char* what, A a, B b) {
  ++compared;
  if (a != b && wrong++ < 9) printf("%s: %lld, not %lld\n", what, (long long)a, (long long)b);
}
static std::vector<int> ints;
#define RUN(kernel, blocks, threads, ...) \
  begin(); kernel<<<blocks, threads>>>(__VA_ARGS__); end(true); ints.resize(INTS); cudaMemcpy(ints.data(), out, INTS * 4, cudaMemcpyDeviceToHost)

// --- shuffles: segments of `width` lanes, positions inside them ---
template <class T>
__host__ __device__ T value_of(int thread) {  // other bits in every byte and lane, of no NaN
  T value;
  for (unsigned i = 0; i < sizeof(T); ++i) ((unsigned char*)&value)[i] = (unsigned(thread) * 37 + 11 * i + 3) % 59;
  return value;
}
template <class T>
__global__ void shuffles(T* got, int operand, int width) {
  const T mine = value_of<T>(t);
  got[t] = __shfl_sync(~0u, mine, operand, width);
  got[64 + t] = __shfl_up_sync(~0u, mine, operand, width);
  got[128 + t] = __shfl_down_sync(~0u, mine, operand, width);
  got[192 + t] = __shfl_xor_sync(~0u, mine, operand, width);
}
template <class T>
static void shuffles_of() {
  T *device, got[256];
  cudaMalloc(&device, sizeof got);
  for (int width = 2; width <= 32; width *= 2)
    for (const int operand : {-1, 0, 1, 2, 3, 7, 8, 15, 16, 30, 31, 32, 37}) {
      shuffles<T><<<1, 64>>>(device, operand, width);
      cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost);
      for (int thread = 0; thread < 64; ++thread) {
        const int l = thread % 32, five = operand & 31, in = l % width, flipped = l ^ five;  // five bits are taken
        const int from[] = {l - in + five % width, in >= five ? l - five : l, in + five < width ? l + five : l,
                            flipped / width <= l / width ? flipped : l};  // an earlier segment may be read, a later one not
        for (int kind = 0; kind < 4; ++kind) {
          const T value = value_of<T>(thread - l + from[kind]);
          same("shuffle", memcmp(&got[64 * kind + thread], &value, sizeof value), 0);
        }
      }
    }
  cudaFree(device);
}

// --- votes and masks ---
__global__ void votes(int* out) {
  const unsigned mask = t % 2 ? 0xAAAAAAAAu : 0x55555555u;
  out[t] = int(__ballot_sync(~0u, t & 1)), out[32 + t] = int(__ballot_sync(~0u, -5));  // any non-zero value is true
  out[64 + t] = int(__ballot_sync(mask, t >= 8)), out[96 + t] = __all_sync(mask, t % 2), out[128 + t] = __any_sync(mask, t == 6);
}
__global__ void three_levels_deep(int* out) {
  int trace = 0;
  if (t < 16) {
    trace += int(__ballot_sync(0xFFFFu, t % 2));  // 0xAAAA
    if (t < 8) {
      trace += __shfl_sync(0xFFu, int(t), 5) * 0x10000;
      if (t < 4) {
        __syncwarp(0xFu);
        trace += __shfl_down_sync(0xFu, int(t), 1, 4) * 0x1000000;
      } else {
        trace += __shfl_xor_sync(0xF0u, int(t), 3) * 0x1000000;
      }
      trace += __popc(__ballot_sync(0xFFu, 1));
    }
  } else {
    trace = -__shfl_up_sync(0xFFFF0000u, int(t), 4, 16);
  }
  out[t] = trace, out[32 + t] = int(__ballot_sync(~0u, trace < 0));
}
// Legal while no thread waits for a waiting lane: 16..23 wait for 8..15, and these for 0..7.
__global__ void overlapping_masks(int* out) {
  if (t < 16) out[t] = int(__ballot_sync(0xFFFFu, t >= 12));
  if (t >= 8 && t < 24) out[32 + t] = int(__ballot_sync(0xFFFF00u, t < 10));
}
__global__ void alone(int* out) {
  for (unsigned i = 0; i <= t; ++i) {  // each lane another number of times
    out[t] = int(__ballot_sync(1u << t, 1));
    out[32 + t] += __shfl_sync(1u << t, int(t), int(t));
    __syncwarp(1u << t);
  }
}
__global__ void some_have_returned(int* out) {
  if (t < 3) return;
  out[t] = int(__ballot_sync(~0u, 1));
  out[64 + t] = __shfl_sync(~0u, int(t), 5);
  if (t == 39) return;
  __syncwarp();
}

// --- barriers ---
__global__ void barrier_holds_all(int* out) {
  __shared__ int arrived;
  if (t == 0) arrived = 0;
  __syncthreads();
  atomicAdd(&arrived, 1);
  __syncthreads();
  const int first = arrived;
  __syncthreads();
  atomicAdd(&arrived, 1);
  __syncthreads();
  out[t] = first * 10000 + arrived;
}
__global__ void one_warp_has_returned(int* out) {
  __shared__ int before;
  if (t == 0) before = 0;
  __syncthreads();
  if (warp == 1) return;
  atomicAdd(&before, 1);
  __syncthreads();
  out[t] = before;
}

// --- indices ---
__global__ void indices(int* out, dim3 grid, dim3 block) {
  const unsigned thread = threadIdx.x + block.x * (threadIdx.y + block.y * threadIdx.z);
  const unsigned number = blockIdx.x + grid.x * (blockIdx.y + grid.y * blockIdx.z);
  const bool dims = blockDim.x == block.x && blockDim.y == block.y && blockDim.z == block.z && gridDim.x == grid.x &&
                    gridDim.y == grid.y && gridDim.z == grid.z;
  __syncthreads();  // and they are still this thread's after others have run
  const unsigned again = threadIdx.x + block.x * (threadIdx.y + block.y * threadIdx.z);
  const unsigned first = __shfl_sync(~0u, thread, 0);
  atomicAdd(&out[number * block.x * block.y * block.z + thread], dims && again == thread && first == thread / 32 * 32);
}

// --- copies ---
template <int bytes, int zeros>
__global__ void copy(const char* from, int* out) {
  __shared__ __align__(16) char s[32][16];
  for (int i = 0; i < 16; ++i) s[t][i] = 100;
  __pipeline_memcpy_async(s[t], from + 16 * t, bytes, zeros);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  for (int i = 0; i < 16; ++i) out[16 * t + i] = s[t][i];
}
template <int bytes, int zeros>
static void copies(const char* from) {
  RUN((copy<bytes, zeros>), 1, 32, from, out);
  for (int i = 0; i < 512; ++i) same("copy", ints[i], i % 16 >= bytes ? 100 : i % 16 >= bytes - zeros ? 0 : i % 97);
}

// --- a stack of 20 KiB, and one that overflows ---
__device__ __noinline__ int dig(int levels) {
  volatile char here[512];
  here[0] = char(levels);
  return levels ? dig(levels - 1) + here[0] : here[0];
}
KERNEL(deep) { out[t] = dig(t == 33 && !kept ? 1000 : 30); }

int main() {
  shuffles_of<int>(), shuffles_of<unsigned>(), shuffles_of<float>(), shuffles_of<double>(), shuffles_of<long long>();
  shuffles_of<unsigned long long>(), shuffles_of<half>(), shuffles_of<half2>();
  RUN(votes, 1, 32, out);
  for (int l = 0; l < 32; ++l) {
    same("ballot", unsigned(ints[l]), 0xAAAAAAAAu), same("ballot of -5", unsigned(ints[32 + l]), ~0u);
    same("ballot of a mask", unsigned(ints[64 + l]), l % 2 ? 0xAAAAAA00u : 0x55555500u);
    same("all", ints[96 + l] != 0, l % 2 == 1), same("any", ints[128 + l] != 0, l % 2 == 0);
  }
  RUN(three_levels_deep, 1, 32, out);
  for (int l = 0; l < 32; ++l) {
    int is = 0xAAAA;
    if (l < 8) is += 5 * 0x10000 + 8 + (l >= 4 ? l ^ 3 : l < 3 ? l + 1 : 3) * 0x1000000;
    same("divergence", ints[l], l < 16 ? is : -(l < 20 ? l : l - 4)), same("and back", unsigned(ints[32 + l]), 0xFFFF0000u);
  }
  RUN(overlapping_masks, 1, 32, out);
  for (int l = 0; l < 24; ++l) {
    if (l < 16) same("first mask", ints[l], 0xF000);
    if (l >= 8) same("second mask", ints[32 + l], 0x300);
  }
  RUN(alone, 1, 32, out);
  for (int l = 0; l < 32; ++l) same("one lane", unsigned(ints[l]), 1u << l), same("one lane", ints[32 + l], l * (l + 1));
  RUN(some_have_returned, 1, 40, out);
  same("returned", unsigned(ints[5]), 0xFFFFFFF8u), same("do not exist", unsigned(ints[35]), 0xFFu);
  same("shuffled", ints[64 + 9], 5), same("shuffled", ints[64 + 33], 37);
  for (const int threads : {1, 31, 33, 48, 96, 256, 500, 1024}) {
    RUN(barrier_holds_all, 1, threads, out);
    for (int i = 0; i < threads; ++i) same("barrier", ints[i], threads * 10000 + 2 * threads);
  }
  RUN(one_warp_has_returned, 1, 96, out);
  for (int i = 0; i < 96; ++i) same("barrier of the rest", ints[i], i / 32 == 1 ? 0 : 64);
  const dim3 shapes[][2] = {{dim3(5), dim3(70)}, {dim3(3, 2), dim3(9, 5)}, {dim3(2, 1, 4), dim3(3, 5, 7)}, {dim3(1, 1, 3), dim3(1, 1, 64)}, {dim3(1, 7), dim3(1, 33)}};
  for (const auto& shape : shapes) {
    const dim3 grid = shape[0], block = shape[1];
    RUN(indices, grid, block, out, grid, block);
    for (int i = 0; i < int(grid.x * grid.y * grid.z * block.x * block.y * block.z); ++i) same("indices", ints[i], 1);
  }
  char host[512], *from;
  for (int i = 0; i < 512; ++i) host[i] = i % 97;
  cudaMalloc(&from, 512);
  cudaMemcpy(from, host, 512, cudaMemcpyHostToDevice);
  copies<4, 0>(from), copies<4, 1>(from), copies<4, 4>(from), copies<8, 0>(from), copies<8, 4>(from), copies<16, 0>(from), copies<16, 1>(from), copies<16, 16>(from);
  BOTH(deep, 1, 64);
  printf("%d wrong of %d; ", wrong, compared);
  done();
}
