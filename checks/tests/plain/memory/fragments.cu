// Fragments of matrices: WMMA, ldmatrix and stmatrix read and write as the lanes whose rows they are.
#include <mma.h>
#include "both.h"

using namespace nvcuda;
using A = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using B = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major>;
using C = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;
// Row l % 16, columns 0..7 or 8..15: matrices 0 and 1 are the left half, 2 and 3 the right.
#define ROW_OF(tile) (unsigned)__cvta_generic_to_shared(tile + lane % 16 * 16 + lane / 16 * 8)
#define LDMATRIX(r, tile) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(ROW_OF(tile)))

__device__ __forceinline__ half* written_tile(int rows = 16) {
  __shared__ __align__(32) half tile[16][16];
  for (int i = t; i < 16 * rows; i += 32) tile[0][i] = half(0.0f);
  __syncthreads();
  return tile[0];
}

KERNEL(wmma_load) {
  half* tile = written_tile();
  if (lane == 3) tile[5 * 16 + 9] = half(1.0f);
  if (kept) __syncwarp();
  A a;
  wmma::load_matrix_sync(a, tile, 16);
  out[lane] = int(float(a.x[0]));
}
KERNEL(ldmatrix_load) {
  half* tile = written_tile();
  if (lane == 3) tile[5 * 16 + 9] = half(1.0f);
  if (kept) __syncwarp();
  unsigned r[4];
  LDMATRIX(r, tile);
  out[lane] = int(r[2]);
}
KERNEL(wmma_of_unwritten) {
  A a;
  wmma::load_matrix_sync(a, written_tile(kept ? 16 : 14), 16);
  out[lane] = int(float(a.x[0]));
}
KERNEL(ldmatrix_of_unwritten) {
  half* tile = written_tile(kept ? 16 : 14);
  unsigned r[4];
  LDMATRIX(r, tile);
  out[lane] = int(r[0]);
}
KERNEL(wmma_past_the_end) {
  A a;
  wmma::load_matrix_sync(a, written_tile() + (kept ? 0 : 16), 16);
  out[lane] = int(float(a.x[0]));
}
KERNEL(ldmatrix_past_the_end) {
  half* tile = written_tile() + (kept ? 0 : 16);
  unsigned r[4];
  LDMATRIX(r, tile);
  out[lane] = int(r[0]);
}
KERNEL(stmatrix_store) {
  half* tile = written_tile();
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %2, %3};" : : "r"(ROW_OF(tile)), "r"(0x3C003C00u), "r"(0u), "r"(0x40004000u) : "memory");
  if (kept) __syncwarp();
  for (int i = 0; i < 8; ++i) out[lane] += int(float(tile[32 * i + lane]));
}
KERNEL(wmma_store) {
  __shared__ float tile[16][16];
  for (int i = 0; i < 8; ++i) tile[2 * i + lane / 16][lane % 16] = 0.0f;
  __syncwarp();
  C c;
  wmma::fill_fragment(c, 2.0f);
  wmma::store_matrix_sync(&tile[0][0], c, 16, wmma::mem_row_major);
  if (kept) __syncwarp();
  for (int i = 0; i < 8; ++i) out[lane] += int(tile[2 * i + lane / 16][lane % 16]);
}

// --- accumulators that nothing cleared ---
KERNEL(wmma_not_cleared) {
  A a;
  B b;
  C c;
  wmma::fill_fragment(a, half(1.0f)), wmma::fill_fragment(b, half(1.0f));
  if (kept) wmma::fill_fragment(c, 0.0f);
  wmma::mma_sync(c, a, b, c);
  out[lane] = int(c.x[0]);
}
KERNEL(mma_not_cleared) {
  float c[4];
  asm volatile("" : : "r"(c) : "memory");
  for (float& x : c) x *= 0.0f;  // as a rescaling by exp(-inf) does
  if (kept)
    for (float& x : c) x = 0.0f;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(0u));
  out[lane] = int(c[0]);
}

int main() {
  BOTH(wmma_load, 1, 32);
  BOTH(ldmatrix_load, 1, 32);
  BOTH(wmma_of_unwritten, 1, 32);
  BOTH(ldmatrix_of_unwritten, 1, 32);
  BOTH(wmma_past_the_end, 1, 32);
  BOTH(ldmatrix_past_the_end, 1, 32);
  BOTH(stmatrix_store, 1, 32);
  BOTH(wmma_store, 1, 32);
  BOTH(wmma_not_cleared, 1, 32);
  BOTH(mma_not_cleared, 1, 32);
  done();
}
