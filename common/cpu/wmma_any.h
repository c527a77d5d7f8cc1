// WMMA of the other shapes and types: 32x8x16 and 8x32x16, 8-bit integers, bfloat16, tf32 and double. Where an element lies
// is not said by CUDA: here a lane holds neighbours of a row, but for the accumulators of 16x16x16. Integers and doubles are
// exact; the others are summed in float, in the order of k.
#pragma once
#include "common/wmma_layout.hpp"
#include "cuda_bf16.h"
#include "cuda_intrinsics.h"
#include "mma.h"

namespace lab::plain {

// Row * columns + column of a lane's element.
template <class Use, int M, int N, int K, class T, class Layout>
int place(const nvcuda::wmma::fragment<Use, M, N, K, T, Layout>& f, int lane, int element) {
  if constexpr (std::is_same_v<Use, nvcuda::wmma::accumulator> && nvcuda::wmma::Measured<M, N, K, T>)
    return wmma_layout::ACC_HELD[lane][element];
  else
    return lane * f.num_elements + element;
}

// All lanes of the warp take part; then each moves its own elements, or finds those of the others.
template <class Fragment, class Matrix, class Move>
void each_element(Fragment& f, Matrix* matrix, unsigned ldm, bool column_major, Move move) {
  __shfl_sync(~0u, 0, 0);
  for (int i = 0; i < f.num_elements; ++i) {
    const int at = place(f, lane_of_thread(), i), row = at / f.columns, column = at % f.columns;
    move(f.x[i], matrix[column_major ? column * ldm + row : row * ldm + column]);
  }
}
template <class Fragment, class Sum>
void gather(const Fragment& f, Sum (&all)[Fragment::rows][Fragment::columns]) {
  for (int lane = 0; lane < 32; ++lane) {
    const auto* theirs =
        reinterpret_cast<const Fragment*>(__shfl_sync(~0u, reinterpret_cast<unsigned long long>(&f), lane));
    for (int i = 0; i < f.num_elements; ++i) {
      const int at = place(f, lane, i);
      all[at / f.columns][at % f.columns] = Sum(theirs->x[i]);
    }
  }
}

}  // namespace lab::plain

namespace nvcuda::wmma {

inline float __float_to_tf32(float x) {
  return std::bit_cast<float>((std::bit_cast<unsigned>(x) + 0x1000u) & ~0x1FFFu);  // ties away from zero
}
template <class Use, int M, int N, int K, class T, class Layout>
requires(!(Measured<M, N, K, T> && std::is_same_v<T, half>)) void load_matrix_sync(
    fragment<Use, M, N, K, T, Layout>& f, const typename fragment<Use, M, N, K, T, Layout>::element_type* matrix,
    unsigned ldm) {
  lab::plain::each_element(f, matrix, ldm, std::is_same_v<Layout, col_major>,
                           [](auto& own, const auto& in) { own = in; });
}
template <int M, int N, int K, class Sum>
requires(!Measured<M, N, K, Sum>) void load_matrix_sync(fragment<accumulator, M, N, K, Sum>& f,
                                                        const std::type_identity_t<Sum>* matrix, unsigned ldm,
                                                        layout_t layout) {
  lab::plain::each_element(f, matrix, ldm, layout == mem_col_major, [](auto& own, const auto& in) { own = in; });
}
template <int M, int N, int K, class Sum>
requires(!Measured<M, N, K, Sum>) void store_matrix_sync(std::type_identity_t<Sum>* matrix,
                                                         const fragment<accumulator, M, N, K, Sum>& f, unsigned ldm,
                                                         layout_t layout) {
  lab::plain::each_element(f, matrix, ldm, layout == mem_col_major, [](const auto& own, auto& in) { in = own; });
}
template <int M, int N, int K, class T, class Sum, class LayoutA, class LayoutB>
requires(!(Measured<M, N, K, T> && std::is_same_v<T, half>)) void mma_sync(
    fragment<accumulator, M, N, K, Sum>& d, const fragment<matrix_a, M, N, K, T, LayoutA>& a,
    const fragment<matrix_b, M, N, K, T, LayoutB>& b, const fragment<accumulator, M, N, K, Sum>& c, bool = false) {
  using In = std::conditional_t<std::is_same_v<Sum, half>, float, Sum>;
  In all_a[M][K], all_b[K][N], sum[d.num_elements];
  lab::plain::gather(a, all_a), lab::plain::gather(b, all_b);
  for (int i = 0; i < d.num_elements; ++i) {
    const int at = lab::plain::place(d, lab::plain::lane_of_thread(), i);
    sum[i] = In(c.x[i]);
    for (int k = 0; k < K; ++k) sum[i] += all_a[at / N][k] * all_b[k][at % N];
  }
  __shfl_sync(~0u, 0, 0);  // all have read the operands
  for (int i = 0; i < d.num_elements; ++i) d.x[i] = Sum(sum[i]);
}

}  // namespace nvcuda::wmma
