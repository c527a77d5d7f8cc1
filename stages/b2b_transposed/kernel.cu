// B2b: the five products by mma.sync. The scores are computed transposed, S^T = K Q^T, so a warp's rows are keys. Its
// accumulators of P^T and dS^T are then the A operands of dV = P^T dO and dK = dS^T Q. Only dQ needs the dS of all warps:
// they go through shared memory.
//
//   P = exp(s - L)     dP = dO V^T     dS = P (dP - delta)     dQ = scale dS K     dK = scale dS^T Q     dV = P^T dO
//
// The forward pass has saved O and L. One kernel computes, for each row, delta = dO·O and L log2 e. The main kernel
// adds its parts of dQ to fp32 sums. A last kernel rounds the sums to fp16.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/attention_backward.hpp"
#include "common/backward/forward_pass.cuh"
#include "common/ds_unit.cuh"
#include "common/ptx/ex2.cuh"
#include "common/ptx/mma.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int STRIPE = 16;        // rows of a tensor core's tile: a warp's keys
constexpr int M = 32;             // query rows per tile
constexpr int ROW_THREADS = 256;  // of a block of the kernel for the rows
constexpr int BOUND_PITCH = 16;   // from a head's bound to the next: a line of its own, for the atomics

template <int D_>
struct Tile {
  static constexpr int D = D_, N = D == 64 ? 64 : 32;  // N: keys per block
  static constexpr int WARPS = N / STRIPE, THREADS = WARPS * 32;
  static constexpr int LD = D + 8;                               // padded pitch: neighbouring rows start in other banks
  static constexpr int DQ_ROWS = 16, DQ_COLS = D / (WARPS / 2);  // of dQ's tile, for each warp
  static_assert(M == 2 * DQ_ROWS && WARPS == 2 * (D / DQ_COLS), "the warps' parts of dQ make a whole tile");
};

// rows r0 .. r0 + ROWS - 1 of a [S][D] tensor, zeros past its end
template <int ROWS, int D>
__device__ void load_tile(half (&tile)[ROWS][Tile<D>::LD], const half* tensor, int r0, int S) {
  for (int i = threadIdx.x; i < ROWS * (D / 8); i += Tile<D>::THREADS) {
    const int r = i / (D / 8), c = i % (D / 8) * 8;
    copy8(&tile[r][c], tensor + std::size_t(r0 + r) * D + c, r0 + r < S);
  }
}

// --- L log2 e and delta of each query row, and each head's bound of dS --------------------------------------
template <int D>
__global__ void __launch_bounds__(ROW_THREADS)
    row_terms(const half* __restrict__ out, const half* __restrict__ dout, const half* __restrict__ v,
              const float* __restrict__ L, float2* __restrict__ rows, unsigned* __restrict__ bounds, int S) {
  // out, dout, v: [heads, S, D]; rows: [heads, S]; bounds: [heads, 2 * BOUND_PITCH]
  constexpr int LANES = D / 8;  // of a row
  const std::size_t head = blockIdx.x, first = head * S * D;
  const int row = blockIdx.y * (ROW_THREADS / LANES) + threadIdx.x / LANES, c = threadIdx.x % LANES * 8;
  const uint4 o8 = row8<D>(out + first, row, c, S), dout8 = row8<D>(dout + first, row, c, S),
              v8 = row8<D>(v + first, row, c, S);
  const float log_sum = row < S ? L[head * S + row] * LOG2_E : 0.0f;
  const float delta = lanes_sum<LANES>(dot8(o8, dout8));
  if (c == 0 && row < S) rows[head * S + row] = make_float2(log_sum, delta);
  const float2 bound = bound_of_block<ROW_THREADS, LANES>(dot8(dout8, dout8), dot8(v8, v8));
  if (threadIdx.x != 0) return;
  // Positive floats are ordered as their bits are.
  atomicMax(&bounds[head * 2 * BOUND_PITCH], __float_as_uint(bound.x));
  atomicMax(&bounds[head * 2 * BOUND_PITCH + 1], __float_as_uint(bound.y));
}

// --- the two kinds of products with a tile of query rows --------------------------------------------------
template <class T>
using Scores = float[M / 8][4];  // of the warp's keys with the queries: c of 8 queries each
template <class T>
using Weights = unsigned[M / 8][2];  // P^T or dS^T as halves; [..][h]: of key quad_row + 8 h
template <class T>
using Gradient = float[T::D / 8][4];  // of the warp's keys: c of 8 columns each

// S^T = K Q^T or dP^T = V dO^T. Rows are stored [..][d], so the two halves of an operand's register are neighbours.
template <class T>
__device__ __forceinline__ void add_scores(Scores<T>& to, const half* keys, const half* rows, int lane) {
  const int quad_row = lane / 4, first_column = lane % 4 * 2;
  for (int kk = 0; kk < T::D / 16; ++kk) {
    unsigned a[4];
    for (int e = 0; e < 4; ++e)
      a[e] = half_pair_at(&keys[(quad_row + e % 2 * 8) * T::LD + 16 * kk + first_column + e / 2 * 8]);
    for (int n = 0; n < M / 8; ++n) {
      const half* column = &rows[(8 * n + quad_row) * T::LD + 16 * kk + first_column];
      const unsigned b[2] = {half_pair_at(column), half_pair_at(column + 8)};
      ptx::mma_m16n8k16(to[n], a, b);
    }
  }
}

// dV += P^T dO or dK += dS^T Q. Two neighbouring tiles of weights are one A. The halves of a B register lie a row apart.
template <class T>
__device__ __forceinline__ void add_weighted(Gradient<T>& to, const Weights<T>& w, const half* rows, int lane) {
  const int quad_row = lane / 4, first_column = lane % 4 * 2;
  for (int n = 0; n < M; n += 16)
    for (int d = 0; d < T::D / 8; ++d) {
      const half* b0 = &rows[(n + first_column) * T::LD + 8 * d + quad_row];
      const unsigned a[4] = {w[n / 8][0], w[n / 8][1], w[n / 8 + 1][0], w[n / 8 + 1][1]};
      const unsigned b[2] = {half_pair(b0[0], b0[T::LD]), half_pair(b0[8 * T::LD], b0[9 * T::LD])};
      ptx::mma_m16n8k16(to[d], a, b);
    }
}

// --- all gradients: a block for N keys, which walks the query tiles ---------------------------------------
template <int D>
__global__ void __launch_bounds__(Tile<D>::THREADS)
    gradients(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              const half* __restrict__ dout, const float2* __restrict__ rows, const float2* __restrict__ bounds,
              float* __restrict__ dq_sum, half* __restrict__ dk, half* __restrict__ dv, int S, float scale,
              bool causal) {  // dq_sum: [heads, S, D], zeros before the first block
  using T = Tile<D>;
  constexpr int N = T::N;
  __shared__ alignas(16) half sK[N][T::LD], sV[N][T::LD], sQ[M][T::LD], sdO[M][T::LD];
  __shared__ half sdS[N][M + 8];  // transposed, as the warps have it

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int quad_row = lane / 4, first_column = lane % 4 * 2;  // the lane's, in each 8x8 of an accumulator
  const int head = blockIdx.x;
  const int k0 = blockIdx.y * N;                                       // first key of this block
  const int warp_key = warp * STRIPE;                                  // and of this warp, within the block's
  const int tiles = ceil_div(S, M), first_tile = causal ? k0 / M : 0;  // no earlier row sees a key of this block
  const std::size_t first_row = std::size_t(head) * S, first = first_row * D;
  q += first, k += first, v += first, dout += first, rows += first_row, dk += first, dv += first, dq_sum += first;
  const float scale_log2 = scale * LOG2_E;  // exp(scale s - L) is 2^(scale_log2 s - L log2 e)

  // --- Prologue: K and V -------------------------------------------------------------------------------------
  load_tile<N, D>(sK, k, k0, S);
  load_tile<N, D>(sV, v, k0, S);
  const float unit = ds_unit(bounds[head * BOUND_PITCH]), inverse = inverse_unit(unit);
  Gradient<T> dK = {}, dV = {};

  // --- Mainloop: one query tile at a time -------------------------------------------------------------------
  for (int t = first_tile; t < tiles; ++t) {
    const int q0 = t * M, key0 = k0 + warp_key;  // the tile's first query; the warp's first key
    load_tile<M, D>(sQ, q, q0, S);
    load_tile<M, D>(sdO, dout, q0, S);
    __syncthreads();  // the tiles are there

    // P^T = exp(S^T - L); 0 for pairs that the mask hides, and for those past the end.
    Scores<T> s = {};
    add_scores<T>(s, sK[warp_key], sQ[0], lane);
    Weights<T> p, ds;
    float delta[M / 8][2];
    for (int n = 0; n < M / 8; ++n) {
      for (int e = 0; e < 4; ++e) {
        const int row = q0 + 8 * n + first_column + e % 2;
        const int last_key = row >= S ? -1 : causal ? row : S - 1;  // that the row sees
        const float2 terms = row < S ? rows[row] : make_float2(0.0f, 0.0f);
        s[n][e] = fmaf(s[n][e], scale_log2, -terms.x), delta[n][e % 2] = terms.y * inverse;
        if (key0 + quad_row + e / 2 * 8 > last_key) s[n][e] = -INFINITY;
        s[n][e] = ptx::ex2(s[n][e]);
      }
      for (int h = 0; h < 2; ++h) p[n][h] = half_pair(s[n][2 * h], s[n][2 * h + 1]);
    }
    add_weighted<T>(dV, p, sdO[0], lane);

    // dS^T = P^T (dP^T - delta) / unit, in registers for dK and in shared memory for dQ.
    Scores<T> dP = {};
    add_scores<T>(dP, sV[warp_key], sdO[0], lane);
    for (int n = 0; n < M / 8; ++n)
      for (int h = 0; h < 2; ++h) {
        ds[n][h] = half_pair(s[n][2 * h] * fmaf(dP[n][2 * h], inverse, -delta[n][0]),
                             s[n][2 * h + 1] * fmaf(dP[n][2 * h + 1], inverse, -delta[n][1]));
        *reinterpret_cast<unsigned*>(&sdS[warp_key + quad_row + 8 * h][8 * n + first_column]) = ds[n][h];
      }
    add_weighted<T>(dK, ds, sQ[0], lane);
    __syncthreads();  // the dS of all warps is there

    // dQ of the tile, from this block's keys: 16 rows and DQ_COLS columns for each warp, 16 keys at a time.
    const int row = warp % 2 * T::DQ_ROWS, col = warp / 2 * T::DQ_COLS;
    float dQ[T::DQ_COLS / 8][4] = {};
    for (int n = 0; n < N; n += 16) {
      const int key = n + first_column;
      unsigned a[4];
      for (int e = 0; e < 4; ++e) {
        const half* pair = &sdS[key + e / 2 * 8][row + quad_row + e % 2 * 8];
        a[e] = half_pair(pair[0], pair[M + 8]);
      }
      for (int d = 0; d < T::DQ_COLS / 8; ++d) {
        const int column = col + 8 * d + quad_row;
        const unsigned b[2] = {half_pair(sK[key][column], sK[key + 1][column]),
                               half_pair(sK[key + 8][column], sK[key + 9][column])};
        ptx::mma_m16n8k16(dQ[d], a, b);
      }
    }
    for (int d = 0; d < T::DQ_COLS / 8; ++d)
      for (int e = 0; e < 4; ++e)
        if (const int r = q0 + row + quad_row + e / 2 * 8; r < S)
          atomicAdd(&dq_sum[std::size_t(r) * D + col + 8 * d + first_column + e % 2], dQ[d][e]);
    __syncthreads();  // all warps are done with the tiles, and with dS
  }

  // --- Epilogue: scale dK, round to fp16, store -------------------------------------------------------------
  const auto store = [&](half* to, const Gradient<T>& from, float factor) {
    for (int h = 0; h < 2; ++h)
      for (int d = 0; d < D / 8; ++d)
        if (const int key = k0 + warp_key + quad_row + 8 * h; key < S)
          store2(to + std::size_t(key) * D + 8 * d + first_column, from[d][2 * h] * factor,
                 from[d][2 * h + 1] * factor);
  };
  store(dv, dV, 1.0f);
  store(dk, dK, scale * unit);
}

// --- dQ: the sums, scaled and rounded ----------------------------------------------------------------------
template <int D>
__global__ void __launch_bounds__(ROW_THREADS)
    round_sums(const float* __restrict__ dq_sum, const float2* __restrict__ bounds, half* __restrict__ dq, int S,
               float scale) {
  const std::size_t head = blockIdx.x, first = head * S * D;
  scale *= ds_unit(bounds[head * BOUND_PITCH]);
  const int i = (blockIdx.y * ROW_THREADS + threadIdx.x) * 2;
  if (i < S * D) store2(dq + first + i, dq_sum[first + i] * scale, dq_sum[first + i + 1] * scale);
}

// --- workspace -------------------------------------------------------------------------------------------
struct Workspace {
  half* out;       // [B, H, S, D], which the forward pass has saved
  float* L;        // [B, H, S], it too
  float2* rows;    // [B, H, S]
  float* dq_sum;   // [B, H, S, D]; it and what is behind it begins with zeros
  float2* bounds;  // [B, H, BOUND_PITCH]
  std::size_t end;
};

Workspace parts_of(const void* workspace, const Shape& s) {
  Parts parts(workspace);
  const std::size_t heads = std::size_t(s.B) * s.H;
  return {parts.take<half>(s.elements()),
          parts.take<float>(s.rows()),
          parts.take<float2>(s.rows()),
          parts.take<float>(s.elements()),
          parts.take<float2>(heads * BOUND_PITCH),
          parts.end()};
}

// --- launcher --------------------------------------------------------------------------------------------
template <int D>
cudaError_t launch(const BackwardArgs& a) {
  using T = Tile<D>;
  const auto [B, H, S, _, causal] = a.shape;
  const int heads = B * H;
  const Workspace w = parts_of(a.workspace, a.shape);
  const std::size_t zeros = w.end - reinterpret_cast<std::uintptr_t>(w.dq_sum);
  if (const cudaError_t error = cudaMemsetAsync(w.dq_sum, 0, zeros, a.stream)) return error;
  row_terms<D><<<dim3(heads, ceil_div(S, ROW_THREADS / (D / 8))), ROW_THREADS, 0, a.stream>>>(
      w.out, a.dout, a.v, w.L, w.rows, reinterpret_cast<unsigned*>(w.bounds), S);
  gradients<D><<<dim3(heads, ceil_div(S, T::N)), T::THREADS, 0, a.stream>>>(a.q, a.k, a.v, a.dout, w.rows, w.bounds,
                                                                            w.dq_sum, a.dk, a.dv, S, a.scale, causal);
  round_sums<D><<<dim3(heads, ceil_div(S * D / 2, ROW_THREADS)), ROW_THREADS, 0, a.stream>>>(w.dq_sum, w.bounds, a.dq,
                                                                                             S, a.scale);
  return cudaGetLastError();
}

}  // namespace

cudaError_t attention_backward_gradients(const half* q, const half* k, const half* v, const half* dout, half* dq,
                                         half* dk, half* dv, int B, int H, int S, int D, float scale, int causal,
                                         void* workspace, cudaStream_t stream) {
  const lab::BackwardArgs args{
      q, k, v, dout, dq, dk, dv, static_cast<float*>(workspace), {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  return D == 64 ? launch<64>(args) : launch<128>(args);
}

cudaError_t attention_backward(const half* q, const half* k, const half* v, const half* dout, half* dq, half* dk,
                               half* dv, int B, int H, int S, int D, float scale, int causal, void* workspace,
                               cudaStream_t stream) {
  const Workspace w = parts_of(workspace, {B, H, S, D, causal != 0});
  if (const cudaError_t error = lab::save_forward({q, k, v, w.out, {B, H, S, D, causal != 0}, scale, stream}, w.L))
    return error;
  return attention_backward_gradients(q, k, v, dout, dq, dk, dv, B, H, S, D, scale, causal, workspace, stream);
}

std::size_t attention_backward_workspace(int B, int H, int S, int D, int causal) {
  return parts_of(nullptr, {B, H, S, D, causal != 0}).end;
}
