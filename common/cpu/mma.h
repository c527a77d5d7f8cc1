// nvcuda::wmma for g++: 16x16x16, half in, float or half accumulate; wmma_any.h has the other shapes and types. Fragments
// have the hardware's measured element layout (common/wmma_layout.hpp). A load or a store is a rendezvous of the warp, since
// all lanes must take part, and then each lane moves its own elements: like the hardware's, it orders no memory.
#pragma once
#include <type_traits>

#include "cuda_fp16.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

namespace precision {
struct tf32;
}

// The one with a measured layout.
template <int M, int N, int K, class T>
concept Measured = M == 16 && N == 16 && K == 16 && (std::is_same_v<T, half> || std::is_same_v<T, float>);

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  static constexpr int rows = std::is_same_v<Use, matrix_b> ? K : M, columns = std::is_same_v<Use, matrix_a> ? K : N;
  static constexpr bool repeats = Measured<M, N, K, T> && !std::is_same_v<Use, accumulator>;
  static constexpr int num_elements = rows * columns / 32 * (repeats ? 2 : 1);
  using element_type = std::conditional_t<std::is_same_v<T, precision::tf32>, float, T>;
  using storage_element_type = element_type;
  element_type x[num_elements];
};

}  // namespace nvcuda::wmma

namespace lab::cpu {
// `column_major`: of the matrix in memory. ldm in elements. Throwing out of a kernel is not a thing: misuse stops the
// launch. Sum: float or half.
void wmma_load(bool is_a, half* fragment, const half* matrix, unsigned ldm, bool column_major);
template <class Sum>
void wmma_load(Sum* fragment, const Sum* matrix, unsigned ldm, bool column_major);
template <class Sum>
void wmma_store(Sum* matrix, const Sum* fragment, unsigned ldm, bool column_major);
template <class Sum>
void wmma_mma(Sum* d, const half* a, const half* b, const Sum* c);

}  // namespace lab::cpu

namespace nvcuda::wmma {

template <class Use, int M, int N, int K, class T, class Layout>
__forceinline__ void fill_fragment(fragment<Use, M, N, K, T, Layout>& f,
                                   typename fragment<Use, M, N, K, T, Layout>::element_type value) {
  for (auto& element : f.x) element = value;
}
template <class Use, class Layout>
__forceinline__ void load_matrix_sync(fragment<Use, 16, 16, 16, half, Layout>& f, const half* matrix, unsigned ldm) {
  lab::cpu::wmma_load(std::is_same_v<Use, matrix_a>, f.x, matrix, ldm, std::is_same_v<Layout, col_major>);
}
template <class Sum>
requires Measured<16, 16, 16, Sum> __forceinline__ void load_matrix_sync(fragment<accumulator, 16, 16, 16, Sum>& f,
                                                                         const std::type_identity_t<Sum>* matrix,
                                                                         unsigned ldm, layout_t layout) {
  lab::cpu::wmma_load<Sum>(f.x, matrix, ldm, layout == mem_col_major);
}
template <class Sum>
requires Measured<16, 16, 16, Sum> __forceinline__ void store_matrix_sync(
    std::type_identity_t<Sum>* matrix, const fragment<accumulator, 16, 16, 16, Sum>& f, unsigned ldm, layout_t layout) {
  lab::cpu::wmma_store<Sum>(matrix, f.x, ldm, layout == mem_col_major);
}
template <class Sum, class LayoutA, class LayoutB>
__forceinline__ void mma_sync(fragment<accumulator, 16, 16, 16, Sum>& d,
                              const fragment<matrix_a, 16, 16, 16, half, LayoutA>& a,
                              const fragment<matrix_b, 16, 16, 16, half, LayoutB>& b,
                              const fragment<accumulator, 16, 16, 16, Sum>& c) {
  lab::cpu::wmma_mma<Sum>(d.x, a.x, b.x, c.x);
}

}  // namespace nvcuda::wmma

#include "wmma_any.h"
