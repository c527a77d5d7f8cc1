// CUDA's spelling for g++: the part of cuda_runtime.h that the stages and the harness use, executed on the CPU.
// On a GPU build the toolkit's own header of this name is found instead.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/counts.hpp"
#include "common/emulator/special_functions.hpp"

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__

// g++ tells of every load and store of an instrumented kernel, but not of what memcpy and its kin do where that is no
// single load and store. These say it first, and g++ inlines them as it does the C library's own checked versions.
#ifdef __SANITIZE_THREAD__
extern "C" {
void lab_tell_read(void* address, std::size_t bytes) __asm__("__tsan_read_range");
void lab_tell_write(void* address, std::size_t bytes) __asm__("__tsan_write_range");
#define LAB_TELLS extern inline __attribute__((gnu_inline, always_inline, artificial))
LAB_TELLS void lab_tell_copy(void* to, const void* from, std::size_t bytes) {
  if (__builtin_constant_p(bytes) && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16)) return;
  if (from) lab_tell_read(const_cast<void*>(from), bytes);
  lab_tell_write(to, bytes);
}
LAB_TELLS void* memcpy(void* to, const void* from, std::size_t bytes) noexcept {
  lab_tell_copy(to, from, bytes);
  return __builtin_memcpy(to, from, bytes);
}
LAB_TELLS void* memmove(void* to, const void* from, std::size_t bytes) noexcept {
  lab_tell_copy(to, from, bytes);
  return __builtin_memmove(to, from, bytes);
}
LAB_TELLS void* memset(void* to, int byte, std::size_t bytes) noexcept {
  lab_tell_copy(to, nullptr, bytes);
  return __builtin_memset(to, byte, bytes);
}
#undef LAB_TELLS
}
#endif

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline unsigned __float_as_uint(float x) {
  unsigned bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float __uint_as_float(unsigned bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

// The values are CUDA's own, so that an exit status or a log means the same on both backends.
enum cudaError_t : int {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidSymbol = 13,
  cudaErrorInvalidDevicePointer = 17,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchTimeout = 702,
  cudaErrorAssert = 710,
  cudaErrorIllegalInstruction = 715,
  cudaErrorMisalignedAddress = 716,
  cudaErrorLaunchFailure = 719,
  cudaErrorNotSupported = 801,
  cudaErrorInvalidClusterSize = 912,
  cudaErrorUnknown = 999,
};
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
};
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;

const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();  // clears the error it returns
cudaError_t cudaPeekAtLastError();
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

// Global memory: every buffer ends at its exact size; the checker reports a byte past it.
cudaError_t cudaMalloc(void** pointer, std::size_t bytes);
template <class T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemset(void* to, int byte, std::size_t bytes);
// Work given to a stream has ended when the call returns.
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes, cudaStream_t) {
  return cudaMemset(to, byte, bytes);
}

enum cudaLimit {
  cudaLimitStackSize,
  cudaLimitPrintfFifoSize,
  cudaLimitMallocHeapSize,
  cudaLimitPersistingL2CacheSize = 6
};
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value);
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit);

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop);

namespace lab::cpu {
cudaError_t set_max_dynamic_smem(const void* kernel, int bytes);
cudaError_t allow_large_clusters(const void* kernel, bool allow);
}  // namespace lab::cpu
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed)
    return lab::cpu::allow_large_clusters(reinterpret_cast<const void*>(kernel), value != 0);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  return lab::cpu::set_max_dynamic_smem(reinterpret_cast<const void*>(kernel), value);
}

// Set by the scheduler at every switch; a fiber never leaves its OS thread.
extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;
inline constexpr int warpSize = 32;

// --- barriers and warp collectives: common/emulator/block.cpp says how a rendezvous works ----------------
namespace lab::cpu {
void block_barrier();
void syncwarp(unsigned mask);
enum class Shuffle { index, up, down, exclusive_or };
std::uint32_t shuffle(Shuffle kind, unsigned mask, std::uint32_t value, int operand, int width);
enum class Vote { ballot, any, all };
unsigned vote(Vote kind, unsigned mask, bool predicate);  // the lanes whose predicate holds
float butterfly_sum(unsigned mask, float value);
float butterfly_max(unsigned mask, float value);
bool spelled_out();  // ExecOptions::spelled_out of the running block
[[noreturn]] void trap();

// Tells who counts (common/counts.hpp) of an instruction without an address. Instrumented kernels alone are counted.
void count_lane(Counted what);
__forceinline__ void counted([[maybe_unused]] Counted what) {
#ifdef __SANITIZE_THREAD__
  count_lane(what);
#endif
}

template <class T>
__forceinline__ T shuffle_as(Shuffle kind, unsigned mask, T value, int operand, int width) {
  std::uint32_t words[(sizeof(T) + 3) / 4] = {};
  std::memcpy(words, &value, sizeof(T));
  for (std::uint32_t& word : words) word = shuffle(kind, mask, word, operand, width);
  std::memcpy(&value, words, sizeof(T));
  return value;
}
}  // namespace lab::cpu

__forceinline__ void __syncthreads() { lab::cpu::block_barrier(); }
__forceinline__ void __syncwarp(unsigned mask = 0xFFFFFFFFu) { lab::cpu::syncwarp(mask); }
template <class T>
__forceinline__ T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  return lab::cpu::shuffle_as(lab::cpu::Shuffle::index, mask, value, lane, width);
}
template <class T>
__forceinline__ T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return lab::cpu::shuffle_as(lab::cpu::Shuffle::up, mask, value, int(delta), width);
}
template <class T>
__forceinline__ T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return lab::cpu::shuffle_as(lab::cpu::Shuffle::down, mask, value, int(delta), width);
}
template <class T>
__forceinline__ T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  return lab::cpu::shuffle_as(lab::cpu::Shuffle::exclusive_or, mask, value, lane_mask, width);
}
__forceinline__ unsigned __ballot_sync(unsigned mask, int predicate) {
  return lab::cpu::vote(lab::cpu::Vote::ballot, mask, predicate != 0);
}
__forceinline__ int __any_sync(unsigned mask, int predicate) {
  return lab::cpu::vote(lab::cpu::Vote::any, mask, predicate != 0) != 0;
}
__forceinline__ int __all_sync(unsigned mask, int predicate) {
  return lab::cpu::vote(lab::cpu::Vote::all, mask, predicate == 0) == 0;
}
[[noreturn]] __forceinline__ void __trap() { lab::cpu::trap(); }

// --- arithmetic ------------------------------------------------------------------------------------------
__forceinline__ float __expf(float x) {
  lab::cpu::counted(lab::Counted::exponential);
  return lab::fast_exp(x);
}
__forceinline__ float __fdividef(float x, float y) {
  lab::cpu::counted(lab::Counted::reciprocal);
  return lab::fast_divide(x, y);
}
template <class T>
const T& __ldg(const T* pointer) {
  return *pointer;
}
using std::max;
using std::min;

#include "cuda_atomics.h"
