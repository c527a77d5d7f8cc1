// Shared memory, declared array by array. A stage writes one `carve` function; the host runs it with SmemCount
// to learn the bytes to ask for, the kernel runs it with SmemCursor to get the pointers, and the two can't disagree.
// On the CPU the same calls tell the checker where each array lies, so that a report can say S_scores[56][0].
#pragma once
#include <cuda_runtime.h>

#include <cstddef>

#include "common/plan.hpp"

namespace lab {

#ifdef __CUDACC__

// Device side: hands out consecutive slices of the dynamic shared memory.
struct SmemCursor {
  unsigned char* next;
  __device__ SmemCursor() {
    extern __shared__ __align__(128) unsigned char dynamic_shared[];
    next = dynamic_shared;
  }
  template <class T>
  __host__ __device__ T* array(const char*, int rows, int pitch) {
    T* here = reinterpret_cast<T*>(next);
    next += smem_bytes(std::size_t(rows) * pitch, sizeof(T));
    return here;
  }
};

// The same for a plan with arrays that want more than 32 bytes.
struct AlignedSmemCursor {
  unsigned char* base;
  std::size_t used = 0;
  __device__ AlignedSmemCursor() {
    extern __shared__ __align__(1024) unsigned char dynamic_shared_1024[];
    base = dynamic_shared_1024;
  }
  template <class T, std::size_t ALIGN = SMEM_ALIGN>
  __host__ __device__ T* array(const char*, int rows, int pitch) {
    const std::size_t here = aligned_up(used, ALIGN);
    used = here + smem_bytes(std::size_t(rows) * pitch, sizeof(T));
    return reinterpret_cast<T*>(base + here);
  }
};

// A static __shared__ array, named for the CPU's reports: LAB_SHARED(half, sQ, [M][PITCH]);
#define LAB_SHARED(type, name, extents) __shared__ __align__(32) type name extents

#else

namespace cpu {
void* carve_dynamic(int index, const char* name, std::size_t element, int rows, int pitch, std::size_t bytes,
                    std::size_t align = SMEM_ALIGN);
void* carve_static(const void* declaration, const char* name, std::size_t element, std::size_t rows, std::size_t pitch,
                   std::size_t bytes);
}  // namespace cpu

struct SmemCursor {
  int index = 0;
  template <class T, std::size_t ALIGN = SMEM_ALIGN>
  T* array(const char* name, int rows, int pitch) {
    const std::size_t bytes = smem_bytes(std::size_t(rows) * pitch, sizeof(T));
    return static_cast<T*>(cpu::carve_dynamic(index++, name, sizeof(T), rows, pitch, bytes, ALIGN));
  }
};
using AlignedSmemCursor = SmemCursor;

namespace cpu {
// Arrays of one name in two functions, or in two instances of a template, are two arrays: `Declaration` is a type of the
// place where it stands.
template <class Declaration>
inline constexpr char of_declaration = 0;
template <class Array, class Declaration>
auto& static_shared(const char* name, Declaration) {
  using Element = std::remove_all_extents_t<Array>;
  constexpr std::size_t rows = std::extent_v<Array>;
  constexpr std::size_t elements = sizeof(Array) / sizeof(Element);
  return *static_cast<Array*>(carve_static(&of_declaration<Declaration>, name, sizeof(Element), rows, elements / rows,
                                           smem_bytes(elements, sizeof(Element))));
}
}  // namespace cpu
#define LAB_SHARED(type, name, extents) auto& name = lab::cpu::static_shared<type extents>(#name, [] {})

#endif

}  // namespace lab
