// The oracle: scaled dot-product attention in fp64, one query row at a time, with no tiles and no streaming.
#pragma once
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "common/fp16.hpp"
#include "common/shape.hpp"

namespace lab {

using Tensor = std::span<const fp16>;  // contiguous [B, H, S, D]

// Consecutive query rows of one head; a list of them is a sample. `head` counts b * H + h.
struct RowBlock {
  int head = 0, first = 0, rows = 0;
};

std::vector<RowBlock> all_rows(const Shape& shape);

// 1 / sqrt(D), what the kernels use unless told otherwise.
inline double default_scale(int D) { return 1.0 / std::sqrt(double(D)); }

// The arguments of a forward pass.
struct Operands {
  Shape shape;
  double scale = 0;
  Tensor q, k, v;
};

// softmax(scale q k^T) v for the rows of `blocks`, in their order, D values a row; all of [B, H, S, D] if
// empty. Causal: row i sees keys 0..i; a key that a row does not see is never touched. NaN and infinities
// pass through as the formula has them: a score of +Inf (or a whole row of -Inf) gives NaN, a NaN in key n
// reaches every row that sees it. Uses all cores. Throws BadInput for a tensor that is not B*H*S*D long, or a
// block outside of it.
std::vector<double> attention(const Operands& in, std::span<const RowBlock> blocks = {});

// --- the frame that the oracle and the predicted wrong answers share ---

// One head's tensors in fp64, [S, D] each.
struct Head {
  int S = 0, D = 0;
  std::vector<double> q, k, v;
  const double* q_row(int i) const { return &q[std::size_t(i) * D]; }
  const double* k_row(int i) const { return &k[std::size_t(i) * D]; }
  const double* v_row(int i) const { return &v[std::size_t(i) * D]; }
};

// Sum of a[i] * b[i] over n values.
double dot(const double* a, const double* b, int n);

// Calls row(head, i, out) for every row i of `blocks`, all if empty, with `prepare(head)` once a head before; out has D
// values, 0 at first. Rows are computed by all cores, so `row` must only read the head.
using PrepareHead = std::function<void(Head&)>;
using ComputeRow = std::function<void(const Head&, int row, double* out)>;
std::vector<double> for_rows(const Operands& in, const ComputeRow& row, std::span<const RowBlock> blocks = {},
                             const PrepareHead& prepare = nullptr);

// out = softmax(scores) v over keys 0 .. scores.size() - 1. `scores` is overwritten.
void softmax_times_v(const Head& head, std::vector<double>& scores, double* out);

// How many keys a row sees; they are always the first ones.
inline int visible_keys(const Shape& shape, int row) { return shape.causal ? row + 1 : shape.S; }

}  // namespace lab
