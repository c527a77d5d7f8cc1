// My own kernel: O = softmax(scale Q K^T) V, not written yet. It compiles and launches, and no output is written.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/attention_launch.cuh"
#include "common/smem_plan.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants: one struct for each head dimension --------------------------------------------------
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;

template <int D_>
struct Tile {
  static constexpr int D = D_;  // columns of a row of q, k, v, out: 64 or 128
  static constexpr int M = 16;  // query rows per block
  static constexpr int N = 32;  // keys per tile
  static constexpr int ROWS_PER_WARP = M / WARPS;
  static constexpr int SLOTS = 1;  // K/V tiles in shared memory at a time
};

// q, k, v, out: [B, H, S, D], contiguous; element (b, h, row, col) is at ((b * H + h) * S + row) * D + col.
// H, S: heads and length (B is gridDim.z). scale multiplies q·k before the softmax. causal: row sees keys 0..row.
// Block (x, y, z) computes rows x * M .. x * M + M - 1 of head y of batch z; the last block of a head may have fewer.
// Rows and keys from S on do not exist: neither read nor write them.
template <int D>
__global__ void __launch_bounds__(THREADS)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {
  using T = Tile<D>;
  // Shared memory: LAB_SHARED(type, name, [rows][columns]); name each array in the plan below too.
  LAB_SHARED(half, sQ, [T::M][8]);

  const int q0 = blockIdx.x * T::M;  // first query row of this block
  const std::size_t head = (std::size_t(blockIdx.z) * H + blockIdx.y) * S * D;
  q += head, k += head, v += head, out += head;
  const int keys = causal ? min(S, q0 + T::M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, T::N);

  // Yours. What printf prints is shown; let one thread print: if (threadIdx.x == 0 && blockIdx.x == 0) printf(...).
  (void)sQ, (void)scale, (void)tiles;
}

// --- launcher: which shapes, how much shared memory, the launch ------------------------------------------
template <class T>
struct Launcher {
  static bool takes(const Shape& shape) { return shape.D == T::D; }
  static LaunchPlan plan(const Shape& shape) {
    SmemCount smem;  // the arrays of the kernel, by name: reports say sQ[3][5]
    smem.array<half>("sQ", T::M, 8);
    // M rows a block: grid (ceil(S / M), H, B). For dynamic shared memory see stages/v2b_single_warp/kernel.cu.
    return tile_plan<T>(shape, THREADS, {}, smem);
  }
  static cudaError_t launch(const AttentionArgs& args, const LaunchPlan& plan) {
    return launch_attention(named_kernel<T::D>(attention<T::D>), plan, args);
  }
};

}  // namespace

const lab::StageInfo& lab::stage() { return stage_of<Launcher<Tile<64>>, Launcher<Tile<128>>>(); }
