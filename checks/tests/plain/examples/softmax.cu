// A softmax of rows, one block per row, as a first CUDA course might have it. Two reductions share one array.
#include <cmath>
#include <cstdio>
#include <vector>

constexpr int COLUMNS = 1000, ROWS = 4, THREADS = 256;

__global__ void softmax(const float* in, float* out) {
  __shared__ float part[THREADS];
  const float* x = in + blockIdx.x * COLUMNS;
  const int t = threadIdx.x;

  float largest = -INFINITY;
  for (int c = t; c < COLUMNS; c += THREADS) largest = fmaxf(largest, x[c]);
  part[t] = largest;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) part[t] = fmaxf(part[t], part[t + half]);
  }
  __syncthreads();
  largest = part[0];

  float sum = 0;
  for (int c = t; c < COLUMNS; c += THREADS) sum += expf(x[c] - largest);
  part[t] = sum;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) part[t] += part[t + half];
  }
  __syncthreads();
  for (int c = t; c < COLUMNS; c += THREADS) out[blockIdx.x * COLUMNS + c] = expf(x[c] - largest) / part[0];
}

int main() {
  std::vector<float> host(ROWS * COLUMNS);
  for (int i = 0; i < ROWS * COLUMNS; ++i) host[i] = float(i * 37 % 101) / 10;
  float *in, *out;
  cudaMalloc(&in, host.size() * sizeof(float));
  cudaMalloc(&out, host.size() * sizeof(float));
  cudaMemcpy(in, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
  softmax<<<ROWS, THREADS>>>(in, out);
  cudaMemcpy(host.data(), out, host.size() * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (int c = 0; c < COLUMNS; ++c) sum += host[c];
  printf("the first row's weights add up to %.6f\n", sum);
}
