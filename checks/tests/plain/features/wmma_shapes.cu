// WMMA of all shapes and types: products of small integers, which each of them holds exactly, beside a loop.
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

static int right, tried;
template <int M, int N, int K, class Type, class T, class Sum>
void test() {
  T a[M * K], b[K * N], *da, *db;
  Sum c[M * N], got[M * N], *dc;
  for (int i = 0; i < M * K; ++i) a[i] = T(float(i * 7 % 5));
  for (int i = 0; i < K * N; ++i) b[i] = T(float(i * 3 % 4));
  for (int i = 0; i < M * N; ++i) c[i] = Sum(float(i % 3));
  cudaMalloc(&da, sizeof a), cudaMalloc(&db, sizeof b), cudaMalloc(&dc, sizeof c);
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice), cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
  cudaMemcpy(dc, c, sizeof c, cudaMemcpyHostToDevice);
  product<M, N, K, Type><<<1, 32>>>(da, db, dc);
  cudaMemcpy(got, dc, sizeof c, cudaMemcpyDeviceToHost);
  bool same = true;
  for (int i = 0; i < M * N; ++i) {
    double sum = 2 * double(c[i]);
    for (int k = 0; k < K; ++k) sum += double(a[i / N * K + k]) * double(b[i % N * K + k]);
    same = same && sum == double(got[i]);
  }
  ++tried, right += same;
}

int main() {
  test<16, 16, 16, half, half, float>();
  test<32, 8, 16, half, half, float>();
  test<8, 32, 16, half, half, half>();
  test<16, 16, 16, signed char, signed char, int>();
  test<32, 8, 16, unsigned char, unsigned char, int>();
  test<16, 16, 16, __nv_bfloat16, __nv_bfloat16, float>();
  test<8, 32, 16, __nv_bfloat16, __nv_bfloat16, float>();
  test<16, 16, 8, precision::tf32, float, float>();
  test<8, 8, 4, double, double, double>();
  printf("%d of %d right, %s\n", right, tried, cudaGetErrorName(cudaDeviceSynchronize()));
}
