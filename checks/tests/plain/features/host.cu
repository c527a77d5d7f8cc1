// The runtime's calls that programs make.
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include <cstdio>

__device__ int symbol;
__global__ void k(float* x) {
  if (x) x[0] = 1;
}

int main() {
  int value = 1;
  char a, b = 1;
  float* p;
  cudaSetDevice(0);
  cudaGetDeviceCount(&value);
  cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlock, 0);
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, k, 32, 0);
  cudaFuncSetAttribute(k, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
  cudaProfilerStart();
  cudaMalloc((void**)&p, 4);
  cudaMemset(p, 0, 4);
  cudaFree(p);
  cudaMallocAsync((void**)&p, 4, (cudaStream_t)0);
  cudaMallocHost((void**)&p, 4);
  cudaFreeHost(p);
  cudaMallocManaged(&p, 4);
  cudaMemcpy(&a, &b, 1, cudaMemcpyHostToHost);
  cudaMemcpy(&a, &b, 1, cudaMemcpyDefault);
  cudaMemcpy2D(&a, 1, &b, 1, 1, 1, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(symbol, &value, sizeof value);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamDestroy(stream);
  cudaEvent_t event;
  cudaEventCreate(&event);
  cudaEventRecord(event, 0);
  cudaEventDestroy(event);
  CUtensorMap map;
  (void)map;
  k<<<1, 32>>>(nullptr);
  cudaLaunchConfig_t config = {};
  cudaLaunchKernelEx(&config, k, (float*)nullptr);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
