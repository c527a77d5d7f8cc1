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
#pragma once

namespace lab {

inline constexpr double NOTES_TOLERANCE = 1e-3;  // on `notes` inputs only

inline constexpr double FP32_ROUNDING = 0x1p-24;
inline constexpr double FP16_ROUNDING = 0x1p-11;
inline constexpr double FP16_HALF_STEP = 0x1p-25;  // half the distance between two subnormals

// What the bound needs to know of a query row; the element adds its own A and max |v|.
struct RowError {
  double relative = 0;  // c of point 5
  double step = 0;      // of point 7: absolute error of p, summed over keys
};

inline RowError row_error(int head_dim, int visible_keys, double largest_score, bool half_p) {
  const double p_error = ((head_dim + 10) * largest_score + 4) * FP32_ROUNDING + (half_p ? FP16_ROUNDING : 0);
  return {p_error + 2.0 * visible_keys * FP32_ROUNDING, half_p ? visible_keys * FP16_HALF_STEP : 0};
}

// atol + rtol * |ref|. `mean_abs_v` is A of point 5.
inline double allowed_error(const RowError& row, double abs_ref, double mean_abs_v, double max_abs_v) {
  const double atol = FP16_HALF_STEP + row.relative * mean_abs_v + row.step * max_abs_v;
  const double rtol = FP16_ROUNDING + row.relative + row.step;
  return atol + rtol * abs_ref;
}

}  // namespace lab
