// The wrong answers that the bugs of the catalogue predict, in fp64. A bug is understood when its output can
// be foretold: the buggy kernel must match these at the harness's ordinary tolerance. Each is of all rows, [B, H, S, D];
// some throw BadInput where there is no such answer. Source of the bugs: the catalogue in the source notes.
#pragma once
#include <array>
#include <functional>
#include <vector>

#include "reference/attention.hpp"

namespace lab::wrong {

using Answer = std::vector<double>;

// Attention with each head changed by `prepare` first: the frame for a bug that amounts to another K, Q or V.
Answer attention_after(const Operands&, const PrepareHead& prepare);

// Columns 0..63: softmax(scale q[0:64]·k[0:64]) V[:, 0:64], where scale is still 1/sqrt(D). Columns 64.. are
// never written by the kernel; here they are NaN.
Answer head_dim_64(const Operands&);

// softmax(scale^2 q·k) V.
Answer double_scale(const Operands&);

// attention / 32: the row sum is 32 times too large in every tile.
Answer reduce_32x(const Operands&);

// S[r][n] = scale sum_c Q[r][c] K_tile[c][n], K_tile being the N keys of the tile that holds key n, zeros
// past S: the tile multiplied as it lies, not transposed. Needs D == N.
Answer qk_not_transposed(const Operands&, int tile_n);

// Attention with every 16 x 16 block of K transposed: K'[n0+n][k0+k] = K[n0+k][k0+n], keys past S being
// zeros.
Answer ldm(const Operands&);

// Attention with the 16-byte chunks of every key's row permuted: K'[n][8 c + j] = K[n][8 (c xor n mod 8) + j].
Answer swizzle_one_side(const Operands&);

// Attention with one 8-column piece in place of every 16 x 16 block of K: K'[n0+n][k0+k] = K[n0][k0 + k mod 8].
Answer ldmatrix_row_address(const Operands&);

// Attention with every 8 x 8 block of V transposed: V'[n0+n][c0+c] = V[n0+c][c0+n], keys past S being zeros.
Answer v_not_transposed(const Operands&);

// Attention with V as a wgmma finds it that takes it for k innermost, in tiles of [D / 64][tile_n][64]: key n0 + j of
// the tile, n0 a multiple of 16, has for column d what lies in column j of row n0 + d, rows counted on through the
// slabs. The columns for which some n0 + d is past the tile's last row are NaN: what lies behind it was never written.
Answer v_major(const Operands&, int tile_n);

// Attention with K as a wgmma finds it whose descriptor has its two strides exchanged, in tiles of [D /
// 64][tile_n][64]: K'[8 i + j][c] = element 8 i + c of what lies from row j of the tile on, within each slab of 64
// columns. Keys past S are zeros.
Answer strides_exchanged(const Operands&, int tile_n);

// s(t)[n] = q k(t)[n] + p(t - 1)[n], p(t)[n] = exp(scale s(t)[n] - m(t)) with m(t) the row's largest scale s(u)[n] up
// to tile t; p is 0 where the row sees no key, and before tile 0.
Answer scale_d_left_one(const Operands&, int tile_n);

// A row's tiles of `tile` keys in two parts, the first of them rounded up: O = sum of p V / sum of p over both, with
// p[n] = exp(s[n] - m) and m the row's maximum over the first tile of n's own part. An early row of a causal shape has
// its query tile's keys, of `tile` rows, to share out. Weights above 2^11 throw BadInput: 16 of them are what a lane of
// the kernel may have of a tile before it takes another maximum.
Answer merge_without_max(const Operands&, int tile);

// O = sum over tiles t of P'(t) V(t) / l, where the first `early` keys of a tile have their weights from the next one,
// p(t
// + 1)[n] in place of p(t)[n]; the last tile that a row's own tile of `tile_n` queries walks has its own. l is right.
Answer packed_too_early(const Operands&, int tile_n, int early);

// Weights are relative to the row's maximum over its first `tile_n` keys, m: p[n] = exp(s[n] - m), for P V as a half,
// which is +Inf from 65520 on; O = P V / sum(p) is then +-Inf, or NaN where V has both signs. Weights above 2^120
// (never with scores within +-40) throw BadInput: there the kernel's sum overflows as well.
Answer guard_of_a_float(const Operands&, int tile_n);

// Weights 2^fmaf(s, unit, -base), base the row's largest score times unit, rounded to a float; to fp16 for P V. Where
// that product is large, the largest weight is infinite or 0. For scores that are floats.
Answer contracted_exponent(const Operands&);

// LaunchPlan::block_of: the linear index of the block that takes a query tile, tiles counted head after head.
using BlockOfTile = unsigned (*)(unsigned tile, unsigned tiles, unsigned heads);

// Causal attention with another number of keys per query tile of `tile_m` rows: the block of a tile has the place x in
// its head (its linear index modulo the tiles of a head), and row i of the tile sees keys 0 .. min(i + 1, n) - 1, n the
// keys of the K/V tiles, of `tile_n` each, that cover (x + 1) tile_m.
Answer keys_of_another_tile(const Operands&, int tile_m, int tile_n, BlockOfTile block_of);

// The mean of V over the keys that a row sees: what is left if Q·K^T is ignored.
Answer scores_ignored(const Operands&);

// Attention, and NaN in the query tiles that no block takes: the block of tile t of head h takes tile t of the head that
// its own index says, block / tiles per head.
Answer tile_taken_twice(const Operands&, int tile_m, BlockOfTile block_of);

// For each element 16 r + c of a 16 x 16 block of weights: which element of the block it was filled from; -1:
// a zero.
using BlockMap = std::array<short, 256>;

// Every 16 x 16 block of P, rows of one stripe times 16 keys of a tile, is permuted by `map` before P·V; the
// row sums are right. Streams over tiles of `tile_n` keys as the kernel does, because weights of other rows
// of the stripe come in, each relative to its own row's running maximum:
//   m' = max(m, rowmax(s)),  a = exp(m - m'),  p = exp(s - m'),  l = l a + sum(p),  O = O a + P'·V,  at the
//   end O / l
// Tiles of query rows start at multiples of `tile_m`; causal ones end at the last key that a row of theirs
// may see. A key that a row does not see has weight 0. Rows past S have q = 0, so score 0, and see keys as
// their index says.
Answer fragment_layout(const Operands&, const BlockMap& map, int tile_m, int tile_n);

// Below, Z[r] = sum of exp(s[r]) over the keys that row r sees; a row past S has q = 0 and sees keys as its index says.

// right[r] Z[r] / Z[r - 8] where r mod 16 >= 8, and right[r] elsewhere.
Answer row_plus_8(const Operands&);

// right[r] Z[r] / (Z[r] + Z[r xor 1]).
Answer quad_reduce(const Operands&);

// Attention with V'[n] = V[n xor 8], zeros past S.
Answer p_halves_swapped(const Operands&);

// O = (O + p V) a in place of O a + p V, with l right: the share of tile t, `tile_n` keys, is multiplied once more by
// a(t) = exp(m(t - 1) - m(t)), which is 0 in the first tile.
Answer late_rescale(const Operands&, int tile_n);

// Attention over more keys: of the last tile of `tile_n` those past S too, as zeros. They have the score 0, so that a
// row is right[r] Z[r] / (Z[r] + their number). Under a causal mask, and if tile_n divides S, that is the right answer.
Answer tma_box_clipped(const Operands&, int tile_n);

// Attention with Q'[r][c] = Q[r][from(r, c)], and K' and V' in the same way: tiles read in another order than written.
Answer columns_moved(const Operands&, const std::function<int(int row, int col)>& from);

// Attention in which row i sees keys 0 .. keys_seen(i) - 1, of which there must be 1 to S.
Answer other_mask(const Operands&, const std::function<int(int row)>& keys_seen);

}  // namespace lab::wrong
