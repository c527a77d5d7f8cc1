// Each predicted wrong answer: equal to the naive one, and far from the right one.
#include <bit>

#include "checks/tests/test_reference.hpp"

using namespace lab;
using namespace lab::judge;

TEST_CASE("wrong answers: head_dim_64") {
  for (const Shape& s : RAGGED) {
    const double scale = default_scale(s.D);
    const Inputs in = make_inputs(Family::unit, s, 5);
    if (s.D == 64) {
      CHECK_THROWS_AS(wrong::head_dim_64(s, scale, in.q, in.k, in.v), BadInput);
      continue;
    }
    check_prediction(s, of(wrong::head_dim_64), [&](const Inputs& x) {
      std::vector<double> out = naive(s, x, [&](int head, int i, int n) {
        return scale * dot_with(s, x, head, i, [&](int c) { return c < 64 ? at(s, x.k, head, n, c) : 0.0; });
      });
      for (std::size_t i = 0; i < out.size(); ++i)
        if (i % 128 >= 64) out[i] = NEVER;
      return out;
    });
  }
}

TEST_CASE("wrong answers: double_scale, reduce_32x, scores_ignored") {
  for (const Shape& s : RAGGED) {
    const double scale = default_scale(s.D);
    check_prediction(s, of(wrong::double_scale), [&](const Inputs& x) {
      return naive(s, x, [&](int head, int i, int n) { return naive_score(s, x, scale, head, i, n) * scale; });
    });
    check_prediction(s, of(wrong::reduce_32x), [&](const Inputs& x) {
      std::vector<double> out = naive(s, x);
      for (double& value : out) value *= 0.03125;
      return out;
    });
    check_prediction(s, of(wrong::scores_ignored),
                     [&](const Inputs& x) { return naive(s, x, [](int, int, int) { return 0.0; }); });
  }
}

TEST_CASE("wrong answers: qk_not_transposed") {
  for (const Shape& s : RAGGED) {
    const double scale = default_scale(s.D);
    // Keys past S are the tile's zero rows: with S = 200 the last tile of 64 has 8 keys.
    check_prediction(s, of(wrong::qk_not_transposed, s.D), [&](const Inputs& x) {
      return naive(s, x, [&](int head, int i, int n) {
        const int first = n - n % s.D;
        return scale * dot_with(s, x, head, i, [&](int c) { return at(s, x.k, head, first + c, n - first); });
      });
    });
  }
  check_refused(wrong::qk_not_transposed, 32);
}

TEST_CASE("wrong answers: ldm") {
  for (const Shape& s : RAGGED) {
    const double scale = default_scale(s.D);
    check_prediction(s, of(wrong::ldm), [&](const Inputs& x) {
      return naive(s, x, [&](int head, int i, int key) {
        const int n0 = key & ~15, n = key & 15;
        return scale * dot_with(s, x, head, i, [&](int c) { return at(s, x.k, head, n0 + c % 16, c / 16 * 16 + n); });
      });
    });
  }
  const Shape odd{1, 1, 10, 24};
  const Inputs in = make_inputs(Family::unit, odd, 1);
  CHECK_THROWS_AS(wrong::ldm(odd, 1, in.q, in.k, in.v), BadInput);
}

TEST_CASE("wrong answers: ldmatrix, row addresses and swizzle") {
  for (const Shape& s : RAGGED) {
    const double scale = default_scale(s.D);
    // Which element of K meets column d of q.
    const auto with_k = [&](const Inputs& x, auto key_of, auto column_of) {
      return naive(s, x, [&](int head, int i, int n) {
        return scale * dot_with(s, x, head, i, [&](int d) { return at(s, x.k, head, key_of(n), column_of(n, d)); });
      });
    };
    // A chunk is 8 columns: the row's last three bits are added, without carry, to the column's bits from 8 on.
    check_prediction(s, of(wrong::swizzle_one_side), [&](const Inputs& x) {
      return with_k(
          x, [](int n) { return n; }, [](int n, int d) { return d ^ (n & 7) << 3; });
    });
    check_prediction(s, of(wrong::ldmatrix_row_address), [&](const Inputs& x) {
      return with_k(
          x, [](int n) { return n & ~15; }, [](int, int d) { return d & ~8; });
    });
    check_prediction(s, of(wrong::v_not_transposed), [&](const Inputs& x) {
      return naive(s, {x.q, x.k, tensor(s, [&](int head, int n, int c) {
                         return half(at(s, x.v, head, (n & ~7) + (c & 7), (c & ~7) + (n & 7)));
                       })});
    });
  }
}

TEST_CASE("wrong answers: keys_of_another_tile, tile_taken_twice") {
  // Two heads of four tiles, 64 rows each but the last. The blocks' index says x = block % 4 and head = block / 4.
  const Shape s{1, 2, 200, 64, true};
  const auto mirrored = [](unsigned tile, unsigned, unsigned) { return 7 - tile; };
  const auto by_tile = [](unsigned tile, unsigned, unsigned) { return tile % 4 * 2 + tile / 4; };
  check_prediction(s, of(wrong::keys_of_another_tile, 64, 64, mirrored), [&](const Inputs& x) {
    return naive(s, x, [&](int head, int i, int n) {
      const bool seen = n < (i < 64 ? 256 : i < 128 ? 192 : i < 192 ? 128 : 64);
      return seen ? naive_score(s, x, default_scale(s.D), head, i, n) : -std::numeric_limits<double>::infinity();
    });
  });
  // Tiles 0 and 1 of both heads belong to blocks 0..3, so to head 0; tiles 2 and 3 to head 1.
  const Inputs in = make_inputs(Family::unit, s, 1);
  const std::vector<double> out = wrong::tile_taken_twice(s, 0.125, in.q, in.k, in.v, 64, by_tile),
                            correct = attention(s, 0.125, in.q, in.k, in.v);
  for (int head = 0; head < 2; ++head)
    for (int i = 0; i < s.S; ++i)
      for (int c = 0; c < 64; ++c) {
        const std::size_t at = (std::size_t(head) * s.S + i) * 64 + c;
        REQUIRE((head == i / 128 ? out[at] == correct[at] : std::isnan(out[at])));
      }
  const RowBlock sample[] = {{1, 120, 20}};
  const std::vector<double> some = wrong::tile_taken_twice(s, 0.125, in.q, in.k, in.v, 64, by_tile, sample);
  for (int i = 0; i < 20 * 64; ++i) REQUIRE(std::isnan(some[i]) == (i < 8 * 64));
  const Shape all{1, 1, 100, 64, false};
  CHECK_THROWS_AS(wrong::keys_of_another_tile(all, 0.125, in.q, in.k, in.v, 64, 64, mirrored), BadInput);
}

TEST_CASE("wrong answers: guard_of_a_float") {
  // The scores are those of the first column: 0 and 0 in the first tile of two keys, then what is given.
  const Shape s{1, 1, 4, 64, false};
  const auto predicted = [&](double third, double fourth) {
    Inputs in = make_inputs(Family::unit, s, 1);
    for (std::size_t i = 0; i < in.q.size(); ++i) in.q[i] = to_fp16(i % 64 == 0), in.k[i] = fp16{0};
    in.k[2 * 64] = to_fp16(float(third)), in.k[3 * 64] = to_fp16(float(fourth));
    for (int c = 0; c < 64; ++c) in.v[2 * 64 + c] = to_fp16(c < 32 ? 1 : -1), in.v[3 * 64 + c] = to_fp16(1);
    return std::pair(wrong::guard_of_a_float(s, 1, in.q, in.k, in.v, 2), attention(s, 1, in.q, in.k, in.v));
  };
  constexpr double INF = std::numeric_limits<double>::infinity();
  const auto [fits, right_fits] = predicted(11, 10);  // e^11 = 59874
  for (std::size_t i = 0; i < fits.size(); ++i) CHECK(fits[i] == doctest::Approx(right_fits[i]));
  const auto [one, right_one] = predicted(12, 11);  // e^12 = 162755
  const auto [both, right_both] = predicted(12, 12);
  for (int c = 0; c < 64; ++c) {
    CHECK(one[c] == (c < 32 ? INF : -INF));
    CHECK((c < 32 ? both[c] == INF : std::isnan(both[c])));
  }
  CHECK_THROWS_AS(predicted(100, 0), BadInput);  // e^100 > 2^120
  const Inputs in = make_inputs(Family::unit, s, 1);
  CHECK_THROWS_AS(wrong::guard_of_a_float(s, 1, in.q, in.k, in.v, 0), BadInput);
}

TEST_CASE("wrong answers: the rows of warp 7") {
  int rows = 0;
  for (int row = 0; row < 512; ++row) {
    rows += wrong::warp7_nan(row, 64, 8);
    CHECK(wrong::warp7_nan(row, 64, 8) == (row % 64 >= 56));
  }
  CHECK(rows == 512 / 8);
  CHECK_FALSE(wrong::warp7_nan(41, 48, 6));
  CHECK(wrong::warp7_nan(42, 48, 6));
  CHECK(wrong::warp7_nan(95, 48, 6));
  CHECK_FALSE(wrong::warp7_nan(96, 48, 6));
}

namespace {

// No streaming: what tile t leaves in row i is weighed by the maxima known when it was computed,
//   O_i = sum over t, n of  P'_t[i][n] exp(m_i,t - m_i) V[n] / sum over n of exp(s_in - m_i),
// where m_x,t is the largest score of row x in tiles 0..t, and P'_t[i][n] = exp(s_xy - m_x,t) for (x, y) = map(i, n).
std::vector<double> naive_fragment(const Shape& s, const Inputs& in, const wrong::BlockMap& map, int M, int N) {
  const double scale = default_scale(s.D);
  std::vector<double> out;
  for (int head = 0; head < s.B * s.H; ++head) {
    const int rows = (s.S + M - 1) / M * M;  // rows past S have no query
    std::vector<double> score(std::size_t(rows) * s.S);
    for (int i = 0; i < rows; ++i)
      for (int n = 0; n < s.S; ++n) score[std::size_t(i) * s.S + n] = naive_score(s, in, scale, head, i, n);
    const auto visible = [&](int i, int n) { return n < s.S && (!s.causal || n <= i); };
    const auto largest = [&](int i, int end) {
      double m = -INF;
      for (int n = 0; n < end; ++n)
        if (visible(i, n)) m = std::max(m, score[std::size_t(i) * s.S + n]);
      return m;
    };
    for (int i = 0; i < s.S; ++i) {
      const int end = s.causal ? std::min(s.S, i / M * M + M) : s.S;
      const double final_max = largest(i, s.S);
      double l = 0;
      for (int n = 0; n < s.S; ++n)
        if (visible(i, n)) l += std::exp(score[std::size_t(i) * s.S + n] - final_max);
      std::vector<double> row(s.D, 0.0);
      for (int first = 0; first < end; first += N)
        for (int n = first; n < std::min(first + N, s.S); ++n) {
          const int from = map[(i % M % 16) * 16 + (n - first) % 16];
          if (from < 0) continue;
          const int x = i - i % M % 16 + from / 16, y = n - (n - first) % 16 + from % 16;
          if (!visible(x, y)) continue;
          const double p = std::exp(score[std::size_t(x) * s.S + y] - largest(x, first + N)) *
                           std::exp(largest(i, first + N) - final_max);
          for (int c = 0; c < s.D; ++c) row[c] += p / l * at(s, in.v, head, n, c);
        }
      out.insert(out.end(), row.begin(), row.end());
    }
  }
  return out;
}

}  // namespace

TEST_CASE("wrong answers: fragment_layout") {
  wrong::BlockMap same, mixed, holes;
  for (int i = 0; i < 256; ++i) same[i] = short(i), mixed[i] = short(i * 37 % 256), holes[i] = short(i % 3 ? i : -1);
  for (const Shape& s : RAGGED) {
    const double scale = default_scale(s.D);
    const int M = s.D == 64 ? 64 : 48, N = s.D == 64 ? 64 : 32;  // the tiles of v2c6
    for (const wrong::BlockMap& map : {mixed, holes})
      check_prediction(s, of(wrong::fragment_layout, map, M, N),
                       [&](const Inputs& x) { return naive_fragment(s, x, map, M, N); });
    const Inputs in = make_inputs(Family::unit, s, 5);
    CHECK(difference(wrong::fragment_layout(s, scale, in.q, in.k, in.v, same, M, N), right(s, in)) < CLOSE);
  }
  check_refused(wrong::fragment_layout, same, 64, 24);
  check_refused(wrong::fragment_layout, same, 40, 64);
  same[3] = 256;
  check_refused(wrong::fragment_layout, same, 64, 64);
}

namespace {

// Sum of exp(score) over the keys that row i sees; a row past S is zeros, and sees keys as its index says.
double weight_sum(const Shape& s, const Inputs& in, int head, int i) {
  double sum = 0;
  for (int n = 0; n < s.S && (!s.causal || n <= i); ++n)
    sum += std::exp(naive_score(s, in, default_scale(s.D), head, i, n));
  return sum;
}

// The right answer, each row times factor(head, row).
std::vector<double> scaled_rows(const Shape& s, const Inputs& in, const std::function<double(int, int)>& factor) {
  std::vector<double> out = naive(s, in);
  for (int head = 0; head < s.B * s.H; ++head)
    for (int i = 0; i < s.S; ++i) {
      const double f = factor(head, i);
      for (int c = 0; c < s.D; ++c) out[(std::size_t(head) * s.S + i) * s.D + c] *= f;
    }
  return out;
}

}  // namespace

TEST_CASE("wrong answers: row_plus_8, quad_reduce, p_halves_swapped") {
  for (const Shape& s : RAGGED) {
    check_prediction(s, of(wrong::row_plus_8), [&](const Inputs& x) {
      return scaled_rows(s, x, [&](int head, int i) {
        return i & 8 ? weight_sum(s, x, head, i) / weight_sum(s, x, head, i & ~8) : 1.0;
      });
    });
    check_prediction(s, of(wrong::quad_reduce), [&](const Inputs& x) {
      return scaled_rows(s, x, [&](int head, int i) {
        const double own = weight_sum(s, x, head, i), other = weight_sum(s, x, head, i % 2 ? i - 1 : i + 1);
        return own / (own + other);
      });
    });
    check_prediction(s, of(wrong::p_halves_swapped), [&](const Inputs& x) {
      return naive(s, {x.q, x.k, tensor(s, [&](int head, int n, int c) { return half(at(s, x.v, head, n ^ 8, c)); })});
    });
  }
}

// Tiles of wgmma as shared memory holds them: [D / 64][tile_n][64] halves, zeros past S, one address per element.
TEST_CASE("wrong answers: v_major and strides_exchanged read a tile from other addresses") {
  constexpr int N = 64, SLAB = 64;
  for (const Shape& s : RAGGED) {
    const int tile_elements = N * s.D;
    // Element (n, c), where its tile is read at `address`.
    const auto elsewhere = [&](const std::vector<fp16>& from, auto address) {
      return tensor(s, [&](int head, int n, int c) {
        const int there = address(n % N, c), row = there / SLAB % N, column = there / SLAB / N * SLAB + there % SLAB;
        return there < tile_elements ? half(at(s, from, head, n / N * N + row, column)) : fp16{0};
      });
    };
    // Groups of eight keys 16 bytes apart, its keys 128, and a slab after the other.
    check_prediction(s, of(wrong::strides_exchanged, N), [&](const Inputs& x) {
      const auto address = [](int n, int c) { return c / SLAB * N * SLAB + (n / 8 * 16 + n % 8 * 128) / 2 + c % SLAB; };
      return naive(s, {x.q, elsewhere(x.k, address), x.v});
    });
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          std::vector<double> out = wrong::v_major(shape, default_scale(s.D), x.q, x.k, x.v, N, rows);
          for (std::size_t i = 0; i < out.size(); ++i) {
            // 48 keys of the tile come before its last 16; their first element is a row of 64 each.
            const bool leaves = (48 + int(i % s.D)) * SLAB >= tile_elements;
            CHECK(std::isnan(out[i]) == leaves);
            if (leaves) out[i] = 0;
          }
          return out;
        },
        // 16 keys 2048 bytes after 16 keys; columns 128 bytes apart in groups of 1024, and a key 2 from the next.
        [&](const Inputs& x) {
          const auto address = [](int n, int d) {
            return (n / 16 * 2048 + d / 8 * 1024 + d % 8 * 128 + n % 16 * 2) / 2;
          };
          std::vector<double> out = naive(s, {x.q, x.k, elsewhere(x.v, address)});
          for (std::size_t i = 0; i < out.size(); ++i)
            if ((48 + int(i % s.D)) * SLAB >= tile_elements) out[i] = 0;
          return out;
        });
  }
  check_refused(wrong::v_major, 24);
  check_refused(wrong::strides_exchanged, 128);
}

TEST_CASE("wrong answers: scale_d_left_one adds the weights of the tile before") {
  constexpr int N = 64;
  for (const Shape& s : RAGGED)
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::scale_d_left_one(shape, 1.6 * default_scale(s.D), x.q, x.k, x.v, N, rows);
        },
        [&](const Inputs& x) {
          const double scale = 1.6 * default_scale(s.D);
          return by_rows(s, [&](int head, int i, std::vector<double>& o) {
            std::vector<double> accumulator(N, 0.0);
            double m = -INF, l = 0;
            for (int t = 0; t * N < s.S; ++t) {
              for (int j = 0; j < N; ++j) {
                const int n = t * N + j;
                const bool sees = n < s.S && (!s.causal || n <= i);
                accumulator[j] = sees ? accumulator[j] + naive_score(s, x, 1.0, head, i, n) : -INF;
              }
              const double old_m = m;
              for (const double score : accumulator) m = std::max(m, scale * score);
              l *= std::exp(old_m - m);
              for (double& element : o) element *= std::exp(old_m - m);
              for (int j = 0; j < N; ++j) {
                const double p = accumulator[j] = std::exp(scale * accumulator[j] - m);
                l += p;
                for (int c = 0; c < s.D && p > 0; ++c) o[c] += p * at(s, x.v, head, t * N + j, c);
              }
            }
            return l;
          });
        });
  check_refused(wrong::scale_d_left_one, 0);
}

TEST_CASE("wrong answers: merge_without_max weighs each part relative to its own first tile") {
  constexpr int TILE = 16;
  for (const Shape& s : RAGGED)
    check_prediction(s, of(wrong::merge_without_max, TILE), [&](const Inputs& x) {
      return by_rows(s, [&](int head, int i, std::vector<double>& o) {
        double l = 0;
        const int keys = s.causal ? i + 1 : s.S, tiles = (keys + TILE - 1) / TILE;
        for (int part = 0; part < 2; ++part) {
          const int begin = part == 0 ? 0 : tiles - tiles / 2, end = part == 0 ? tiles - tiles / 2 : tiles;
          double m = -INF;
          for (int t = begin; t < end; ++t)
            for (int n = t * TILE; n < std::min(keys, (t + 1) * TILE); ++n) {
              const double score = naive_score(s, x, default_scale(s.D), head, i, n);
              // The reference is complete before anything is weighed with it.
              if (n == begin * TILE)
                for (int j = n; j < std::min(keys, n + TILE); ++j)
                  m = std::max(m, naive_score(s, x, default_scale(s.D), head, i, j));
              const double p = std::exp(score - m);
              l += p;
              for (int c = 0; c < s.D; ++c) o[c] += p * at(s, x.v, head, n, c);
            }
        }
        return l;
      });
    });
  const Inputs in = make_inputs(Family::unit, RAGGED[0], 1);
  check_refused(wrong::merge_without_max, 0);
  CHECK_THROWS_AS(wrong::merge_without_max(RAGGED[0], 8, in.q, in.k, in.v, 16), BadInput);
}

TEST_CASE("wrong answers: packed_too_early takes the early weights of the tile behind") {
  constexpr int N = 32, EARLY = 24;
  for (const Shape& s : RAGGED)
    check_prediction(s, of(wrong::packed_too_early, N, EARLY), [&](const Inputs& x) {
      return by_rows(s, [&](int head, int i, std::vector<double>& o) {
        const int keys = s.causal ? i + 1 : s.S;
        const auto weight = [&](int n) {
          return n < keys ? std::exp(naive_score(s, x, default_scale(s.D), head, i, n)) : 0.0;
        };
        double l = 0;
        for (int n = 0; n < keys; ++n) {
          l += weight(n);
          const bool last = n / N == (keys - 1) / N;
          const double p = weight(!last && n % N < EARLY ? n + N : n);
          for (int c = 0; c < s.D; ++c) o[c] += p * at(s, x.v, head, n, c);
        }
        return l;
      });
    });
  check_refused(wrong::packed_too_early, 32, 33);
}

TEST_CASE("wrong answers: late_rescale follows the recurrence, O = (O + p V) a") {
  for (const Shape& s : RAGGED)
    check_prediction(s, of(wrong::late_rescale, 48), [&](const Inputs& x) {
      return by_rows(s, [&](int head, int i, std::vector<double>& o) {
        const int keys = s.causal ? i + 1 : s.S;
        double m = -INF, l = 0;
        for (int first = 0; first < keys; first += 48) {
          const double old = m;
          const int end = std::min(first + 48, keys);
          for (int n = first; n < end; ++n) m = std::max(m, naive_score(s, x, default_scale(s.D), head, i, n));
          l *= std::exp(old - m);
          for (int n = first; n < end; ++n) {
            const double p = std::exp(naive_score(s, x, default_scale(s.D), head, i, n) - m);
            l += p;
            for (int c = 0; c < s.D; ++c) o[c] += p * at(s, x.v, head, n, c);
          }
          for (double& element : o) element *= std::exp(old - m);
        }
        return l;
      });
    });
  check_refused(wrong::late_rescale, 0);
}

TEST_CASE("wrong answers: other_mask") {
  const Shape& s = RAGGED[0];
  const auto seen = [](int row) { return row / 3 + 1; };
  check_prediction(s, of(wrong::other_mask, seen), [&](const Inputs& x) {
    return naive(s, x, [&](int head, int i, int n) {
      return n < seen(i) ? naive_score(s, x, default_scale(s.D), head, i, n) : -INF;
    });
  });
  const Inputs in = make_inputs(Family::unit, s, 1);
  for (const int keys : {0, s.S + 1})
    CHECK_THROWS_AS(wrong::other_mask(s, 0.125, in.q, in.k, in.v, [=](int) { return keys; }), BadInput);
}

TEST_CASE("wrong answers: tma_box_clipped") {
  constexpr int TILE = 64;
  for (const Shape& s : {Shape{2, 1, 70, 64, false}, Shape{1, 2, 65, 128, false}})
    check_prediction(s, of(wrong::tma_box_clipped, TILE), [&](const Inputs& x) {
      return scaled_rows(s, x, [&](int head, int i) {
        const double own = weight_sum(s, x, head, i);
        return own / (own + 2 * TILE - s.S);
      });
    });
  // Nothing is clipped, or the mask hides it.
  for (const Shape& s : {Shape{1, 1, 128, 64, false}, Shape{1, 1, 70, 64, true}}) {
    const Inputs in = make_inputs(Family::unit, s, 5);
    CHECK(difference(wrong::tma_box_clipped(s, default_scale(s.D), in.q, in.k, in.v, TILE), right(s, in)) < CLOSE);
  }
  check_refused(wrong::tma_box_clipped, 0);
}

TEST_CASE("wrong answers: columns_moved") {
  for (const Shape& s : RAGGED) {
    check_prediction(s, of(wrong::columns_moved, [](int r, int c) { return r % 8 < 4 ? c : c ^ 32; }),
                     [&](const Inputs& x) {
                       const auto moved = [&](const std::vector<fp16>& from) {
                         return tensor(s, [&](int head, int r, int c) {
                           return half(at(s, from, head, r, (r & 4) == 0 ? c : c % 64 < 32 ? c + 32 : c - 32));
                         });
                       };
                       return naive(s, {moved(x.q), moved(x.k), moved(x.v)});
                     });
  }
}

TEST_CASE("wrong answers: the notes' inputs hide these bugs, unit variance does not") {
  for (const Family family : {Family::notes, Family::unit}) {
    CAPTURE(name(family));
    const Inputs in = make_inputs(family, MISSION, 1);
    const std::vector<double> correct = right(MISSION, in);
    for (const auto& bug : {wrong::scores_ignored, wrong::double_scale, wrong::ldm}) {
      const double error = difference(bug(MISSION, 0.125, in.q, in.k, in.v, {}), correct);
      CAPTURE(error);
      CHECK((family == Family::notes ? error < 1e-3 : error > FAR));
    }
  }
}
