#include "checks/exercises/formulas.hpp"

#include <algorithm>
#include <cmath>

#include "checks/acceptance/subject.hpp"
#include "checks/bugs/signature.hpp"
#include "common/wmma_layout.hpp"
#include "reference/attention.hpp"
#include "reference/bad_input.hpp"
#include "reference/wrong_answers.hpp"

namespace lab {
namespace {

using wrong::Answer;

// The instance of the kernel that takes this shape, by its tile.
LaunchPlan tiled(const Shape& shape) {
  const LaunchPlan plan = plan_of(shape);
  if (plan.tile_n == 0) throw BadInput(std::string(stage_name()) + " has no tiles");
  return plan;
}
template <Answer (*compute)(const Operands&, int tile_n)>
Answer by_tile(const Operands& in) {
  return compute(in, tiled(in.shape).tile_n);
}
// A row sees at most the first `most` keys.
Answer first_keys(const Operands& in, int most) {
  return wrong::other_mask(
      in, [&](int row) { return std::clamp(in.shape.causal ? std::min(row + 1, most) : most, 1, in.shape.S); });
}

// One output.
struct {
  const char *name, *says;
  Answer (*compute)(const Operands& in);
} constexpr FORWARD[] = {
    {"right", "softmax(scale Q K^T) V, as it should be", [](const Operands& in) { return attention(in); }},
    {"uniform-weights", "the mean of V over the keys that a row sees", wrong::scores_ignored},
    {"scale-squared", "softmax(scale^2 Q K^T) V", wrong::double_scale},
    {"scale-left-out", "softmax(Q K^T) V",
     [](const Operands& in) {
       return attention({in.shape, 1, in.q, in.k, in.v});
     }},
    {"divided-by-32", "the right answer / 32", wrong::reduce_32x},
    {"tile-not-transposed", "score = sum over c of Q[r][c] Ktile[c][n]: K's tile as it lies",
     by_tile<wrong::qk_not_transposed>},
    {"k-blocks-transposed", "every 16 x 16 block of K transposed", wrong::ldm},
    {"k-chunks-permuted", "in row n of K, the 16-byte chunk c is that of c xor n mod 8", wrong::swizzle_one_side},
    {"k-rows-repeated", "of every 16 x 16 block of K, its first row's first 8 columns everywhere",
     wrong::ldmatrix_row_address},
    {"keys-from-the-first-rows", "key 8 i + j of a tile is read from column 8 i of the tile's row j on",
     by_tile<wrong::strides_exchanged>},
    {"halves-of-64-exchanged", "rows r of Q, K and V with r mod 8 >= 4 have the halves of every 64 columns exchanged",
     [](const Operands& in) {
       return wrong::columns_moved(in, [](int row, int col) { return row % 8 < 4 ? col : col ^ 32; });
     }},
    {"chunks-off-by-a-row", "16-byte chunk c of row r is c xor r mod 8 xor (r + 1) mod 8, in Q, K and V",
     [](const Operands& in) {
       return wrong::columns_moved(in, [](int row, int col) { return col ^ 8 * (row % 8 ^ (row + 1) % 8); });
     }},
    {"p-quarters-exchanged",
     "two 8 x 8 of every 16 x 16 block of weights have changed places, upper right and lower left",
     [](const Operands& in) {
       wrong::BlockMap map;
       for (int r = 0; r < 16; ++r)
         for (int c = 0; c < 16; ++c) map[16 * r + c] = short((r < 8) == (c < 8) ? 16 * r + c : 16 * (r ^ 8) + (c ^ 8));
       return wrong::fragment_layout(in, map, tiled(in.shape).tile_m, tiled(in.shape).tile_n);
     }},
    {"weights-of-the-next-tile", "some keys of each tile but the last are weighed as those of the next",
     [](const Operands& in) {
       const int n = tiled(in.shape).tile_n;
       return wrong::packed_too_early(in, n, in.shape.D == 64 ? n / 2 : n * 3 / 4);
     }},
    {"v-blocks-transposed", "every 8 x 8 block of V transposed", wrong::v_not_transposed},
    {"v-rows-for-columns", "rows of V stand where its columns should, and NaN past the tile", by_tile<wrong::v_major>},
    {"v-halves-exchanged", "V[n xor 8] in place of V[n]", wrong::p_halves_swapped},
    {"scores-carried-over", "each tile's scores begin with the weights of the tile before",
     by_tile<wrong::scale_d_left_one>},
    {"half-overflows", "weights relative to the first tile's maximum, rounded to fp16: infinite from 65520 on",
     by_tile<wrong::guard_of_a_float>},
    {"sum-of-row-minus-8", "rows 8 to 15 of every 16 divided by the sum of the row 8 above", wrong::row_plus_8},
    {"sum-with-neighbour", "divided by the sum of its own and its neighbour's (row xor 1) weights", wrong::quad_reduce},
    {"scaled-once-more", "every tile's share is rescaled by the step that should come before it",
     by_tile<wrong::late_rescale>},
    {"zeros-counted-as-keys", "the zeros behind the last key of the last tile weigh as keys of score 0",
     by_tile<wrong::tma_box_clipped>},
    {"parts-not-weighted", "two halves of the keys added up, each relative to its own maximum",
     by_tile<wrong::merge_without_max>},
    {"own-tile-only", "a row sees the keys of the first tile and no others",
     [](const Operands& in) { return first_keys(in, tiled(in.shape).tile_n); }},
    {"first-lap-only",
     "each tile past the ring of slots is the one that lay in its slot a lap before: the first ones count alone",
     [](const Operands& in) { return first_keys(in, tiled(in.shape).slots * tiled(in.shape).tile_n); }},
    {"whole-tiles-only", "the keys of the last tile, if it is not whole, count for nothing",
     [](const Operands& in) { return first_keys(in, in.shape.S / tiled(in.shape).tile_n * tiled(in.shape).tile_n); }},
};

// Three gradients: how the weights of a row and a key differ from the right ones.
struct Pair {
  int row, key;
  double scale, delta, L;  // the row's
  double &P, &dP, &dS;
};
struct {
  const char *name, *says;
  void (*change)(Pair pair);
} constexpr BACKWARD[] = {
    {"right", "dS = scale P (dP - delta), as it should be", [](Pair) {}},
    {"delta-left-out", "dS = scale P dP", [](Pair p) { p.dS = p.scale * p.P * p.dP; }},
    {"delta-added", "dS = scale P (dP + delta)", [](Pair p) { p.dS = p.scale * p.P * (p.dP + p.delta); }},
    {"scale-left-out", "dS = P (dP - delta)", [](Pair p) { p.dS /= p.scale; }},
    {"scale-squared", "dS = scale^2 P (dP - delta)", [](Pair p) { p.dS *= p.scale; }},
    {"p-not-normalised", "P = exp(s), without the division by the row's sum, in dV and in dS",
     [](Pair p) { p.P *= std::exp(p.L), p.dS *= std::exp(p.L); }},
    {"own-key-left-out", "P = dS = 0 for a row and its own key, and all other pairs as they are",
     [](Pair p) {
       if (p.row == p.key) p.P = p.dS = 0;
     }},
    {"p-base-confused", "P = exp(s - L ln 2), in dV and in dS",
     [](Pair p) {
       const double factor = std::exp(p.L * (1 - std::log(2.0)));
       p.P *= factor, p.dS *= factor;
     }},
};

Gradients gradients_after(const Trial& t, void (*change)(Pair pair)) {
  return backward_after(t, [&](BackwardHead& h) {
    for (int i = 0; i < h.S; ++i)
      for (int j = 0; j < h.S; ++j)
        if (h.sees(i, j))
          change({i, j, t.scale, h.delta[i], h.L[i], h.P[h.at(i, j)], h.dP[h.at(i, j)], h.dS[h.at(i, j)]});
  });
}

}  // namespace

std::vector<Formula> formulas() {
  std::vector<Formula> all;
  if (subject().backward)
    for (const auto& [name, says, change] : BACKWARD)
      all.push_back({name, says, [change](const Trial& t) {
                       Gradients g = gradients_after(t, change);
                       return std::vector<Answer>{std::move(g.dq), std::move(g.dk), std::move(g.dv)};
                     }});
  else
    for (const auto& [name, says, compute] : FORWARD)
      all.push_back({name, says, [compute](const Trial& t) { return std::vector<Answer>{compute(t)}; }});
  return all;
}

}  // namespace lab
