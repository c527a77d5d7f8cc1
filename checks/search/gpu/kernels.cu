#include "checks/search/gpu/kernels.hpp"

#include "checks/bench/gpu/mixed.cuh"

namespace lab::search {
namespace {

constexpr int THREADS = 256;

__global__ void digest(const half* tensor, std::size_t size, unsigned long long* sum) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step)
    mine += gpu::mixed((std::uint64_t(i) << 16 | __half_as_ushort(tensor[i])) + 0x9E3779B97F4A7C15ull);
  atomicAdd(sum, mine);
}

// The largest of all threads' values.
__device__ double block_max(double value) {
  __shared__ double values[THREADS];
  values[threadIdx.x] = value;
  __syncthreads();
  for (int i = 0; i < THREADS; ++i) value = fmax(value, values[i]);
  __syncthreads();
  return value;
}
__device__ double block_sum(double value) {
  __shared__ double values[THREADS];
  values[threadIdx.x] = value;
  __syncthreads();
  double sum = 0;
  for (int i = 0; i < THREADS; ++i) sum += values[i];
  __syncthreads();
  return sum;
}

__global__ void norms(const half* k, const half* v, int S, int D, double* k_norm, double* v_max) {
  const std::size_t head = std::size_t(blockIdx.x) * S * D;
  double longest = 0, largest = 0;
  for (int n = threadIdx.x; n < S; n += THREADS) {
    double squares = 0;
    for (int c = 0; c < D; ++c) {
      const double x = __half2float(k[head + std::size_t(n) * D + c]);
      squares += x * x;
      largest = fmax(largest, fabs(double(__half2float(v[head + std::size_t(n) * D + c]))));
    }
    longest = fmax(longest, squares);
  }
  longest = block_max(longest), largest = block_max(largest);
  if (threadIdx.x == 0) k_norm[blockIdx.x] = sqrt(longest), v_max[blockIdx.x] = largest;
}

// A block for each row.
__global__ void rows(const half* q, const half* k, const half* v, const OracleRow* which, int S, int D, bool causal,
                     double scale, double* all_scores, double* out, double* mean_abs_v, double* q_norm) {
  const OracleRow at = which[blockIdx.x];
  const std::size_t head = std::size_t(at.head) * S * D;
  const half* own = q + head + std::size_t(at.row) * D;
  double* scores = all_scores + std::size_t(blockIdx.x) * S;
  const int keys = causal ? at.row + 1 : S;
  double largest = -INFINITY;
  for (int n = threadIdx.x; n < keys; n += THREADS) {
    double dot = 0;
    for (int c = 0; c < D; ++c)
      dot += double(__half2float(own[c])) * double(__half2float(k[head + std::size_t(n) * D + c]));
    scores[n] = dot * scale;
    largest = fmax(largest, scores[n]);
  }
  largest = block_max(largest);
  double sum = 0;
  for (int n = threadIdx.x; n < keys; n += THREADS) sum += scores[n] = exp(scores[n] - largest);
  sum = block_sum(sum);  // and everybody's scores are there
  __shared__ double parts[2][THREADS];
  const int c = threadIdx.x % D, share = threadIdx.x / D, shares = THREADS / D;
  double weighed = 0, absolute = 0;
  for (int n = share; n < keys; n += shares) {
    const double x = __half2float(v[head + std::size_t(n) * D + c]);
    weighed += scores[n] * x, absolute += scores[n] * fabs(x);
  }
  parts[0][threadIdx.x] = weighed, parts[1][threadIdx.x] = absolute;
  __syncthreads();
  if (share == 0) {
    for (int other = 1; other < shares; ++other)
      weighed += parts[0][other * D + c], absolute += parts[1][other * D + c];
    out[std::size_t(blockIdx.x) * D + c] = weighed / sum;
    mean_abs_v[std::size_t(blockIdx.x) * D + c] = absolute / sum;
  }
  if (threadIdx.x == 0) {
    double squares = 0;
    for (int d = 0; d < D; ++d) squares += double(__half2float(own[d])) * double(__half2float(own[d]));
    q_norm[blockIdx.x] = sqrt(squares);
  }
}

}  // namespace

void add_digest(const half* tensor, std::size_t size, std::uint64_t* sum, cudaStream_t stream) {
  digest<<<528, THREADS, 0, stream>>>(tensor, size, reinterpret_cast<unsigned long long*>(sum));
}
void head_norms(const half* k, const half* v, int heads, int S, int D, double* k_norm, double* v_max,
                cudaStream_t stream) {
  norms<<<heads, THREADS, 0, stream>>>(k, v, S, D, k_norm, v_max);
}
void oracle_rows(const half* q, const half* k, const half* v, const OracleRow* which, int count, int S, int D,
                 bool causal, double scale, double* scores, double* out, double* mean_abs_v, double* q_norm,
                 cudaStream_t stream) {
  rows<<<count, THREADS, 0, stream>>>(q, k, v, which, S, D, causal, scale, scores, out, mean_abs_v, q_norm);
}

}  // namespace lab::search
