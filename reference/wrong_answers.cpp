#include "reference/wrong_answers.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "reference/bad_input.hpp"

namespace lab::wrong {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();

// K with its rows past S as zeros, up to a multiple of `multiple`: what the kernels' tiles hold.
std::vector<double> padded_k(const Head& head, int multiple) {
  const int rows = (head.S + multiple - 1) / multiple * multiple;
  std::vector<double> k(std::size_t(rows) * head.D, 0.0);
  std::copy(head.k.begin(), head.k.end(), k.begin());
  return k;
}

void require(bool fine, const char* bug, const char* needs) {
  if (!fine) throw BadInput(std::string("the prediction of ") + bug + " needs " + needs);
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

}  // namespace

std::vector<double> attention_after(const PrepareHead& prepare, const Shape& shape, double scale, Tensor q, Tensor k,
                                    Tensor v, std::span<const RowBlock> blocks) {
  return for_rows(shape, q, k, v, blocks, prepare, [&](const Head& head, int i, double* out) {
    std::vector<double> scores(visible_keys(shape, i));
    for (std::size_t n = 0; n < scores.size(); ++n) scores[n] = scale * dot(head.q_row(i), head.k_row(int(n)), head.D);
    softmax_times_v(head, scores, out);
  });
}

std::vector<double> head_dim_64(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v,
                                std::span<const RowBlock> blocks) {
  require(shape.D > 64, "head_dim_64", "D > 64");
  return for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* out) {
    std::vector<double> scores(visible_keys(shape, i));
    for (std::size_t n = 0; n < scores.size(); ++n) scores[n] = scale * dot(head.q_row(i), head.k_row(int(n)), 64);
    softmax_times_v(head, scores, out);
    std::fill(out + 64, out + head.D, std::numeric_limits<double>::quiet_NaN());
  });
}

std::vector<double> double_scale(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v,
                                 std::span<const RowBlock> blocks) {
  return attention(shape, scale * scale, q, k, v, blocks);
}

std::vector<double> reduce_32x(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v,
                               std::span<const RowBlock> blocks) {
  std::vector<double> out = attention(shape, scale, q, k, v, blocks);
  for (double& x : out) x /= 32;
  return out;
}

std::vector<double> qk_not_transposed(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, int tile_n,
                                      std::span<const RowBlock> blocks) {
  require(tile_n == shape.D, "qk_not_transposed", "a tile of N = D keys");
  // Key n of a tile becomes column n of the tile: the transpose of each N x N block, as a new K.
  const auto prepare = [&](Head& head) {
    const std::vector<double> tile = padded_k(head, tile_n);
    for (int n = 0; n < head.S; ++n)
      for (int c = 0; c < head.D; ++c)
        head.k[std::size_t(n) * head.D + c] = tile[std::size_t(n / tile_n * tile_n + c) * head.D + n % tile_n];
  };
  return attention_after(prepare, shape, scale, q, k, v, blocks);
}

std::vector<double> ldm(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v,
                        std::span<const RowBlock> blocks) {
  require(shape.D % 16 == 0, "ldm", "a D that is a multiple of 16");
  const auto prepare = [&](Head& head) {
    const std::vector<double> whole = padded_k(head, 16);
    for (int n = 0; n < head.S; ++n)
      for (int c = 0; c < head.D; ++c)
        head.k[std::size_t(n) * head.D + c] = whole[std::size_t(n / 16 * 16 + c % 16) * head.D + c / 16 * 16 + n % 16];
  };
  return attention_after(prepare, shape, scale, q, k, v, blocks);
}

std::vector<double> scores_ignored(const Shape& shape, double, Tensor q, Tensor k, Tensor v,
                                   std::span<const RowBlock> blocks) {
  return attention(shape, 0.0, q, k, v, blocks);
}

std::vector<double> fragment_layout(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, const BlockMap& map,
                                    int tile_m, int tile_n, std::span<const RowBlock> blocks) {
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
        for (int n = 0; n < tile_n; ++n) weights[n] = std::exp(weights[n] - largest);
        if (row == r)
          for (int n = 0; n < tile_n; ++n) sum += weights[n];
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

std::vector<double> row_plus_8(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v,
                               std::span<const RowBlock> blocks) {
  return for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* out) {
    const int divided_by = i % 16 < 8 ? i : i - 8;
    add_weighted(head, scores_of(shape, scale, head, i), log_sum(scores_of(shape, scale, head, divided_by)), out);
  });
}

std::vector<double> quad_reduce(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v,
                                std::span<const RowBlock> blocks) {
  return for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* out) {
    const std::vector<double> own = scores_of(shape, scale, head, i);
    std::vector<double> both = scores_of(shape, scale, head, i ^ 1);
    both.insert(both.end(), own.begin(), own.end());
    add_weighted(head, own, log_sum(both), out);
  });
}

std::vector<double> p_halves_swapped(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v,
                                     std::span<const RowBlock> blocks) {
  const auto prepare = [&](Head& head) {
    const std::vector<double> right = head.v;
    for (int n = 0; n < head.S; ++n)
      for (int c = 0; c < head.D; ++c)
        head.v[std::size_t(n) * head.D + c] = (n ^ 8) < head.S ? right[std::size_t(n ^ 8) * head.D + c] : 0.0;
  };
  return attention_after(prepare, shape, scale, q, k, v, blocks);
}

std::vector<double> late_rescale(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, int tile_n,
                                 std::span<const RowBlock> blocks) {
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

std::vector<double> other_mask(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v,
                               const std::function<int(int row)>& keys_seen, std::span<const RowBlock> blocks) {
  for (int i = 0; i < shape.S; ++i)
    require(keys_seen(i) > 0 && keys_seen(i) <= shape.S, "another mask", "rows that see 1 to S keys");
  return for_rows(shape, q, k, v, blocks, nullptr, [&](const Head& head, int i, double* out) {
    std::vector<double> scores(keys_seen(i));
    for (int n = 0; n < int(scores.size()); ++n) scores[n] = scale * dot(head.q_row(i), head.k_row(n), head.D);
    softmax_times_v(head, scores, out);
  });
}

}  // namespace lab::wrong
