// How far a correct kernel may be from the fp64 oracle: |out - ref| <= atol + rtol * |ref|, for each element.
//
// The notes' own rule, 1e-3 on inputs of 0.1 * N(0,1), is kept for their five shapes; it lets a kernel pass
// that ignores Q·K^T. The bound below is derived instead, to first order in the two roundings
//   u = 2^-24   fp32, one operation          h = 2^-11   fp16, one conversion
// for one element out = sum_j w_j v_j, with w_j = p_j / sum p, p_j = exp(s_j - m), over n visible keys.
//
// 1. Scores. G = scale * ‖q‖ * max ‖k‖ bounds both |s_j| and scale * sum_d |q_d k_d| (Cauchy). Products of
//    fp16 are exact in fp32, so a dot product of D terms in any order errs by at most D u G; the scale (and
//    log2 e, where exp2 is used) add 3 u G; s_j - m, at most 2 G, adds 2 u G; the error of m itself is common
//    to all keys and cancels. Tensor cores truncate where scalar code rounds, but once for 8 products or
//    more: D u G covers it.
// 2. exp. __expf errs by 2 + 1.173 |x| ulp (CUDA's guide), |x| <= 2 G: at most (4 + 4.7 G) u.
// 3. So each p_j has a relative error of at most  e_p = ((D + 10) G + 4) u.
// 4. Sums. Adding n terms in any order errs by n u; rescaling at each of at most n/16 tiles by exp(m - m')
//    adds two roundings and an exp (whose |x| are within the 2 G of point 2) a tile: less than 2 n u in all.
// 5. An error e_j in p_j moves the output by w_j e_j (v_j - out), so with A = sum_j w_j |v_j|:
//      |error| <= c (A + |out|),   c = e_p + 2 n u
// 6. The output's own rounding: h |out|, or half a subnormal step, 2^-25.
// 7. A stage that rounds p to fp16 for the tensor cores adds h to e_p. Where p < 2^-14 the
//    rounding is absolute, 2^-25 a key, against a sum of p of at least 1 (the largest p is exp(0)):
//    n 2^-25 (max |v| + |out|), the maximum taken over the row's head.
//
// A comes from the oracle, run on |V|. On one-hot V it equals the weight itself and the bound is purely
// relative. In figures, for unit variance at S=2048, D=64: atol is about 2.4e-4 (9e-4 with fp16 p), rtol is
// 2^-11 and a bit; planted bugs are off by 0.2 to 1.2 there.
//
// Where q and k are so large that the scores' part of e_p passes FIRST_ORDER, exp of their error is no longer 1 + e,
// and points 1, 2 and 5 are replaced:
// 8. Let * be the key with the largest exact score, g_j = s_* - s_j >= 0, and a_j = scale * sum_d |q_d k_jd|, which G
//    bounds. All weights may be divided by the one of *, so what counts is the error of s_j - s_*. The two dot products
//    err by (D - 1) u (a_j + a_*). A stage may round s_j and the reference that it subtracts, each after the
//    multiplication by the scale: 2 u (a_j + a_*), for no reference of j is further below s_* than s_j. All else (the
//    scale's own rounding, the difference's, exp's argument, the rescales between references, whose distances add up to
//    g_j at most) is relative to the distance: fewer than 12 roundings. So
//      |error of s_j - s_*| <= x_j = u ((D + 2) (a_j + a_*) + 12 g_j).
// 9. A weight exp(-g_j) is thus off by at most exp(-g_j) (exp(x_j) - 1), and the output by T (max |v| + |out|),
//      T = sum_{j != *} (exp(x_j - g_j) - exp(-g_j)) / (1 + sum_{j != *} exp(-x_j - g_j)):
//    nothing where the gaps are larger than the errors.
// 10. The output is a mean of V's rows, whatever the weights are: T is at most 1. What is not finite is wrong.
// 11. Where all rows of K that a query sees are the same, its scores come out of the same operations on the same
// numbers:
//    they are one number, with one error, and T = 0. (Two equal rows among others do not have this: the reference, and
//    its rounding, can change between them. Nor would a kernel that adds up the products of different keys in different
//    orders; no stage does.)
// The bound is loose, and must be, where a second key's score is within x_j of the largest: rounding decides which of
// the two wins. Of unit inputs times 1000 or more that is one row in some thousands, whose bound is |v| itself. With
// seed=1 no row of the acceptance is one of these (test_expected.cpp).
#pragma once

namespace lab {

inline constexpr double NOTES_TOLERANCE = 1e-3;  // on `notes` inputs only

inline constexpr double FP32_ROUNDING = 0x1p-24;
inline constexpr double FP16_ROUNDING = 0x1p-11;
inline constexpr double FP16_HALF_STEP = 0x1p-25;  // half the distance between two subnormals

// Up to this relative error of a weight the first order will do: the second adds a sixty-fourth of it.
inline constexpr double FIRST_ORDER = 1.0 / 32;

// The bound's inputs from a query row; the element adds its own A and max |v|.
struct RowError {
  double relative = 0;  // c of point 5
  double absolute = 0;  // of points 7 and 9: absolute error of p, summed over keys
};

// The scores' part of point 3.
inline double score_error(int head_dim, double largest_score) {
  return (head_dim + 10) * largest_score * FP32_ROUNDING;
}

inline RowError row_error(int head_dim, int visible_keys, double largest_score, bool half_p) {
  const double p_error = score_error(head_dim, largest_score) + 4 * FP32_ROUNDING + (half_p ? FP16_ROUNDING : 0);
  return {p_error + 2.0 * visible_keys * FP32_ROUNDING, half_p ? visible_keys * FP16_HALF_STEP : 0};
}

// The same beyond FIRST_ORDER; `moved` is T of point 9.
inline RowError large_row_error(int head_dim, int visible_keys, double moved, bool half_p) {
  RowError row = row_error(head_dim, visible_keys, 0, half_p);
  row.absolute += moved;
  return row;
}

// atol + rtol * |ref|. `mean_abs_v` is A of point 5.
inline double allowed_error(const RowError& row, double abs_ref, double mean_abs_v, double max_abs_v) {
  const double atol = FP16_HALF_STEP + row.relative * mean_abs_v + row.absolute * max_abs_v;
  const double rtol = FP16_ROUNDING + row.relative + row.absolute;
  return atol + rtol * abs_ref;
}

}  // namespace lab
