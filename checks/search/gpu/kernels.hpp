// The validator's own kernels, as slow and plain as can be.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace lab::search {

struct OracleRow {
  int head, row;
};

// Adds to *sum; which is 0 before.
void add_digest(const half* tensor, std::size_t size, std::uint64_t* sum, cudaStream_t stream);
// Of each head the longest key's norm and the largest |v|.
void head_norms(const half* k, const half* v, int heads, int S, int D, double* k_norm, double* v_max,
                cudaStream_t stream);
// Softmax in fp64: scores, `rows` times S, is scratch.
void oracle_rows(const half* q, const half* k, const half* v, const OracleRow* which, int rows, int S, int D,
                 bool causal, double scale, double* scores, double* out, double* mean_abs_v, double* q_norm,
                 cudaStream_t stream);

}  // namespace lab::search
