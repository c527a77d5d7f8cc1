// make probe what=wmma: which matrix element does each fragment element hold? CUDA leaves that open, and two things here depend on it: the
// CPU's WMMA must behave like the hardware when code looks inside a fragment, and the bug `fragment_layout` does look.
//
//   held:  load a matrix whose element (r,c) is 16 r + c, let each lane report what its x[i] got.
//   used:  give every x[i] of every lane a number of its own, multiply by the identity, and see which number arrives at
//          (r,c). Fragments can hold an element twice; this tells which copy the multiplication reads.
//
// Tables are held against common/wmma_layout.hpp; writeups/results/h200-wmma-layout.txt is a sample.
#pragma once
#include <cuda_fp16.h>
#include <mma.h>

#include "checks/probes/probe.cuh"
#include "common/wmma_layout.hpp"

namespace lab::wmma_probe {

using namespace nvcuda;
using probe::from_device, probe::on_device, probe::Tally;

constexpr int FROM = 70, TO = 999;
inline std::string head(const std::string& gpu) {
  return "Which element of a 16x16x16 WMMA fragment (half in, float accumulate) each lane holds: `make probe "
         "what=wmma\n"
         "sample=...` on an " +
         gpu + ".\n\n";
}
constexpr int LANES = 32, SIZE = 256;

__global__ void held_kernel(const half* numbers, const float* numbers_f, int* a_row, int* b_row, int* b_col,
                            int* acc_row) {
  const int lane = threadIdx.x;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> bc;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::load_matrix_sync(a, numbers, 16);
  wmma::load_matrix_sync(b, numbers, 16);
  wmma::load_matrix_sync(bc, numbers, 16);  // element (k,n) lies at n * 16 + k
  wmma::load_matrix_sync(c, numbers_f, 16, wmma::mem_row_major);
  for (int i = 0; i < a.num_elements; ++i) a_row[lane * 16 + i] = int(__half2float(a.x[i]));
  for (int i = 0; i < b.num_elements; ++i) b_row[lane * 16 + i] = int(__half2float(b.x[i]));
  for (int i = 0; i < bc.num_elements; ++i) b_col[lane * 16 + i] = int(__half2float(bc.x[i]));
  for (int i = 0; i < c.num_elements; ++i) acc_row[lane * 8 + i] = int(c.x[i]);
}

__global__ void used_kernel(const half* identity, float* from_a, float* from_b_row, float* from_b_col) {
  const int lane = threadIdx.x;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a, one;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b, one_b;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> bc;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::load_matrix_sync(one, identity, 16);
  wmma::load_matrix_sync(one_b, identity, 16);
  for (int i = 0; i < a.num_elements; ++i) a.x[i] = __float2half(float(lane * 16 + i));
  for (int i = 0; i < b.num_elements; ++i) b.x[i] = __float2half(float(lane * 16 + i));
  for (int i = 0; i < bc.num_elements; ++i) bc.x[i] = __float2half(float(lane * 16 + i));
  wmma::fill_fragment(c, 0.0f);
  wmma::mma_sync(c, a, one_b, c);
  wmma::store_matrix_sync(from_a, c, 16, wmma::mem_row_major);
  wmma::fill_fragment(c, 0.0f);
  wmma::mma_sync(c, one, b, c);
  wmma::store_matrix_sync(from_b_row, c, 16, wmma::mem_row_major);
  wmma::fill_fragment(c, 0.0f);
  wmma::mma_sync(c, one, bc, c);
  wmma::store_matrix_sync(from_b_col, c, 16, wmma::mem_row_major);
}

struct Table {
  const char *name, *comment;
  int rows, columns;
  const int* measured;
  const short* committed;
};

// The tables, as C++.
inline void tables(Tally& tally) {
  std::vector<half> numbers(SIZE), identity(SIZE);
  std::vector<float> numbers_f(SIZE);
  for (int i = 0; i < SIZE; ++i) {
    numbers[i] = __float2half(float(i));
    numbers_f[i] = float(i);
    identity[i] = __float2half(i / 16 == i % 16 ? 1.0f : 0.0f);
  }
  constexpr int HELD = 4 * LANES * 16, USED = 3 * SIZE;
  int* held_d = on_device<int>(nullptr, HELD);
  float* used_d = on_device<float>(nullptr, USED);
  probe::run(held_kernel, 1, LANES, 0, on_device<half>(numbers.data(), SIZE), on_device<float>(numbers_f.data(), SIZE),
             held_d, held_d + 512, held_d + 1024, held_d + 1536);
  probe::run(used_kernel, 1, LANES, 0, on_device<half>(identity.data(), SIZE), used_d, used_d + SIZE,
             used_d + 2 * SIZE);
  const std::vector<int> held = from_device(held_d, HELD);
  const std::vector<float> used = from_device(used_d, USED);
  const std::vector<int> read(used.begin(), used.end());
  std::vector<int> swapped(512);
  // A column-major load puts memory index n * 16 + k where (k,n) belongs: report r * 16 + c throughout.
  for (int i = 0; i < 512; ++i) swapped[i] = held[1024 + i] % 16 * 16 + held[1024 + i] / 16;
  using namespace lab::wmma_layout;
  const Table tables[] = {
      {"A_ROW_HELD", "[lane][i] -> 16 r + c of A(r,c)", LANES, 16, &held[0], &A_ROW_HELD[0][0]},
      {"B_ROW_HELD", "[lane][i] -> 16 k + n of B(k,n), loaded row-major", LANES, 16, &held[512], &B_HELD[0][0]},
      {"B_COL_HELD", "[lane][i] -> 16 k + n of B(k,n), loaded column-major", LANES, 16, &swapped[0], &B_HELD[0][0]},
      {"ACC_HELD", "[lane][i] -> 16 r + c of C(r,c)", LANES, 8, &held[1536], &ACC_HELD[0][0]},
      {"A_ROW_USED", "[r][c] -> 16 lane + i that mma_sync reads as A(r,c)", 16, 16, &read[0], &A_ROW_USED[0][0]},
      {"B_ROW_USED", "[k][n] -> 16 lane + i that mma_sync reads as B(k,n), row-major fragment", 16, 16, &read[SIZE],
       &B_USED[0][0]},
      {"B_COL_USED", "[k][n] -> 16 lane + i that mma_sync reads as B(k,n), column-major fragment", 16, 16,
       &read[2 * SIZE], &B_USED[0][0]},
  };
  for (const Table& t : tables) {
    tally.sample += format("// %s\ninline constexpr short %s[%d][%d] = {\n", t.comment, t.name, t.rows, t.columns);
    for (int r = 0; r < t.rows; ++r) {
      for (int c = 0; c < t.columns; ++c) {
        const int i = r * t.columns + c;
        tally.sample += format(c ? ", %d" : "    {%d", t.measured[i]);
        tally.add(t.measured[i] == t.committed[i], [&] {
          return format("%s[%d][%d] is %d, common/wmma_layout.hpp says %d", t.name, r, c, t.measured[i],
                        t.committed[i]);
        });
      }
      tally.sample += "},\n";
    }
    tally.sample += "};\n";
  }
}

inline std::vector<probe::Section> sections(bool) { return {{"tables", tables}}; }

}  // namespace lab::wmma_probe
