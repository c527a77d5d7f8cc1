// What is not read: each is named by its line, with what to write instead.
#include <cuda_runtime.h>
#include <cub/cub.cuh>
#include <cublas_v2.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_fp8.h>
#include <curand_kernel.h>

__global__ void inner(int* g) { g[0] = 1; }
__global__ void outer(int* g) { inner<<<1, 1>>>(g); }
__global__ void reads(float* x, cudaTextureObject_t t) { x[0] = tex1Dfetch<float>(t, 0); }
__global__ void waits() { __shared__ cuda::barrier<cuda::thread_scope_block> bar; }
int main() {}
