// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: C += A B on the tensor cores, one warp, sm_80 and later.
// (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type".)
//
//   A 16x16 half, B 16x8 half, C 16x8 float. With g = lane / 4 and t = lane % 4, a register of two halves holds, low
//   half first, two neighbours along k:
//     a[0]  A[g][2t]    A[g][2t+1]        a[1]  A[g+8][2t]    A[g+8][2t+1]
//     a[2]  A[g][2t+8]  A[g][2t+9]        a[3]  A[g+8][2t+8]  A[g+8][2t+9]
//     b[0]  B[2t][g]    B[2t+1][g]        b[1]  B[2t+8][g]    B[2t+9][g]
//     c[0]  C[g][2t]    c[1]  C[g][2t+1]  c[2]  C[g+8][2t]    c[3]  C[g+8][2t+1]
//   So two C tiles side by side, packed to halves, are the A of a next product. common/mma_layout.hpp has it as tables.
//
// All 32 lanes must call it together. It moves registers only and orders no memory.
#pragma once
#include <cuda_fp16.h>
#ifndef __CUDACC__
#include "common/cpu/instructions.h"
#endif

namespace lab::ptx {

__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  cpu::mma_m16n8k16(c, a, b);
#endif
}

}  // namespace lab::ptx
