// A launcher's plan and its refusals, on the host. What is the same for every kernel stands in plan.cpp: compiled with
// each kernel and for each of its tiles, it was half of the compilation.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "common/stage.hpp"

namespace lab {

// Arrays start on 32-byte boundaries: WMMA wants 256-bit aligned pointers. An array that TMA swizzles starts on 1024
// bytes, as the pattern depends on the address: cursor.array<half, SWIZZLE_ALIGN>(...), from an AlignedSmemCursor.
inline constexpr std::size_t SMEM_ALIGN = 32, SWIZZLE_ALIGN = 1024;
__host__ __device__ constexpr std::size_t smem_bytes(std::size_t elements, std::size_t element) {
  return (elements * element + SMEM_ALIGN - 1) / SMEM_ALIGN * SMEM_ALIGN;
}

__host__ __device__ constexpr std::size_t aligned_up(std::size_t bytes, std::size_t align) {
  return (bytes + align - 1) / align * align;
}

template <class T>
constexpr const char* type_name() {
  return sizeof(T) == 2 ? "half" : sizeof(T) == 4 ? "float" : "mbarrier";
}

// Host side of a plan: counts bytes and keeps the list for reports. Returns null pointers.
struct SmemCount {
  std::vector<SharedArray> arrays;
  std::size_t bytes = 0;
  SmemCount();
  ~SmemCount();
  template <class T, std::size_t ALIGN = SMEM_ALIGN>
  __host__ __device__ T* array(const char* name, int rows, int pitch) {
#ifndef __CUDA_ARCH__  // nvcc wants `carve`, which serves both sides, to call nothing that is host-only
    add(name, type_name<T>(), rows, pitch, smem_bytes(std::size_t(rows) * pitch, sizeof(T)), ALIGN);
#endif
    return nullptr;
  }
  void add(const char* name, const char* type, int rows, int pitch, std::size_t size, std::size_t align);
};

// Of a kernel whose blocks take m query rows of one head each, n keys at a time.
struct TileNumbers {
  int m, n, rows_per_warp, slots;
};

// `dynamic_smem` is asked for at launch; `static_smem` is what the kernel declares as __shared__ arrays.
LaunchPlan plan_of(const TileNumbers& tile, const Shape& shape, int threads, const SmemCount& dynamic_smem,
                   const SmemCount& static_smem);

// "attention<64,2>"
std::string attention_name(std::initializer_list<int> numbers);

// One line on why the last launch was refused; the backend's take_exec_report() hands it on.
void set_launch_message(const std::string& message);

// Refuses, with the code and text of the source notes' dispatcher, what the stage's target could not run, whatever
// the GPU at hand allows. `smem` in bytes, static and dynamic together.
cudaError_t check_budget(const char* kernel_name, std::size_t smem);
// The same of a whole plan, whose static part has a limit of its own.
cudaError_t check_budget(const char* kernel_name, const LaunchPlan& plan);

// A stage's launcher for one tile (attention_launch.cuh).
struct TileLauncher {
  bool (*takes)(const Shape& shape);
  LaunchPlan (*plan)(const Shape& shape);
  cudaError_t (*launch)(const AttentionArgs& args, const LaunchPlan& plan);
};

// By the first that takes the shape; if none does, refused, or thrown as std::invalid_argument.
cudaError_t launch_by(std::span<const TileLauncher> tiles, const AttentionArgs& args);
LaunchPlan plan_by(std::span<const TileLauncher> tiles, const Shape& shape);

}  // namespace lab
