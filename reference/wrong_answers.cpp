#include "reference/wrong_answers.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>

#include "reference/bad_input.hpp"

namespace lab::wrong {
namespace {

using Rows = std::span<const RowBlock>;  // empty: all

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr int SLAB = 64;  // columns that lie together in shared memory where a row of 128 bytes is swizzled

// K or V of the head with its rows past S as zeros, up to a multiple of `multiple`: what the kernels' tiles hold.
std::vector<double> padded(const std::vector<double>& tensor, const Head& head, int multiple) {
  const int rows = (head.S + multiple - 1) / multiple * multiple;
  std::vector<double> whole(std::size_t(rows) * head.D, 0.0);
  std::copy(tensor.begin(), tensor.end(), whole.begin());
  return whole;
}

void require(bool fine, const char* bug, const char* needs) {
  if (!fine) throw BadInput(std::string("the prediction of ") + bug + " needs " + needs);
}

// The rows of `blocks`, all if empty, cut where a query tile of `tile_m` rows ends.
std::vector<RowBlock> tiles_of(const Shape& shape, std::span<const RowBlock> blocks, int tile_m) {
  std::vector<RowBlock> whole, pieces;
  if (blocks.empty())
    for (int head = 0; head < shape.B * shape.H; ++head) whole.push_back({head, 0, shape.S});
  for (const RowBlock& b : blocks.empty() ? std::span<const RowBlock>(whole) : blocks)
    for (int first = b.first; first < b.first + b.rows;) {
      const int end = std::min(b.first + b.rows, (first / tile_m + 1) * tile_m);
      pieces.push_back({b.head, first, end - first});
      first = end;
    }
  return pieces;
}

// The scores of row i, of which those past S see what its index says and have q = 0: as the kernels compute them.
std::vector<double> scores_of(const Shape& shape, double scale, const Head& head, int i) {
  std::vector<double> scores(shape.causal ? std::min(shape.S, i + 1) : shape.S);
  if (i >= shape.S) return scores;
  for (std::size_t n = 0; n < scores.size(); ++n) scores[n] = scale * dot(head.q_row(i), head.k_row(int(n)), head.D);
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

// A head's tensor of which element (n, c) is that at from(n, c) of `tensor`, row-major.
template <class From>
std::vector<double> gathered(const std::vector<double>& tensor, const Head& head, From from) {
  std::vector<double> all;
  for (int n = 0; n < head.S; ++n)
    for (int c = 0; c < head.D; ++c) all.push_back(tensor[std::size_t(from(n, c))]);
  return all;
}

}  // namespace

std::vector<double> attention_after(const PrepareHead& prepare, const Shape& shape, double scale, Tensor q, Tensor k,
                                    Tensor v, Rows blocks) {
  return for_rows(shape, q, k, v, blocks, prepare, [&](const Head& head, int i, double* out) {
    std::vector<double> scores = scores_of(shape, scale, head, i);
    softmax_times_v(head, scores, out);
  });
}

std::vector<double> head_dim_64(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Rows blocks) {
  require(shape.D > 64, "head_dim_64", "D > 64");
  return for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* out) {
    std::vector<double> scores(visible_keys(shape, i));
    for (std::size_t n = 0; n < scores.size(); ++n) scores[n] = scale * dot(head.q_row(i), head.k_row(int(n)), 64);
    softmax_times_v(head, scores, out);
    std::fill(out + 64, out + head.D, std::numeric_limits<double>::quiet_NaN());
  });
}

std::vector<double> double_scale(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Rows blocks) {
  return attention(shape, scale * scale, q, k, v, blocks);
}

std::vector<double> reduce_32x(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Rows blocks) {
  std::vector<double> out = attention(shape, scale, q, k, v, blocks);
  for (double& x : out) x /= 32;
  return out;
}

std::vector<double> qk_not_transposed(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, int tile_n,
                                      Rows blocks) {
  require(tile_n == shape.D, "qk_not_transposed", "a tile of N = D keys");
  // Key n of a tile becomes column n of the tile: the transpose of each N x N block, as a new K.
  const auto prepare = [&](Head& head) {
    head.k = gathered(padded(head.k, head, tile_n), head,
                      [&](int n, int c) { return (n / tile_n * tile_n + c) * head.D + n % tile_n; });
  };
  return attention_after(prepare, shape, scale, q, k, v, blocks);
}

std::vector<double> ldm(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Rows blocks) {
  require(shape.D % 16 == 0, "ldm", "a D that is a multiple of 16");
  const auto prepare = [&](Head& head) {
    head.k = gathered(padded(head.k, head, 16), head,
                      [&](int n, int c) { return (n / 16 * 16 + c % 16) * head.D + c / 16 * 16 + n % 16; });
  };
  return attention_after(prepare, shape, scale, q, k, v, blocks);
}

std::vector<double> swizzle_one_side(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Rows blocks) {
  require(shape.D % 64 == 0, "swizzle_one_side", "rows of whole eights of chunks");
  const auto prepare = [&](Head& head) {
    head.k = gathered(head.k, head, [&](int n, int c) { return n * head.D + ((c / 8) ^ (n % 8)) * 8 + c % 8; });
  };
  return attention_after(prepare, shape, scale, q, k, v, blocks);
}

std::vector<double> ldmatrix_row_address(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Rows blocks) {
  require(shape.D % 16 == 0, "ldmatrix_row_address", "a D that is a multiple of 16");
  const auto prepare = [&](Head& head) {
    head.k = gathered(head.k, head, [&](int n, int c) { return n / 16 * 16 * head.D + c / 16 * 16 + c % 8; });
  };
  return attention_after(prepare, shape, scale, q, k, v, blocks);
}

std::vector<double> v_not_transposed(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Rows blocks) {
  require(shape.D % 8 == 0, "v_not_transposed", "a D that is a multiple of 8");
  const auto prepare = [&](Head& head) {
    head.v = gathered(padded(head.v, head, 8), head,
                      [&](int n, int c) { return (n / 8 * 8 + c % 8) * head.D + c / 8 * 8 + n % 8; });
  };
  return attention_after(prepare, shape, scale, q, k, v, blocks);
}

std::vector<double> v_major(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, int tile_n, Rows blocks) {
  require(shape.D % SLAB == 0 && tile_n > 0 && tile_n % 16 == 0, "v_major", "slabs of 64 columns, 16 keys at a time");
  const int rows = shape.D / SLAB * tile_n;  // of 64 elements, in a tile
  const auto prepare = [&](Head& head) {
    const std::vector<double> whole = padded(head.v, head, tile_n);
    for (int n = 0; n < head.S; ++n)
      for (int d = 0; d < head.D; ++d) {
        const int first = n / tile_n * tile_n, row = n % tile_n / 16 * 16 + d;
        head.v[std::size_t(n) * head.D + d] =
            row < rows ? whole[std::size_t(first + row % tile_n) * head.D + row / tile_n * SLAB + n % 16] : 0.0;
      }
  };
  std::vector<double> all = attention_after(prepare, shape, scale, q, k, v, blocks);
  // Every tile has a last n0, and a weight of 0 times NaN is NaN.
  for (std::size_t i = 0; i < all.size(); ++i)
    if (tile_n - 16 + int(i % std::size_t(shape.D)) >= rows) all[i] = std::numeric_limits<double>::quiet_NaN();
  return all;
}

std::vector<double> strides_exchanged(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, int tile_n,
                                      Rows blocks) {
  require(shape.D % SLAB == 0 && tile_n > 8 && tile_n <= 64 && tile_n % 8 == 0, "strides_exchanged",
          "slabs of 64 columns and tiles of 16 to 64 keys");
  const auto prepare = [&](Head& head) {
    head.k = gathered(padded(head.k, head, tile_n), head, [&](int n, int c) {
      const int element = n % tile_n / 8 * 8 + c % SLAB, row = n % 8 + element / SLAB;
      return (n / tile_n * tile_n + row) * head.D + c / SLAB * SLAB + element % SLAB;
    });
  };
  return attention_after(prepare, shape, scale, q, k, v, blocks);
}

std::vector<double> scale_d_left_one(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, int tile_n,
                                     Rows blocks) {
  require(tile_n > 0, "scale_d_left_one", "tiles of at least one key");
  return for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* row) {
    const int keys = visible_keys(shape, i);
    std::vector<double> p(keys);  // of a tile its scores, then its weights
    double largest = -INF, sum = 0;
    for (int first = 0; first < keys; first += tile_n) {
      const int end = std::min(keys, first + tile_n);
      const double before = largest;
      for (int n = first; n < end; ++n) {
        p[n] = scale * (dot(head.q_row(i), head.k_row(n), head.D) + (first == 0 ? 0.0 : p[n - tile_n]));
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

std::vector<double> merge_without_max(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, int tile,
                                      Rows blocks) {
  require(tile > 0, "merge_without_max", "tiles of at least one key");
  std::atomic<bool> overflows = false;
  std::vector<double> out = for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* row) {
    std::vector<double> scores = scores_of(shape, scale, head, i);
    const int keys = int(scores.size());
    const int tiles = (shape.causal ? i / tile : (shape.S - 1) / tile) + 1, second = (tiles + 1) / 2 * tile;
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

std::vector<double> packed_too_early(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, int tile_n,
                                     int early, Rows blocks) {
  require(tile_n > 0 && early >= 0 && early <= tile_n, "packed_too_early", "at most as many early keys as a tile has");
  return for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* out) {
    std::vector<double> scores = scores_of(shape, scale, head, i);
    const double divisor = log_sum(scores);
    // Keys of the row's last tile that it does not see have weight 0, and the tile before takes it over.
    const int tiles = (shape.causal ? i / tile_n : (shape.S - 1) / tile_n) + 1;
    scores.resize(std::size_t(tiles) * tile_n, -INF);
    for (int n = 0; n < (tiles - 1) * tile_n; ++n)
      if (n % tile_n < early) scores[n] = scores[n + tile_n];
    scores.resize(std::min<std::size_t>(scores.size(), shape.S));
    add_weighted(head, scores, divisor, out);
  });
}

std::vector<double> guard_of_a_float(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, int tile_n,
                                     Rows blocks) {
  require(tile_n > 0, "guard_of_a_float", "a tile of at least one key");
  constexpr double LARGEST_FINITE_HALF = 65504, FIRST_ROUNDED_UP = 65520;
  std::atomic<bool> sum_overflows = false;
  std::vector<double> out = for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* row) {
    std::vector<double> p = scores_of(shape, scale, head, i);
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

std::vector<double> contracted_exponent(const Shape& shape, float scale, Tensor q, Tensor k, Tensor v, Rows blocks) {
  const float unit = std::max(std::abs(scale) * 1.44269504f, 0x1p-126f);
  std::atomic<bool> rounded = false;
  std::vector<double> out = for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* row) {
    std::vector<double> s(std::size_t(visible_keys(shape, i)));
    for (std::size_t n = 0; n < s.size(); ++n) {
      s[n] = dot(head.q_row(i), head.k_row(int(n)), head.D);
      if (double(float(s[n])) != s[n]) rounded = true;
    }
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
  require(!rounded, "contracted_exponent", "scores that are floats");
  return out;
}

std::vector<double> keys_of_another_tile(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, int tile_m,
                                         int tile_n, BlockOfTile block_of, Rows blocks) {
  require(tile_m > 0 && tile_n > 0 && shape.causal, "keys_of_another_tile", "a causal shape");
  const unsigned tiles = (shape.S + tile_m - 1) / tile_m, heads = shape.B * shape.H;
  std::vector<double> all;
  for (const RowBlock& piece : tiles_of(shape, blocks, tile_m)) {
    const unsigned x = block_of(piece.first / tile_m + tiles * piece.head, tiles, heads) % tiles;
    const int keys = (int(x + 1) * tile_m + tile_n - 1) / tile_n * tile_n;
    const auto rows = for_rows(shape, q, k, v, {&piece, 1}, nullptr, [&](const Head& head, int i, double* out) {
      std::vector<double> scores = scores_of(shape, scale, head, i);
      scores.resize(std::min(scores.size(), std::size_t(keys)));
      softmax_times_v(head, scores, out);
    });
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

std::vector<double> tile_taken_twice(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, int tile_m,
                                     BlockOfTile block_of, Rows blocks) {
  require(tile_m > 0, "tile_taken_twice", "a tile of at least one row");
  const unsigned tiles = (shape.S + tile_m - 1) / tile_m, heads = shape.B * shape.H;
  std::vector<bool> taken(tiles * heads);
  for (unsigned tile = 0; tile < tiles * heads; ++tile)
    taken[tile % tiles + block_of(tile, tiles, heads) / tiles * tiles] = true;
  std::vector<double> all = attention(shape, scale, q, k, v, blocks);
  std::size_t at = 0;
  for (const RowBlock& piece : tiles_of(shape, blocks, tile_m)) {
    const std::size_t end = at + std::size_t(piece.rows) * shape.D;
    if (!taken[piece.first / tile_m + tiles * piece.head])
      std::fill(all.begin() + at, all.begin() + end, std::numeric_limits<double>::quiet_NaN());
    at = end;
  }
  return all;
}

std::vector<double> scores_ignored(const Shape& shape, double, Tensor q, Tensor k, Tensor v, Rows blocks) {
  return attention(shape, 0.0, q, k, v, blocks);
}

std::vector<double> fragment_layout(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, const BlockMap& map,
                                    int tile_m, int tile_n, Rows blocks) {
  require(tile_m > 0 && tile_m % 16 == 0 && tile_n > 0 && tile_n % 16 == 0, "fragment_layout",
          "tiles of whole 16 x 16 blocks");
  require(std::ranges::all_of(map, [](short from) { return from >= -1 && from < 256; }), "fragment_layout",
          "a map of elements 0..255, or -1 for zero");
  return for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* out) {
    const int q0 = i / tile_m * tile_m, stripe = q0 + (i - q0) / 16 * 16;  // first row of the stripe
    const int keys = shape.causal ? std::min(shape.S, q0 + tile_m) : shape.S;
    const int tiles = (keys + tile_n - 1) / tile_n, r = i - stripe;
    const std::vector<double> zeros(head.D, 0.0);
    double running[16], sum = 0;
    std::fill(running, running + 16, -INF);
    std::vector<double> p(std::size_t(16) * tile_n);
    for (int t = 0; t < tiles; ++t) {
      for (int row = 0; row < 16; ++row) {
        const double* q_row = stripe + row < shape.S ? head.q_row(stripe + row) : zeros.data();
        double* weights = &p[std::size_t(row) * tile_n];
        double largest = running[row];
        for (int n = 0; n < tile_n; ++n) {
          const int key = t * tile_n + n;
          const bool visible = key < shape.S && (!shape.causal || key <= stripe + row);
          weights[n] = visible ? scale * dot(q_row, head.k_row(key), head.D) : -INF;
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
      for (int n = 0; n < tile_n && t * tile_n + n < shape.S; ++n) {
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

std::vector<double> row_plus_8(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Rows blocks) {
  return for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* out) {
    const int divided_by = i % 16 < 8 ? i : i - 8;
    add_weighted(head, scores_of(shape, scale, head, i), log_sum(scores_of(shape, scale, head, divided_by)), out);
  });
}

std::vector<double> quad_reduce(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Rows blocks) {
  return for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* out) {
    const std::vector<double> own = scores_of(shape, scale, head, i);
    std::vector<double> both = scores_of(shape, scale, head, i ^ 1);
    both.insert(both.end(), own.begin(), own.end());
    add_weighted(head, own, log_sum(both), out);
  });
}

std::vector<double> p_halves_swapped(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Rows blocks) {
  const auto prepare = [&](Head& head) {
    head.v = gathered(padded(head.v, head, 16), head, [&](int n, int c) { return (n ^ 8) * head.D + c; });
  };
  return attention_after(prepare, shape, scale, q, k, v, blocks);
}

std::vector<double> late_rescale(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, int tile_n,
                                 Rows blocks) {
  require(tile_n > 0, "late_rescale", "tiles of at least one key");
  return for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* out) {
    std::vector<double> scores = scores_of(shape, scale, head, i);
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

std::vector<double> tma_box_clipped(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, int tile_n,
                                    Rows blocks) {
  require(tile_n > 0, "tma_box_clipped", "tiles of at least one key");
  return for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* out) {
    const std::vector<double> seen = scores_of(shape, scale, head, i);
    std::vector<double> all = seen;
    if (!shape.causal) all.resize(std::size_t((shape.S + tile_n - 1) / tile_n * tile_n), 0.0);
    add_weighted(head, seen, log_sum(all), out);
  });
}

std::vector<double> columns_moved(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v,
                                  const std::function<int(int row, int col)>& from, Rows blocks) {
  const auto prepare = [&](Head& head) {
    for (std::vector<double>* tensor : {&head.q, &head.k, &head.v})
      *tensor = gathered(*tensor, head, [&](int r, int c) { return r * head.D + from(r, c); });
  };
  return attention_after(prepare, shape, scale, q, k, v, blocks);
}

std::vector<double> other_mask(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v,
                               const std::function<int(int row)>& keys_seen, Rows blocks) {
  for (int i = 0; i < shape.S; ++i)
    require(keys_seen(i) > 0 && keys_seen(i) <= shape.S, "another mask", "rows that see 1 to S keys");
  return for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* out) {
    std::vector<double> scores(keys_seen(i));
    for (int n = 0; n < int(scores.size()); ++n) scores[n] = scale * dot(head.q_row(i), head.k_row(n), head.D);
    softmax_times_v(head, scores, out);
  });
}

}  // namespace lab::wrong
