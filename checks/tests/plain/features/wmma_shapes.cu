// WMMA of all shapes and types, and mma.sync on bytes and tf32: products of small integers, which each of them holds exactly,
// beside a loop.
#include <cuda_bf16.h>
#include <mma.h>

#include <cstdio>

using namespace nvcuda::wmma;

template <int M, int N, int K, class Type, class T, class Sum>
__global__ void product(const T* a, const T* b, Sum* c) {
  fragment<matrix_a, M, N, K, Type, row_major> fa;
  fragment<matrix_b, M, N, K, Type, col_major> fb;
  fragment<accumulator, M, N, K, Sum> fc;
  load_matrix_sync(fa, a, K);
  load_matrix_sync(fb, b, K);
  load_matrix_sync(fc, c, N, mem_row_major);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] + fc.x[i];
  mma_sync(fc, fa, fb, fc);
  __syncwarp();
  store_matrix_sync(c, fc, N, mem_row_major);
}

// PTX ISA, "Matrix Fragments for mma.m16n8k32" and "for mma.m16n8k8" (tf32).
__global__ void product_of_bytes(const signed char* a, const signed char* b, int* c) {
  const int group = threadIdx.x / 4, at = threadIdx.x % 4;
  int x[4], y[2], d[4] = {1, 2, 3, 4};
  for (int r = 0; r < 4; ++r) x[r] = *(const int*)(a + (group + r % 2 * 8) * 32 + r / 2 * 16 + at * 4);
  for (int r = 0; r < 2; ++r) y[r] = *(const int*)(b + group * 32 + r * 16 + at * 4);
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  for (int i = 0; i < 4; ++i) c[(group + i / 2 * 8) * 8 + at * 2 + i % 2] = d[i] - (i + 1);
}
__global__ void product_of_tf32(const float* a, const float* b, float* c) {
  const int group = threadIdx.x / 4, at = threadIdx.x % 4;
  unsigned x[4], y[2];
  float d[4] = {1, 2, 3, 4};
  for (int r = 0; r < 4; ++r) x[r] = __float_as_uint(a[(group + r % 2 * 8) * 8 + r / 2 * 4 + at]);
  for (int r = 0; r < 2; ++r) y[r] = __float_as_uint(b[group * 8 + r * 4 + at]);
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  for (int i = 0; i < 4; ++i) c[(group + i / 2 * 8) * 8 + at * 2 + i % 2] = d[i] - (i + 1);
}

static int right, tried;
template <int M, int N, int K, class T, class Sum, class Kernel>
void test(Kernel kernel, int factor) {
  T a[M * K], b[K * N], *da, *db;
  Sum c[M * N], got[M * N], *dc;
  for (int i = 0; i < M * K; ++i) a[i] = T(float(i * 7 % 5));
  for (int i = 0; i < K * N; ++i) b[i] = T(float(i * 3 % 4));
  for (int i = 0; i < M * N; ++i) c[i] = Sum(float(i % 3));
  cudaMalloc(&da, sizeof a), cudaMalloc(&db, sizeof b), cudaMalloc(&dc, sizeof c);
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice), cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
  cudaMemcpy(dc, c, sizeof c, cudaMemcpyHostToDevice);
  kernel<<<1, 32>>>(da, db, dc);
  cudaMemcpy(got, dc, sizeof c, cudaMemcpyDeviceToHost);
  bool same = true;
  for (int i = 0; i < M * N; ++i) {
    double sum = factor * double(c[i]);
    for (int k = 0; k < K; ++k) sum += double(a[i / N * K + k]) * double(b[i % N * K + k]);
    same = same && sum == double(got[i]);
  }
  ++tried, right += same;
}

int main() {
  test<16, 16, 16, half, float>(product<16, 16, 16, half, half, float>, 2);
  test<32, 8, 16, half, float>(product<32, 8, 16, half, half, float>, 2);
  test<8, 32, 16, half, half>(product<8, 32, 16, half, half, half>, 2);
  test<16, 16, 16, signed char, int>(product<16, 16, 16, signed char, signed char, int>, 2);
  test<32, 8, 16, unsigned char, int>(product<32, 8, 16, unsigned char, unsigned char, int>, 2);
  test<16, 16, 16, __nv_bfloat16, float>(product<16, 16, 16, __nv_bfloat16, __nv_bfloat16, float>, 2);
  test<8, 32, 16, __nv_bfloat16, float>(product<8, 32, 16, __nv_bfloat16, __nv_bfloat16, float>, 2);
  test<16, 16, 8, float, float>(product<16, 16, 8, precision::tf32, float, float>, 2);
  test<8, 8, 4, double, double>(product<8, 8, 4, double, double, double>, 2);
  test<16, 8, 32, signed char, int>(product_of_bytes, 0);
  test<16, 8, 8, float, float>(product_of_tf32, 0);
  printf("%d of %d right, %s\n", right, tried, cudaGetErrorName(cudaDeviceSynchronize()));
}
