// ldmatrix.sync.aligned.m8n8.x1/.x2/.x4[.trans].shared.b16: a warp loads 8x8 matrices of halves from shared memory into
// the registers that mma wants, sm_75 and later. (PTX ISA, "ldmatrix".)
//
//   Matrix i has 8 rows of 16 bytes; lane 8i + j gives the address of its row j, so x1 reads the `row` of lanes 0..7,
//   x2 of 0..15, x4 of all; the other lanes' are ignored. Every row is 16-byte aligned and lies in shared memory.
//   Lane l gets, of matrix i, with M its 8x8:
//     plain    r[i] = M[l/4][2(l%4)], M[l/4][2(l%4)+1]     low half first
//     .trans   r[i] = M[2(l%4)][l/4], M[2(l%4)+1][l/4]     the same of the transposed matrix
//
// All 32 lanes must call it together. It reads memory as a plain load does and orders none.
#pragma once
#include <cuda_fp16.h>

#include "common/ptx/shared_address.cuh"
#ifndef __CUDACC__
#include "common/cpu/instructions.h"
#endif

namespace lab::ptx {

__device__ __forceinline__ void ldmatrix_x1(unsigned (&r)[1], const half* row) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(shared_address(row))
               : "memory");
#else
  cpu::ldmatrix(r, row, 1, false);
#endif
}

__device__ __forceinline__ void ldmatrix_x2(unsigned (&r)[2], const half* row) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
#else
  cpu::ldmatrix(r, row, 2, false);
#endif
}

__device__ __forceinline__ void ldmatrix_x4(unsigned (&r)[4], const half* row) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
#else
  cpu::ldmatrix(r, row, 4, false);
#endif
}

__device__ __forceinline__ void ldmatrix_x1_trans(unsigned (&r)[1], const half* row) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(shared_address(row))
               : "memory");
#else
  cpu::ldmatrix(r, row, 1, true);
#endif
}

__device__ __forceinline__ void ldmatrix_x2_trans(unsigned (&r)[2], const half* row) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
#else
  cpu::ldmatrix(r, row, 2, true);
#endif
}

__device__ __forceinline__ void ldmatrix_x4_trans(unsigned (&r)[4], const half* row) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
#else
  cpu::ldmatrix(r, row, 4, true);
#endif
}

// x4 for two B operands of mma.m16n8k16: matrices 0 and 1 are the first's registers, 2 and 3 the second's.
__device__ __forceinline__ void ldmatrix_x4(unsigned (&b0)[2], unsigned (&b1)[2], const half* row) {
  unsigned r[4];
  ldmatrix_x4(r, row);
  b0[0] = r[0], b0[1] = r[1], b1[0] = r[2], b1[1] = r[3];
}

__device__ __forceinline__ void ldmatrix_x4_trans(unsigned (&b0)[2], unsigned (&b1)[2], const half* row) {
  unsigned r[4];
  ldmatrix_x4_trans(r, row);
  b0[0] = r[0], b0[1] = r[1], b1[0] = r[2], b1[1] = r[3];
}

}  // namespace lab::ptx
