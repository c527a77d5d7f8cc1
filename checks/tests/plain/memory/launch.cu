// Launches and allocations that CUDA refuses, with which error, and who clears it.
#include "both.h"

__global__ void nothing() {}
__global__ void other() {}
__global__ void traps() { __trap(); }
__global__ void last_byte(int* out, int bytes) {
  extern __shared__ unsigned char request[];
  request[bytes - 1] = 7;
  *out = request[bytes - 1];
}

static int number, wrong;
static void is(cudaError_t error, cudaError_t wanted, int line) {
  ++number;
  if (error != wanted) ++wrong, printf("line %d: %s\n", line, cudaGetErrorName(error));
}
#define IS(call, wanted) is(call, wanted, __LINE__)
#define REFUSED(grid, block, smem, wanted) \
  nothing<<<grid, block, smem>>>(); IS(cudaPeekAtLastError(), wanted); IS(cudaGetLastError(), wanted); IS(cudaGetLastError(), cudaSuccess); IS(cudaDeviceSynchronize(), cudaSuccess)
#define LARGEST(kernel, bytes) cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)

int main() {
  const cudaError_t shape = cudaErrorInvalidConfiguration, value = cudaErrorInvalidValue, good = cudaSuccess;
  REFUSED(dim3(0), 32, 0, shape);
  REFUSED(dim3(1, 0), 32, 0, shape);
  REFUSED(dim3(1, 1, 0), 32, 0, shape);
  REFUSED(1, dim3(0), 0, shape);
  REFUSED(1, 1025, 0, shape);
  REFUSED(1, dim3(32, 33), 0, shape);
  REFUSED(1, dim3(1, 1, 65), 0, shape);
  REFUSED(1, dim3(65536, 65536), 0, shape);  // 2^32 threads: no wrap-around
  REFUSED(dim3(1, 65536), 1, 0, shape);
  REFUSED(dim3(1, 1, 65536), 1, 0, shape);
  REFUSED(dim3(2147483648u), 1, 0, shape);
  // Dynamic shared memory, without and with the opt-in, which is one kernel's.
  REFUSED(1, 32, 49152, good);
  REFUSED(1, 32, 49153, value);
  IS(LARGEST(other, 232448), good);
  REFUSED(1, 32, 49153, value);
  IS(LARGEST(nothing, 232448), good);
  REFUSED(1, 32, 232448, good);
  REFUSED(1, 32, 232449, value);
  IS(LARGEST(nothing, 232449), value);
  IS(LARGEST(nothing, -1), value);
  IS(cudaGetLastError(), value);
  IS(LARGEST(nothing, 1000), good);  // it can be lowered, too
  REFUSED(1, 32, 1001, value);
  begin();
  IS(LARGEST(last_byte, 232448), good);
  last_byte<<<1, 1, 232448>>>(out, 232448);
  IS(cudaDeviceSynchronize(), good);
  int seven = 0;
  cudaMemcpy(&seven, out, 4, cudaMemcpyDeviceToHost);
  // Inside a kernel: the launch succeeds, the next synchronisation tells it once, and the next launch works.
  for (const bool stream : {false, true}) {
    traps<<<1, 32>>>();
    IS(cudaGetLastError(), good);
    IS(stream ? cudaStreamSynchronize(nullptr) : cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    REFUSED(1, 32, 0, good);
  }
  // Whoever keeps a pointer beyond cudaFree is not to find the next buffer there.
  void *p = &p, *reused, *next;
  IS(cudaMalloc(&p, 0), good);
  IS(p ? value : good, good);
  IS(cudaFree(nullptr), good);
  IS(cudaMalloc(&p, size_t(1) << 50), cudaErrorMemoryAllocation);
  cudaGetLastError();
  IS(cudaMalloc(&reused, 3000), good);
  IS(cudaFree(reused), good);
  IS(cudaFree(reused), value);
  cudaGetLastError();
  IS(cudaMalloc(&next, 3000), good);
  printf("%d wrong of %d, the last byte is %d, %s\n", wrong, number, seven, next == reused ? "reused" : "not reused");
}
