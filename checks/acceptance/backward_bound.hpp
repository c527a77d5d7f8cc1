// The oracle's gradients, and how far from them a correct backward kernel may be: |out - ref| <= allowed, by element.
//
// Derived to first order in u = 2^-24 (fp32, one operation) and h = 2^-11 (fp16, one conversion), as
// checks/acceptance/tolerance.hpp does for the forward pass. n is the number of keys that row i sees.
//
// 1. Scores. G_i = |scale| ‖q_i‖ max ‖k‖ bounds |s_ij| and scale sum |q k|: a score errs by (D + 3) u G_i at most.
// 2. L_i = m + log l. The scores' errors move it by no more than they are, adding up l by 2 n u (tolerance.hpp, point 4),
//    log and the sum that makes L by (G_i + 3 log n) u. Unlike m in the forward pass, L's error does not cancel: it was
//    rounded in another kernel than the scores that it is subtracted from.
// 3. P_ij = exp(s_ij - L_i), |s - L| <= 2 G_i + log n: the difference and __expf (2 + 1.173 |x| ulp) add
//    (6.7 G_i + 4 log n + 4) u. With 1 and 2 the relative error of P is at most
//      e_i = ((2 D + 16) G_i + 2 n + 8 log n + 8) u,   and h more where it is rounded to fp16,
//    which below 2^-14 is 2^-25 absolute.
// 4. dP_ij: D terms, (D u) w_ij with w_ij = ‖dO_i‖ ‖v_j‖. delta_i, a mean of dP with the weights P:
//      d_i = (2 e_i + (D + 2 n + 2) u) W_i,   W_i = ‖dO_i‖ max ‖v‖.
//    As dO·O with O rounded to fp16 it would err by h W_i more, which is the h in e_i.
// 5. dS_ij = scale P (dP - delta): |error| <= |scale| P ((e_i + 3 u) |dP - delta| + D u w_ij + d_i). Rounded to fp16:
//    h |dS| more, or |scale| 2^-25 U; and 2^-25 |scale| |dP - delta|, for a P below 2^-14 that was rounded before.
//    U is 1, for a kernel rounds P (dP - delta) and multiplies the sums by the scale, unless that may be beyond the
//    largest half. |dP_ij - delta_i| <= ‖dO_i‖ (‖v_j‖ + ‖o_i‖), and o_i is a mean of v's rows, rounded: all of the head's
//    are at most B = (2 + 2 h) max ‖dO‖ max ‖v‖. Then the kernel divides by a power of two, which it need not choose
//    larger than B / 2^14: what is rounded is below 2^15 P. Hence U = max(1, B / 2^14).
// 6. A sum of at most S terms in any order, of several blocks too: S u times the sum of the magnitudes. So
//      dQ_ic errs by sum_j X_ij |k_jc|, dK_jc by sum_i X_ij |q_ic|, dV_jc by sum_i Y_ij |dO_ic|,
//    X_ij the bound of point 5 plus S u |dS|, Y_ij = P (e_i + S u) plus 2^-25 where P is rounded.
// 7. The gradient's own rounding: h |ref|, or 2^-25.
//
// Where e_i is beyond FIRST_ORDER no such bound is known, and a finite reference asks for a finite gradient alone: the
// bound is infinite.
#pragma once
#include <vector>

#include "checks/acceptance/problem.hpp"
#include "checks/acceptance/tolerance.hpp"
#include "reference/backward.hpp"
#include "reference/inputs.hpp"

namespace lab {

// q, k and v as the forward pass has them, and dO of N(0,1).
Inputs make_backward_inputs(Family family, const Shape& shape, std::uint64_t seed, double amplitude = 1,
                            const Magnitudes& magnitudes = {});

// dQ, dK and dV, [B, H, S, D] each. Right as well: what Hidden::times_zero makes of a pair, and an infinity where a bound
// reaches past the largest half.
std::vector<Expected> expected_backward(const Shape& shape, double scale, const Inputs& in, bool half_p);

// e_i of point 3.
double weight_error(int head_dim, int visible_keys, double largest_score, bool half_p);

}  // namespace lab
