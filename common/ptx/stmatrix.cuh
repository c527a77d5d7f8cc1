// stmatrix.sync.aligned.m8n8.x1/.x2/.x4[.trans].shared.b16: the way back of ldmatrix, registers to shared memory, sm_90
// and later. (PTX ISA, "stmatrix".) Lane 8i + j gives the address of row j of matrix i; the registers hold what
// ldmatrix of the same spelling would load (common/ptx/ldmatrix.cuh). All 32 lanes must call it together. It writes
// memory as a plain store does and orders none.
#pragma once
#include "common/ptx/ldmatrix.cuh"
#ifndef __CUDACC__
#include "common/cpu/instructions.h"
#endif

namespace lab::ptx {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ __forceinline__ void stmatrix_x1(half* row, const unsigned (&r)[1]) {
#ifdef __CUDACC__
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
               :
               : "r"(shared_address(row)), "r"(r[0])
               : "memory");
#else
  cpu::stmatrix(row, r, 1, false);
#endif
}

__device__ __forceinline__ void stmatrix_x2(half* row, const unsigned (&r)[2]) {
#ifdef __CUDACC__
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
               :
               : "r"(shared_address(row)), "r"(r[0]), "r"(r[1])
               : "memory");
#else
  cpu::stmatrix(row, r, 2, false);
#endif
}

__device__ __forceinline__ void stmatrix_x4(half* row, const unsigned (&r)[4]) {
#ifdef __CUDACC__
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :
               : "r"(shared_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
#else
  cpu::stmatrix(row, r, 4, false);
#endif
}

__device__ __forceinline__ void stmatrix_x1_trans(half* row, const unsigned (&r)[1]) {
#ifdef __CUDACC__
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
               :
               : "r"(shared_address(row)), "r"(r[0])
               : "memory");
#else
  cpu::stmatrix(row, r, 1, true);
#endif
}

__device__ __forceinline__ void stmatrix_x2_trans(half* row, const unsigned (&r)[2]) {
#ifdef __CUDACC__
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
               :
               : "r"(shared_address(row)), "r"(r[0]), "r"(r[1])
               : "memory");
#else
  cpu::stmatrix(row, r, 2, true);
#endif
}

__device__ __forceinline__ void stmatrix_x4_trans(half* row, const unsigned (&r)[4]) {
#ifdef __CUDACC__
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
               :
               : "r"(shared_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
#else
  cpu::stmatrix(row, r, 4, true);
#endif
}

#endif

}  // namespace lab::ptx
