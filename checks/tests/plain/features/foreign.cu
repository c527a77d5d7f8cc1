// Constructs of public programs that g++ alone does not read, and one that a checker took for a fault.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <atomic>
#include <cassert>
#include <cstdio>

using namespace nvcuda;

// cp.async.wait_all commits what has not been committed.
__global__ void waits_for_all(const int* in, int* out) {
  static __shared__ __align__(16) int copied[32 * 4];
  const unsigned to = unsigned(__cvta_generic_to_shared(copied + 4 * threadIdx.x));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(in + 4 * threadIdx.x));
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  out[threadIdx.x] = copied[4 * ((threadIdx.x + 1) % 32)];
}

// An arrival that counts for 32, with no state kept; a wait that is a loop over labels.
__global__ void arrives_for_32(int* out) {
  __shared__ unsigned long long barrier;
  __shared__ int from_other;
  const unsigned at = unsigned(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(at));
  __syncthreads();
  if (threadIdx.x == 32) {
    from_other = 5;
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(32));
  }
  asm volatile(
      "{\n"
      ".reg .pred P1;\n"
      "LAB_WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], 0;\n"
      "@P1 bra.uni DONE;\n"
      "bra.uni LAB_WAIT;\n"
      "DONE:\n"
      "}" ::"r"(at));
  out[threadIdx.x] = from_other;
}

// WMMA that sums in half: 16 ones times 2, and 1 that was there.
__global__ void sums_in_half(half* matrix) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> c;
  wmma::fill_fragment(a, __float2half(1.0f));
  wmma::fill_fragment(b, __float2half(2.0f));
  wmma::load_matrix_sync(c, matrix, 16, wmma::mem_row_major);
  wmma::mma_sync(c, a, b, c);
  __syncwarp();
  wmma::store_matrix_sync(matrix, c, 16, wmma::mem_row_major);
}

template <int N>
__global__ void spaced(int* out) {
  out[threadIdx.x] = N;
}

// A cluster whose size is a template's, launched through a pointer.
template <int N>
__global__ void __cluster_dims__(N, 1, 1) in_cluster(int* out) {
  unsigned size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0) out[blockIdx.x] = size;
}

// A function's address, which the host takes from a variable; sums and quotients that are rounded down and up.
using Function = int (*)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ Function device_function = twice;
__global__ void calls(int* out, Function function, const float* nowhere) {
  if (!nowhere) out[threadIdx.x] = function(21);
  const float third = __fdiv_ru(1, 3) - __fdiv_rd(1, 3), past_one = __fadd_ru(1, 1e-20f) - __fadd_rd(1, 1e-20f);
  const double seventh = __ddiv_ru(1, 7) - __ddiv_rz(1, 7);
  out[threadIdx.x] += 1000 * (third == 0x1p-25f) + 2000 * (past_one == 0x1p-23f) + 4000 * (seventh == 0x1p-55);
}

int main() {
  int *in, *out, got[64], block = 0, grid = 0;
  half *matrix, halves[256];
  cudaMalloc(&in, 512), cudaMalloc(&out, 256), cudaMalloc(&matrix, sizeof halves);
  int numbers[128];
  for (int i = 0; i < 128; ++i) numbers[i] = i;
  for (half& one : halves) one = __float2half(1.0f);
  cudaMemcpy(in, numbers, 512, cudaMemcpyHostToDevice), cudaMemcpy(matrix, halves, sizeof halves, cudaMemcpyHostToDevice);
  waits_for_all<<<1, 32>>>(in, out);
  cudaMemcpy(got, out, 256, cudaMemcpyDeviceToHost);
  const int copied = got[3];
  arrives_for_32<<<1, 64>>>(out);
  cudaMemcpy(got, out, 256, cudaMemcpyDeviceToHost);
  const int arrived = got[7];
  sums_in_half<<<1, 32>>>(matrix);
  cudaMemcpy(halves, matrix, sizeof halves, cudaMemcpyDeviceToHost);
  spaced<7> << <dim3(1), 32>> >(out);
  spaced<7> < < <dim3(1), 32 >>> (out);
  cudaMemcpy(got, out, 256, cudaMemcpyDeviceToHost);
  const int spaced_out = got[31];
  auto* kernel = in_cluster<2>;
  kernel<<<2, 32>>>(out);
  cudaMemcpy(got, out, 256, cudaMemcpyDeviceToHost);
  const int in_a_cluster = got[1];
  int* large;  // what the checker keeps of each word is 32 times as large; it keeps nothing of words that no thread touches
  cudaMalloc(&large, size_t(6) << 30), spaced<7><<<1, 32>>>(large), cudaFree(large);
  Function function;
  cudaMemcpyFromSymbol(&function, device_function, sizeof function);
  calls<<<1, 1>>>(out, function, NULL);
  cudaMemcpy(got, out, 4, cudaMemcpyDeviceToHost);
  std::atomic<int> bits{6};
  bits.fetch_and(3), bits.fetch_or(8);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  cudaOccupancyMaxPotentialBlockSize(&grid, &block, spaced<7>, 0, 1000000);
  const cudaError_t error = cudaDeviceSynchronize();
  assert(error == cudaSuccess);
  printf("%d %d %g %d %d %d %d %d %s\n", copied, arrived, __half2float(halves[17]), spaced_out, in_a_cluster, got[0], bits.load(), block, cudaGetErrorName(error));
}
