#include "reference/wrong_answers.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>

#include "reference/bad_input.hpp"

namespace lab::wrong {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr int SLAB = 64;  // columns that lie together in shared memory where a row of 128 bytes is swizzled

void require(bool fine, const char* bug, const char* needs) {
  if (!fine) throw BadInput(std::string("the prediction of ") + bug + " needs " + needs);
}

// All rows, cut where a query tile of `tile_m` rows ends.
std::vector<RowBlock> tiles_of(const Shape& shape, int tile_m) {
  std::vector<RowBlock> tiles;
  for (int head = 0; head < shape.B * shape.H; ++head)
    for (int first = 0; first < shape.S; first += tile_m)
      tiles.push_back({head, first, std::min(tile_m, shape.S - first)});
  return tiles;
}

// The scores of row i, of which those past S see what its index says and have q = 0: as the kernels compute them.
std::vector<double> scores_of(const Operands& in, const Head& head, int i) {
  std::vector<double> scores(in.shape.causal ? std::min(in.shape.S, i + 1) : in.shape.S);
  if (i >= in.shape.S) return scores;
  for (std::size_t n = 0; n < scores.size(); ++n) scores[n] = in.scale * dot(head.q_row(i), head.k_row(int(n)), head.D);
  return scores;
}

// log of the sum of exp(score): what a row's softmax divides by.
double log_sum(const std::vector<double>& scores) {
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (const double s : scores) sum += std::exp(s - largest);
  return largest + std::log(sum);
}

// out += sum of exp(scores[n] - log_divisor) V[n].
void add_weighted(const Head& head, const std::vector<double>& scores, double log_divisor, double* out) {
  for (std::size_t n = 0; n < scores.size(); ++n) {
    const double weight = std::exp(scores[n] - log_divisor);
    for (int c = 0; c < head.D; ++c) out[c] += weight * head.v_row(int(n))[c];
  }
}

// Attention with another Q, K or V: element (n, c) of a head's is what lay at from(n, c), row-major; zeros past S, as the
// kernels' tiles hold them.
template <class From>
void rearrange(std::vector<double>& tensor, int D, From from) {
  const std::vector<double> old = tensor;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const std::size_t at = std::size_t(from(int(i) / D, int(i) % D));
    tensor[i] = at < old.size() ? old[at] : 0.0;
  }
}
template <class From>
Answer moved(const Operands& in, std::vector<double> Head::*tensor, From from) {
  return attention_after(in, [&](Head& head) { rearrange(head.*tensor, head.D, from); });
}

}  // namespace

Answer attention_after(const Operands& in, const PrepareHead& prepare) {
  const auto row = [&](const Head& head, int i, double* out) {
    std::vector<double> scores = scores_of(in, head, i);
    softmax_times_v(head, scores, out);
  };
  return for_rows(in, row, {}, prepare);
}

Answer head_dim_64(const Operands& in) {
  return for_rows(in, [&](const Head& head, int i, double* out) {
    std::vector<double> scores(visible_keys(in.shape, i));
    for (std::size_t n = 0; n < scores.size(); ++n) scores[n] = in.scale * dot(head.q_row(i), head.k_row(int(n)), 64);
    softmax_times_v(head, scores, out);
    std::fill(out + 64, out + head.D, std::numeric_limits<double>::quiet_NaN());
  });
}

Answer double_scale(const Operands& in) { return attention({in.shape, in.scale * in.scale, in.q, in.k, in.v}); }

Answer reduce_32x(const Operands& in) {
  Answer out = attention(in);
  for (double& x : out) x /= 32;
  return out;
}

Answer qk_not_transposed(const Operands& in, int tile_n) {
  require(tile_n == in.shape.D, "qk_not_transposed", "a tile of N = D keys");
  // Key n of a tile becomes column n of the tile: the transpose of each N x N block, as a new K.
  return moved(in, &Head::k, [=](int n, int c) { return (n / tile_n * tile_n + c) * tile_n + n % tile_n; });
}

Answer ldm(const Operands& in) {
  return moved(in, &Head::k,
               [D = in.shape.D](int n, int c) { return (n / 16 * 16 + c % 16) * D + c / 16 * 16 + n % 16; });
}

Answer swizzle_one_side(const Operands& in) {
  return moved(in, &Head::k, [D = in.shape.D](int n, int c) { return n * D + ((c / 8) ^ (n % 8)) * 8 + c % 8; });
}

Answer ldmatrix_row_address(const Operands& in) {
  return moved(in, &Head::k, [D = in.shape.D](int n, int c) { return n / 16 * 16 * D + c / 16 * 16 + c % 8; });
}

Answer v_not_transposed(const Operands& in) {
  return moved(in, &Head::v, [D = in.shape.D](int n, int c) { return (n / 8 * 8 + c % 8) * D + c / 8 * 8 + n % 8; });
}

Answer v_major(const Operands& in, int tile_n) {
  const int D = in.shape.D, rows = D / SLAB * tile_n, past_the_end = in.shape.S * D;  // rows of 64 elements, in a tile
  Answer all = moved(in, &Head::v, [=](int n, int d) {
    const int first = n / tile_n * tile_n, row = n % tile_n / 16 * 16 + d;
    return row < rows ? (first + row % tile_n) * D + row / tile_n * SLAB + n % 16 : past_the_end;
  });
  // Every tile has a last n0, and a weight of 0 times NaN is NaN.
  for (std::size_t i = 0; i < all.size(); ++i)
    if (tile_n - 16 + int(i % std::size_t(D)) >= rows) all[i] = std::numeric_limits<double>::quiet_NaN();
  return all;
}

Answer strides_exchanged(const Operands& in, int tile_n) {
  require(tile_n > 8 && tile_n <= 64, "strides_exchanged", "tiles of 16 to 64 keys");
  return moved(in, &Head::k, [=, D = in.shape.D](int n, int c) {
    const int element = n % tile_n / 8 * 8 + c % SLAB, row = n % 8 + element / SLAB;
    return (n / tile_n * tile_n + row) * D + c / SLAB * SLAB + element % SLAB;
  });
}

Answer scale_d_left_one(const Operands& in, int tile_n) {
  return for_rows(in, [&](const Head& head, int i, double* row) {
    const int keys = visible_keys(in.shape, i);
    std::vector<double> p(keys);  // of a tile its scores, then its weights
    double largest = -INF, sum = 0;
    for (int first = 0; first < keys; first += tile_n) {
      const int end = std::min(keys, first + tile_n);
      const double before = largest;
      for (int n = first; n < end; ++n) {
        p[n] = in.scale * (dot(head.q_row(i), head.k_row(n), head.D) + (first == 0 ? 0.0 : p[n - tile_n]));
        largest = std::max(largest, p[n]);
      }
      const double rescale = std::exp(before - largest);
      sum *= rescale;
      for (int c = 0; c < head.D; ++c) row[c] *= rescale;
      for (int n = first; n < end; ++n) {
        p[n] = std::exp(p[n] - largest), sum += p[n];
        for (int c = 0; c < head.D; ++c) row[c] += p[n] * head.v_row(n)[c];
      }
    }
    for (int c = 0; c < head.D; ++c) row[c] /= sum;
  });
}

Answer merge_without_max(const Operands& in, int tile) {
  std::atomic<bool> overflows = false;
  Answer out = for_rows(in, [&](const Head& head, int i, double* row) {
    std::vector<double> scores = scores_of(in, head, i);
    const int keys = int(scores.size());
    const int tiles = (in.shape.causal ? i / tile : (in.shape.S - 1) / tile) + 1, second = (tiles + 1) / 2 * tile;
    for (const auto& [first, end] : {std::pair(0, std::min(keys, second)), std::pair(second, keys)}) {
      if (first >= end) continue;
      const double reference = *std::max_element(scores.begin() + first, scores.begin() + std::min(end, first + tile));
      for (int n = first; n < end; ++n) {
        scores[n] -= reference;
        if (std::exp(scores[n]) > 0x1p11) overflows = true;
      }
    }
    softmax_times_v(head, scores, row);
  });
  require(!overflows, "merge_without_max", "weights of at most 2^11");
  return out;
}

Answer packed_too_early(const Operands& in, int tile_n, int early) {
  return for_rows(in, [&](const Head& head, int i, double* out) {
    std::vector<double> scores = scores_of(in, head, i);
    const double divisor = log_sum(scores);
    // Keys of the row's last tile that it does not see have weight 0, and the tile before takes it over.
    const int tiles = (in.shape.causal ? i / tile_n : (in.shape.S - 1) / tile_n) + 1;
    scores.resize(std::size_t(tiles) * tile_n, -INF);
    for (int n = 0; n < (tiles - 1) * tile_n; ++n)
      if (n % tile_n < early) scores[n] = scores[n + tile_n];
    scores.resize(std::min<std::size_t>(scores.size(), in.shape.S));
    add_weighted(head, scores, divisor, out);
  });
}

Answer guard_of_a_float(const Operands& in, int tile_n) {
  constexpr double LARGEST_FINITE_HALF = 65504, FIRST_ROUNDED_UP = 65520;
  std::atomic<bool> sum_overflows = false;
  Answer out = for_rows(in, [&](const Head& head, int i, double* row) {
    std::vector<double> p = scores_of(in, head, i);
    const int keys = int(p.size());
    const double first_max = *std::max_element(p.begin(), p.begin() + std::min(keys, tile_n));
    double sum = 0;
    for (int n = 0; n < keys; ++n) {
      p[n] = std::exp(p[n] - first_max), sum += p[n];
      if (p[n] > 0x1p120) sum_overflows = true;
      const double half = p[n] < FIRST_ROUNDED_UP ? std::min(p[n], LARGEST_FINITE_HALF) : INF;
      for (int c = 0; c < head.D; ++c) row[c] += half * head.v_row(n)[c];
    }
    for (int c = 0; c < head.D; ++c) row[c] /= sum;
  });
  require(!sum_overflows, "guard_of_a_float", "weights of at most 2^120");
  return out;
}

Answer contracted_exponent(const Operands& in) {
  const float unit = std::max(float(in.scale) * 1.44269504f, 0x1p-126f);
  return for_rows(in, [&](const Head& head, int i, double* row) {
    std::vector<double> s(std::size_t(visible_keys(in.shape, i)));
    for (std::size_t n = 0; n < s.size(); ++n) s[n] = dot(head.q_row(i), head.k_row(int(n)), head.D);
    const float base = float(*std::max_element(s.begin(), s.end())) * unit;
    double sum = 0;
    for (std::size_t n = 0; n < s.size(); ++n) {
      const float x = float(s[n] * unit - base);  // exact up to here: 24 bits times 24
      const double p = x < -126 ? 0.0 : std::exp2(double(x)), half = to_float(to_fp16(float(p)));
      sum += p;
      for (int c = 0; c < head.D; ++c) row[c] += half * head.v_row(int(n))[c];
    }
    for (int c = 0; c < head.D; ++c) row[c] *= 1 / sum;
  });
}

Answer keys_of_another_tile(const Operands& in, int tile_m, int tile_n, BlockOfTile block_of) {
  const unsigned tiles = (in.shape.S + tile_m - 1) / tile_m, heads = in.shape.B * in.shape.H;
  Answer all;
  for (const RowBlock& piece : tiles_of(in.shape, tile_m)) {
    const unsigned x = block_of(piece.first / tile_m + tiles * piece.head, tiles, heads) % tiles;
    const int keys = (int(x + 1) * tile_m + tile_n - 1) / tile_n * tile_n;
    const auto row = [&](const Head& head, int i, double* out) {
      std::vector<double> scores = scores_of(in, head, i);
      scores.resize(std::min(scores.size(), std::size_t(keys)));
      softmax_times_v(head, scores, out);
    };
    std::ranges::copy(for_rows(in, row, {&piece, 1}), std::back_inserter(all));
  }
  return all;
}

Answer tile_taken_twice(const Operands& in, int tile_m, BlockOfTile block_of) {
  const unsigned tiles = (in.shape.S + tile_m - 1) / tile_m, heads = in.shape.B * in.shape.H;
  std::vector<bool> taken(tiles * heads);
  for (unsigned tile = 0; tile < tiles * heads; ++tile)
    taken[tile % tiles + block_of(tile, tiles, heads) / tiles * tiles] = true;
  Answer all = attention(in);
  auto at = all.begin();
  for (const RowBlock& piece : tiles_of(in.shape, tile_m)) {
    const auto end = at + std::ptrdiff_t(piece.rows) * in.shape.D;
    if (!taken[piece.first / tile_m + tiles * piece.head]) std::fill(at, end, std::numeric_limits<double>::quiet_NaN());
    at = end;
  }
  return all;
}

Answer scores_ignored(const Operands& in) { return attention({in.shape, 0, in.q, in.k, in.v}); }

Answer fragment_layout(const Operands& in, const BlockMap& map, int tile_m, int tile_n) {
  require(std::ranges::all_of(map, [](short from) { return from >= -1 && from < 256; }), "fragment_layout",
          "a map of elements 0..255, or -1 for zero");
  return for_rows(in, [&](const Head& head, int i, double* out) {
    const int q0 = i / tile_m * tile_m, stripe = q0 + (i - q0) / 16 * 16;  // first row of the stripe
    const int keys = in.shape.causal ? std::min(in.shape.S, q0 + tile_m) : in.shape.S;
    const int tiles = (keys + tile_n - 1) / tile_n, r = i - stripe;
    const std::vector<double> zeros(head.D, 0.0);
    double running[16], sum = 0;
    std::fill(running, running + 16, -INF);
    std::vector<double> p(std::size_t(16) * tile_n);
    for (int t = 0; t < tiles; ++t) {
      for (int row = 0; row < 16; ++row) {
        const double* q_row = stripe + row < in.shape.S ? head.q_row(stripe + row) : zeros.data();
        double* weights = &p[std::size_t(row) * tile_n];
        double largest = running[row];
        for (int n = 0; n < tile_n; ++n) {
          const int key = t * tile_n + n;
          const bool visible = key < in.shape.S && (!in.shape.causal || key <= stripe + row);
          weights[n] = visible ? in.scale * dot(q_row, head.k_row(key), head.D) : -INF;
          largest = std::max(largest, weights[n]);
        }
        if (row == r) {
          const double rescale = std::exp(running[row] - largest);
          for (int c = 0; c < head.D; ++c) out[c] *= rescale;
          sum *= rescale;
        }
        running[row] = largest;
        for (int n = 0; n < tile_n; ++n) weights[n] = std::exp(weights[n] - largest), sum += row == r ? weights[n] : 0;
      }
      for (int n = 0; n < tile_n && t * tile_n + n < in.shape.S; ++n) {
        const int from = map[std::size_t(16 * r + n % 16)];
        if (from < 0) continue;
        const double weight = p[std::size_t(from / 16) * tile_n + n / 16 * 16 + from % 16];
        const double* v_row = head.v_row(t * tile_n + n);
        for (int c = 0; c < head.D; ++c) out[c] += weight * v_row[c];
      }
    }
    for (int c = 0; c < head.D; ++c) out[c] /= sum;
  });
}

Answer row_plus_8(const Operands& in) {
  return for_rows(in, [&](const Head& head, int i, double* out) {
    const int divided_by = i % 16 < 8 ? i : i - 8;
    add_weighted(head, scores_of(in, head, i), log_sum(scores_of(in, head, divided_by)), out);
  });
}

Answer quad_reduce(const Operands& in) {
  return for_rows(in, [&](const Head& head, int i, double* out) {
    const std::vector<double> own = scores_of(in, head, i);
    std::vector<double> both = scores_of(in, head, i ^ 1);
    both.insert(both.end(), own.begin(), own.end());
    add_weighted(head, own, log_sum(both), out);
  });
}

Answer p_halves_swapped(const Operands& in) {
  return moved(in, &Head::v, [D = in.shape.D](int n, int c) { return (n ^ 8) * D + c; });
}

Answer late_rescale(const Operands& in, int tile_n) {
  return for_rows(in, [&](const Head& head, int i, double* out) {
    std::vector<double> scores = scores_of(in, head, i);
    const double divisor = log_sum(scores);
    double running = -INF;
    for (std::size_t first = 0; first < scores.size(); first += tile_n) {
      const auto begin = scores.begin() + first, end = scores.begin() + std::min(scores.size(), first + tile_n);
      const double larger = std::max(running, *std::max_element(begin, end));
      for (auto s = begin; s != end; ++s) *s += running - larger;  // exp(m_old - m_new) once more
      running = larger;
    }
    add_weighted(head, scores, divisor, out);
  });
}

Answer tma_box_clipped(const Operands& in, int tile_n) {
  return for_rows(in, [&](const Head& head, int i, double* out) {
    const std::vector<double> seen = scores_of(in, head, i);
    Answer all = seen;
    if (!in.shape.causal) all.resize(std::size_t((in.shape.S + tile_n - 1) / tile_n * tile_n), 0.0);
    add_weighted(head, seen, log_sum(all), out);
  });
}

Answer columns_moved(const Operands& in, const std::function<int(int row, int col)>& from) {
  return attention_after(in, [&](Head& head) {
    for (std::vector<double>* tensor : {&head.q, &head.k, &head.v})
      rearrange(*tensor, head.D, [&](int r, int c) { return r * head.D + from(r, c); });
  });
}

Answer other_mask(const Operands& in, const std::function<int(int row)>& keys_seen) {
  return for_rows(in, [&](const Head& head, int i, double* out) {
    std::vector<double> scores(keys_seen(i));
    for (int n = 0; n < int(scores.size()); ++n) scores[n] = in.scale * dot(head.q_row(i), head.k_row(n), head.D);
    softmax_times_v(head, scores, out);
  });
}

}  // namespace lab::wrong
