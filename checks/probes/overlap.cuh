// make probe what=overlap: do tensor cores and special functions slow each other down? One warpgroup multiplies without end, 0 to 3 others
// weigh scores (16 rows x 64 keys per warp: 32 times fmaf, ex2 and an addition per lane), on each of the GPU's multiprocessors. Prints
// clocks: of eight products, and of one warp's weights, each without the other and beside it. sm_90a.
#pragma once
#include "checks/probes/probe.cuh"
#include "common/ptx/ex2.cuh"
#include "common/ptx/wgmma.cuh"

namespace lab::overlap_probe {

constexpr int FROM = 90, TO = 90;
inline std::string head(const std::string&, int) { return ""; }

constexpr int GROUP = 128, FLOATS = 32, SOFTMAX_ROUNDS = 2000;
constexpr int PRODUCTS = 8;  // per wait
constexpr unsigned SMEM = 1 << 16;

// Clocks of PRODUCTS products, averaged over the first quarter of the rounds: the others still work then.
template <int N, bool A_FROM_REGISTERS>
__device__ void multiply(const char* smem, int rounds, float* out, long long* clocks) {
  float d[N / 2] = {};
  const unsigned a[4] = {};
  const ptx::Descriptor q = ptx::wgmma_descriptor(smem, 16, 1024), k = ptx::wgmma_descriptor(smem + SMEM / 2, 16, 1024);
  const long long begin = clock64();
#pragma unroll 1
  for (int round = 1; round <= rounds; ++round) {
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < PRODUCTS; ++i) {
      if constexpr (A_FROM_REGISTERS)
        ptx::wgmma<N>(d, a, ptx::advance(k, i % 4 * 32), true);
      else
        ptx::wgmma<N>(d, ptx::advance(q, i % 4 * 32), ptx::advance(k, i % 4 * 32), true);
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::fence_registers(d);
    if (round == rounds / 4 && blockIdx.x == 0 && threadIdx.x == 0) *clocks = (clock64() - begin) / round;
  }
  out[threadIdx.x] = d[0];
}

// Clocks of one warp's weights. scores: 64 floats.
__device__ void weigh(const float* scores, float* out, long long* clocks) {
  float s[FLOATS], base[2] = {scores[0], scores[1]}, sum[2] = {};
  const float unit = scores[2];
  for (int i = 0; i < FLOATS; ++i) s[i] = scores[i + threadIdx.x % 32];
  const long long begin = clock64();
#pragma unroll 1
  for (int round = 0; round < SOFTMAX_ROUNDS; ++round) {
    float p[FLOATS];
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int n = 0; n < FLOATS / 4; ++n) {
        float &p0 = p[4 * n + 2 * h], &p1 = p[4 * n + 2 * h + 1];
        p0 = ptx::ex2(fmaf(s[4 * n + 2 * h], unit, -base[h])),
        p1 = ptx::ex2(fmaf(s[4 * n + 2 * h + 1], unit, -base[h]));
        sum[h] += p0 + p1;
      }
    base[0] += 1e-3f, base[1] += 1e-3f;  // no round repeats another, for all that the compiler knows
  }
  if (blockIdx.x == 0 && threadIdx.x == GROUP) *clocks = (clock64() - begin) / SOFTMAX_ROUNDS;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum[0] + sum[1];
}

// clocks[0]: of products, clocks[1]: of weights.
template <int N, bool A_FROM_REGISTERS>
__global__ void __launch_bounds__(4 * GROUP, 1) beside(const float* scores, int rounds, float* out, long long* clocks) {
  extern __shared__ __align__(1024) char smem[];
  for (unsigned i = threadIdx.x; i < SMEM / 4; i += blockDim.x) reinterpret_cast<float*>(smem)[i] = 0;
  __syncthreads();
  if (__shfl_sync(0xFFFFFFFF, threadIdx.x / GROUP, 0) == 0)
    multiply<N, A_FROM_REGISTERS>(smem, rounds, out, &clocks[0]);
  else
    weigh(scores, out, &clocks[1]);
}

template <int N, bool A_FROM_REGISTERS>
void line(const char* name, bool products, probe::Tally& tally) {
  cudaDeviceProp gpu{};
  probe::must(cudaGetDeviceProperties(&gpu, 0), "no GPU");
  const auto blocks = unsigned(gpu.multiProcessorCount);
  const float* const scores = probe::on_device<float>(nullptr, 64);
  float* const out = probe::on_device<float>(nullptr, blocks * 4 * GROUP);
  tally.report += format(products ? "%-34s" : "%-34s       -      -", name);
  for (int warps = products ? 0 : 1; warps <= 3; ++warps) {
    // The products outlast the weights: a round takes PRODUCTS * N / 2 clocks at least, a warp's weights about 400.
    const int rounds = products ? 4 * SOFTMAX_ROUNDS * 400 * (warps ? warps : 1) / (PRODUCTS * N / 2) : 0;
    long long* const clocks = probe::on_device<long long>(nullptr, 2);
    for (int run = 0; run < 2; ++run)  // the first warms up
      probe::run(beside<N, A_FROM_REGISTERS>, blocks, (1 + warps) * GROUP, SMEM, scores, rounds, out, clocks);
    const std::vector<long long> measured = probe::from_device(clocks, 2);
    tally.report += format("  %6lld %6lld", measured[0], measured[1]);
    tally.add(measured[1] > 0 || warps == 0, [] { return "no clocks"; });
  }
  tally.report += "\n";
}

inline void clocks(probe::Tally& tally) {
  tally.report = format("clocks of %d products m64nNk16 | of one warp's weights, beside each other\n", PRODUCTS) +
                 "warps per scheduler that weigh:               0              1              2              3\n";
  line<64, false>("no products", false, tally);
  line<64, false>("N = 64, A from shared memory", true, tally);
  line<64, true>("N = 64, A from registers", true, tally);
  line<128, false>("N = 128, A from shared memory", true, tally);
  line<128, true>("N = 128, A from registers", true, tally);
}
inline std::vector<probe::Section> sections(int, bool) { return {{"clocks", clocks}}; }

}  // namespace lab::overlap_probe
