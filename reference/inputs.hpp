// Seeded inputs. The notes' own inputs are so tame that a kernel which ignores Q·K^T passes on them; the
// other families exist to be failed on.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/fp16.hpp"
#include "common/shape.hpp"

namespace lab {

enum class Family {
  notes,    // 0.1 N(0,1): what the source notes tested with; scores near zero, softmax near uniform
  unit,     // N(0,1)
  peaked,   // q and k scaled so that q·k/sqrt(D) reaches +-30 and more: most of a row's weight on one key
  offset,   // N(0,1), and a constant added to every K element: all scores of a row move together by up to
            // +-400
  swamped,  // key 0 weighs 1, every other 6e-6 or 1.3e-5: each tile adds less than half an fp16 step to the sum before
            // it
  cancelling,  // weights that an fp16 rounding moves by nearly half a step, up and down; V of both signs: the rounding
               // remains
  special,     // 0.1 N(0,1) q and k, N(0,1) v; head h has the NaN, infinity or large number that special_of(h) says
  impulse,     // N(0,1) q and k; V[n][c] = 1 if c == n mod D else 0: the output reads off the attention weights
  climbing,    // row maxima that grow by 0.9 * 2^-11 every 64, 128 or 256 keys, and V that is 0 but for key 0: who
               // rounds O to fp16 where it is rescaled never makes it smaller; in odd heads V is large, and O no half.
               // Row 15 of 16 grows so much that every warp rescales, the maximum of row 14 comes first
  matched,     // q N(0,1) and k = q: each query's own key has the largest score, by far
  constant,    // all of q and k are 1: all scores are the same number, all weights equal
};
inline constexpr Family FAMILIES[] = {Family::notes,    Family::unit,       Family::peaked,  Family::offset,
                                      Family::swamped,  Family::cancelling, Family::special, Family::impulse,
                                      Family::climbing, Family::matched,    Family::constant};

inline constexpr double LARGEST_HALF = 65504;
// The families whose q and k may be multiplied by an amplitude: attention has an answer for every finite q and k.
constexpr bool takes_amplitude(Family family) {
  return family == Family::unit || family == Family::matched || family == Family::constant;
}

// The element of a head of the `special` family in column `col` of one tensor. `row` is a query for q, a key for k and v.
struct Special {
  char tensor;  // 'q', 'k' or 'v'
  float value;
  int row, col;
  int rows = 1;        // from `row` on that have it
  float all_of_q = 0;  // what that column of every query holds, if not 0
};
constexpr int SPECIALS = 14;  // kinds: heads from there on begin again
Special special_of(int head, const Shape& shape);

// The family's name, as the command line spells it.
const char* name(Family family);
// The inverse. Throws BadInput for an unknown name, with the list of names.
Family family_named(std::string_view name);

struct Inputs {
  std::vector<fp16> q, k, v;  // [B, H, S, D]
  std::vector<fp16> dout;     // of the backward pass
};

// Factors of a backward problem's inputs, which saturate at the largest half: q and k, and v and dO from row
// `first` of all B * H * S on.
struct Magnitudes {
  double q = 1, k = 1, v = 1, dout = 1;
  std::size_t first = 0;
};

// The same bits on every machine and compiler: a hash of (seed, tensor, index) and Box-Muller in fp64, no
// std:: distribution. (Another libm's last bit of log, sin or cos shows in fp16 for about one element in
// 2^40.) Element i of a tensor depends on the flat index only. Where only some of the B*H heads are looked at, `heads`
// lists them, ascending: the others are NaN, which takes no time and shows in every answer that takes from them.
// `amplitude` multiplies q and k, which saturate at the largest half; other than 1 only where takes_amplitude().
Inputs make_inputs(Family family, const Shape& shape, std::uint64_t seed, std::span<const std::uint32_t> heads = {},
                   double amplitude = 1);

}  // namespace lab
