// The tensor cores as one warp uses them: mma.sync multiplies registers, ldmatrix and stmatrix bring them from shared memory
// and back. All 32 lanes must call each of them together.
//
// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: C += A B, sm_80 and later. It moves registers only and orders no
// memory. (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type".)
//
//   A 16x16 half, B 16x8 half, C 16x8 float. With g = lane / 4 and t = lane % 4, a register of two halves holds, low
//   half first, two neighbours along k:
//     a[0]  A[g][2t]    A[g][2t+1]        a[1]  A[g+8][2t]    A[g+8][2t+1]
//     a[2]  A[g][2t+8]  A[g][2t+9]        a[3]  A[g+8][2t+8]  A[g+8][2t+9]
//     b[0]  B[2t][g]    B[2t+1][g]        b[1]  B[2t+8][g]    B[2t+9][g]
//     c[0]  C[g][2t]    c[1]  C[g][2t+1]  c[2]  C[g+8][2t]    c[3]  C[g+8][2t+1]
//   So two C tiles side by side, packed to halves, are the A of a next product. common/mma_layout.hpp has it as tables.
//
// ldmatrix.sync.aligned.m8n8.x4[.trans].shared.b16: loads four 8x8 matrices of halves from shared memory into the
// registers that mma wants, sm_75 and later; as a plain load does, it orders nothing. (PTX ISA, "ldmatrix".)
//
//   Matrix i has 8 rows of 16 bytes; lane 8i + j gives the address of its row j. Every row is 16-byte aligned and lies
//   in shared memory.
//   Lane l gets, of matrix i, with M its 8x8:
//     plain    r[i] = M[l/4][2(l%4)], M[l/4][2(l%4)+1]     low half first
//     .trans   r[i] = M[2(l%4)][l/4], M[2(l%4)+1][l/4]     the same of the transposed matrix
//
// stmatrix.sync.aligned.m8n8.x4[.trans].shared.b16: the way back, sm_90 and later: the registers hold what ldmatrix
// of the same spelling would load. (PTX ISA, "stmatrix".)
#pragma once
#include <cuda_fp16.h>

#include "common/tile.cuh"

namespace lab::ptx {

__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void ldmatrix_x4(unsigned (&r)[4], const half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

__device__ __forceinline__ void ldmatrix_x4_trans(unsigned (&r)[4], const half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
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

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ __forceinline__ void stmatrix_x4(half* row, const unsigned (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :
               : "r"(shared_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

__device__ __forceinline__ void stmatrix_x4_trans(half* row, const unsigned (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
               :
               : "r"(shared_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

#endif

}  // namespace lab::ptx
