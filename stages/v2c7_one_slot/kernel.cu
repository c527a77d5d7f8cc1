// V2c7: every warp computes and copies, and one slot for K and one for V are enough. K's slot is free once the scores
// are computed, so K(j+1) is copied during the softmax and P V(j); V(j+1) is copied after P V(j). Q is loaded into
// fragments once and needs no shared memory of its own. With the memory saved, twice as many blocks fit on an SM.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "common/attention_launch.cuh"
#include "common/smem_plan.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;
namespace wmma = nvcuda::wmma;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int STRIPE = 16;  // rows of a tensor core's tile

template <int D_>
struct Tile {
  static constexpr int D = D_, SLOTS = 1;
  static constexpr int ROWS_PER_WARP = STRIPE;
  static constexpr int M = WARPS * ROWS_PER_WARP;  // query rows per block
  static constexpr int N = 64;                     // keys per tile
  static constexpr int LD = D + 8;  // padded pitch: eight neighbouring rows start in eight different groups of banks
  static_assert(LD % 8 == 0, "a 16-byte cp.async needs rows that start on 16 bytes");
  static constexpr int LDS = N + 4;  // pitch of a warp's scratch, in floats
};

// --- shared-memory plan ----------------------------------------------------------------------------------
struct Smem {
  half *sK, *sV;  // [SLOTS * N][LD] twice
  // [M][LDS], 16 rows per warp; [M][LD]; [M] twice
  float *scratch, *O_accum, *row_max, *row_sum;
};

template <class T, class Cursor>
__host__ __device__ Smem carve(Cursor& cursor) {
  Smem smem;
  smem.sK = cursor.template array<half>("sK", T::SLOTS * T::N, T::LD);
  smem.sV = cursor.template array<half>("sV", T::SLOTS * T::N, T::LD);
  smem.scratch = cursor.template array<float>("scratch", T::M, T::LDS);
  smem.O_accum = cursor.template array<float>("O_accum", T::M, T::LD);
  smem.row_max = cursor.template array<float>("row_max", T::M, 1);
  smem.row_sum = cursor.template array<float>("row_sum", T::M, 1);
  return smem;
}

// Queues the copy of rows n0 .. n0 + N - 1 of K or V, as one group. Rows from `keys` on, which no query of this block
// sees, become zeros; of a tile past them nothing is copied.
template <class T>
__device__ void issue_tile(half* to, const half* from, int n0, int keys) {
  const int first = threadIdx.x / (T::D / 8), c = threadIdx.x % (T::D / 8) * 8;
  if (n0 < keys)
#pragma unroll
    for (int n = first; n < T::N; n += THREADS / (T::D / 8)) {
      const bool inside = n0 + n < keys;
      __pipeline_memcpy_async(&to[n * T::LD + c], inside ? from + (n0 + n) * T::D + c : from, 16, inside ? 0 : 16);
    }
  __pipeline_commit();  // also when empty: the waits below count groups
}

template <int D>
__global__ void __launch_bounds__(THREADS)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  using T = Tile<D>;
  constexpr int M = T::M, N = T::N, LD = T::LD, ROWS = T::ROWS_PER_WARP;
  SmemCursor cursor;
  const Smem smem = carve<T>(cursor);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const std::size_t head = (std::size_t(blockIdx.z) * H + blockIdx.y) * S * D;
  q += head, k += head, v += head, out += head;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);

  // --- Prologue: the first tiles on their way, Q in fragments, an empty running softmax --------------------
  issue_tile<T>(smem.sK, k, 0, keys);
  issue_tile<T>(smem.sV, v, 0, keys);
  const int first_row = warp * T::ROWS_PER_WARP;
  half* rows = reinterpret_cast<half*>(&smem.O_accum[first_row * LD]);  // Q passes through where O will be
  for (int i = lane; i < ROWS * (D / 8); i += 32) {
    const int r = i / (D / 8), c = i % (D / 8) * 8, row = q0 + first_row + r;
    copy8(&rows[r * LD + c], q + std::size_t(row) * D + c, row < S);
  }
  __syncwarp();  // the warp's rows of Q are there
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[D / 16];
#pragma unroll
  for (int c = 0; c < D; c += 16) wmma::load_matrix_sync(a[c / 16], &rows[c], LD);
  __syncwarp();  // and have been read
  for (int i = lane; i < ROWS * LD; i += 32) smem.O_accum[first_row * LD + i] = 0.0f;
  if (lane < ROWS) smem.row_max[first_row + lane] = -INFINITY, smem.row_sum[first_row + lane] = 0.0f;

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    __pipeline_wait_prior(1);  // all but the last group: K(t) has arrived, as far as this thread can see
    __syncthreads();           // now all can see it

    // Scores: a warp multiplies its stripe with a few keys at a time. A partial stripe is computed whole: its missing
    // rows of Q are zeros, and their results are never stored.
    float* scratch = smem.scratch + first_row * T::LDS;
#pragma unroll
    for (int n = 0; n < N; n += 16) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> s;
      wmma::fill_fragment(s, 0.0f);
#pragma unroll
      for (int c = 0; c < D; c += 16) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
        wmma::load_matrix_sync(b, &smem.sK[n * LD + c], LD);
        wmma::mma_sync(s, a[c / 16], b, s);
      }
      wmma::store_matrix_sync(&scratch[n], s, T::LDS, wmma::mem_row_major);
    }
    __syncthreads();  // all are done with K(t), whose slot may be filled; and the scores are there
    issue_tile<T>(smem.sK, k, (t + 1) * N, keys);

    for (int i = 0; i < ROWS; ++i) {
      const int r = first_row + i, row = q0 + r;
      float* scores = scratch + i * T::LDS;
      half* weights = reinterpret_cast<half*>(scores);  // take the place of the row's scores
      float* O = smem.O_accum + r * LD;

      // Online softmax: the row's new maximum, and what it does to everything summed so far.
      float tile_max = -INFINITY;
      float s[N / 32];  // lane's keys: lane, lane + 32, ...
      for (int j = 0; j < N / 32; ++j) {
        const int key = t * N + 32 * j + lane;
        const bool visible = key < S && (!causal || key <= row);
        s[j] = visible ? scores[32 * j + lane] * scale : -INFINITY;
        tile_max = fmaxf(tile_max, s[j]);
      }
      const float old_max = smem.row_max[r];
      const float new_max = fmaxf(old_max, warp_max(tile_max));
      float p_sum = 0.0f;
      __syncwarp();  // the row's scores and row_max[r] have been read by all
      for (int j = 0; j < N / 32; ++j) {
        const float p = __expf(s[j] - new_max);
        weights[32 * j + lane] = __float2half(p);
        p_sum += p;
      }
      p_sum = warp_sum(p_sum);
      const float rescale = __expf(old_max - new_max);
      if (lane == 0) {
        smem.row_max[r] = new_max;
        smem.row_sum[r] = fmaf(smem.row_sum[r], rescale, p_sum);
      }
      for (int c = lane; c < D; c += 32) O[c] *= rescale;
    }
    __pipeline_wait_prior(1);  // V(t) has arrived, as far as this thread can see
    __syncthreads();           // now all can see it; the weights are there, and O is rescaled

    // P V: 16 output columns at a time.
#pragma unroll
    for (int c = 0; c < D; c += 16) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> o;
      wmma::load_matrix_sync(o, &smem.O_accum[first_row * LD + c], LD, wmma::mem_row_major);
#pragma unroll
      for (int n = 0; n < N; n += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> p;
        wmma::load_matrix_sync(p, reinterpret_cast<half*>(scratch) + n, 2 * T::LDS);
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
        wmma::load_matrix_sync(b, &smem.sV[n * LD + c], LD);
        wmma::mma_sync(o, p, b, o);
      }
      wmma::store_matrix_sync(&smem.O_accum[first_row * LD + c], o, LD, wmma::mem_row_major);
    }
    __syncthreads();  // all are done with V(t)
    issue_tile<T>(smem.sV, v, (t + 1) * N, keys);
  }

  // --- Epilogue: normalise, round to fp16, store; each warp its own rows ------------------------------------
  for (int i = 0; i < ROWS; ++i) {
    const int r = first_row + i, row = q0 + r;
    if (row >= S) break;
    const float* O = smem.O_accum + r * LD;
    for (int c = 2 * lane; c < D; c += 64)
      store2(out + std::size_t(row) * D + c, O[c] / smem.row_sum[r], O[c + 1] / smem.row_sum[r]);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
template <class T>
struct Launcher {
  static bool takes(const Shape& shape) { return shape.D == T::D; }
  static LaunchPlan plan(const Shape& shape) {
    SmemCount smem;
    carve<T>(smem);
    LaunchPlan plan = tile_plan<T>(shape, THREADS, smem);
    plan.half_p = plan.empty_tile_is_nan = true;
    return plan;
  }
  static cudaError_t launch(const AttentionArgs& args, const LaunchPlan& plan) {
    const auto kernel = named_kernel<T::D>(attention<T::D>);
    if (const cudaError_t error = opt_in_smem(kernel, plan); error != cudaSuccess) return error;
    return launch_attention(kernel, plan, args);
  }
};

}  // namespace

const lab::StageInfo& lab::stage() { return stage_of<Launcher<Tile<64>>, Launcher<Tile<128>>>(); }
