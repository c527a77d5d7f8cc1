// The oracle of the backward pass in fp64, from the definition: whole S x S matrices of one head at a time, no tiles.
//
//   P_ij  = exp(scale q_i·k_j - L_i),  L_i = log sum_j exp(scale q_i·k_j)      over the keys j that row i sees
//   dP_ij = dO_i·v_j                   delta_i = sum_j P_ij dP_ij = dO_i·O_i
//   dS_ij = scale P_ij (dP_ij - delta_i)
//   dQ = dS K                          dK = dS^T Q                             dV = P^T dO
#pragma once
#include <functional>
#include <vector>

#include "reference/attention.hpp"

namespace lab {

struct Gradients {
  std::vector<double> dq, dk, dv;  // [B, H, S, D]
  std::vector<double> L, delta;    // [B, H, S]
};

// The contribution to a sum of a pair (i, j) that the mask hides. The definition leaves it out. A kernel that multiplies whole
// tiles adds 0 times what is there, which is NaN where that is NaN or infinite. Both are right.
enum class Hidden { left_out, times_zero };

// One head: its tensors and all of its pairs in fp64.
struct BackwardHead : Head {
  int number = 0;  // b * H + h
  bool causal = false;
  std::vector<double> dout;       // [S, D]
  std::vector<double> L, delta;   // [S]
  std::vector<double> P, dP, dS;  // [S, S]; hidden pairs are 0, and NaN in dS where dP is none under times_zero
  const double* dout_row(int i) const { return &dout[std::size_t(i) * D]; }
  std::size_t at(int i, int j) const { return std::size_t(i) * S + j; }
  bool sees(int i, int j) const { return !causal || j <= i; }
};

// Calls each(head) for every head, several at a time.
void for_backward_heads(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Tensor dout, Hidden hidden,
                        const std::function<void(BackwardHead&)>& each);

// NaN and infinities pass through as the formulas have them. Uses all cores, a head each. Throws BadInput for a tensor
// that is not B*H*S*D long. `change` predicts a wrong kernel: P, dP and dS of a head are its to rewrite, of hidden pairs too.
using ChangePairs = std::function<void(BackwardHead&)>;
Gradients backward(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Tensor dout,
                   Hidden hidden = Hidden::left_out, const ChangePairs& change = nullptr);

// out[i] = sum_j weight(i, j) rows[j], or with `transposed` out[j] = sum_i weight(i, j) rows[i]; over the pairs that
// are seen, or over all. `weight` is [S, S], `rows` and `out` are [S, D], and `out` begins as it is.
void add_product(const BackwardHead& head, const std::vector<double>& weight, bool transposed, const double* rows,
                 Hidden hidden, double* out);

}  // namespace lab
