// The predicted wrong answers. That each is what its bug computes, to the bound and on every element, its signature says
// (`make stage=S reproduce-bug`: equals_prediction). Here is what no bug shows.
#include "checks/tests/test_reference.hpp"

using namespace lab;
using namespace lab::judge;

namespace {

// wrong::f with these arguments of its own.
using Predict = std::function<std::vector<double>(const Shape&, const Inputs&, std::span<const RowBlock>)>;
template <class Wrong, class... More>
Predict of(Wrong f, const More&... more) {
  return [=](const Shape& s, const Inputs& x, std::span<const RowBlock> rows) {
    return f(s, default_scale(s.D), x.q, x.k, x.v, more..., rows);
  };
}

constexpr Shape WIDE{1, 2, 113, 128, true}, NARROW{2, 1, 200, 64, true};

unsigned mirrored(unsigned tile, unsigned tiles, unsigned heads) { return tiles * heads - 1 - tile; }
int third(int row) { return row / 3 + 1; }
wrong::BlockMap block_map(int factor) {
  wrong::BlockMap map;
  for (int i = 0; i < 256; ++i) map[std::size_t(i)] = short(i * factor % 256);
  return map;
}

}  // namespace

TEST_CASE("wrong answers: a sample of rows equals those of the whole") {
  const auto check = [](const Shape& s, std::initializer_list<Predict> predictions) {
    const Inputs in = make_inputs(Family::unit, s, 5);
    const RowBlock sample[] = {{1, s.S - 20, 20}, {0, 33, 1}};
    for (const Predict& predict : predictions) {
      CAPTURE(&predict - predictions.begin());
      const std::vector<double> whole = predict(s, in, {});
      std::vector<double> chosen;
      for (const RowBlock& b : sample) {
        const auto first = whole.begin() + (std::ptrdiff_t(b.head) * s.S + b.first) * s.D;
        chosen.insert(chosen.end(), first, first + std::ptrdiff_t(b.rows) * s.D);
      }
      CHECK(difference(predict(s, in, sample), chosen) == 0);
    }
  };
  check(WIDE,
        {of(wrong::head_dim_64), of(wrong::qk_not_transposed, 128), of(wrong::fragment_layout, block_map(37), 48, 32)});
  check(NARROW, {of(wrong::double_scale),
                 of(wrong::reduce_32x),
                 of(wrong::scores_ignored),
                 of(wrong::ldm),
                 of(wrong::swizzle_one_side),
                 of(wrong::ldmatrix_row_address),
                 of(wrong::v_not_transposed),
                 of(wrong::v_major, 64),
                 of(wrong::strides_exchanged, 64),
                 of(wrong::scale_d_left_one, 64),
                 of(wrong::merge_without_max, 64),
                 of(wrong::packed_too_early, 64, 32),
                 of(wrong::guard_of_a_float, 64),
                 of(wrong::keys_of_another_tile, 64, 64, mirrored),
                 of(wrong::tile_taken_twice, 64, mirrored),
                 of(wrong::row_plus_8),
                 of(wrong::quad_reduce),
                 of(wrong::p_halves_swapped),
                 of(wrong::late_rescale, 64),
                 of(wrong::tma_box_clipped, 64),
                 of(wrong::columns_moved, [](int row, int c) { return (c + row) % 64; }),
                 of(wrong::other_mask, third)});
}

// One bug has no stage of its own, and what the other divides by its signature's bound does not tell from 31.
TEST_CASE("wrong answers: scores_ignored, reduce_32x") {
  const Inputs in = make_inputs(Family::unit, NARROW, 5);
  const auto mean = naive(NARROW, in, [](int, int, int) { return 0.0; });
  CHECK(difference(of(wrong::scores_ignored)(NARROW, in, {}), mean) < CLOSE);
  std::vector<double> reduced = naive(NARROW, in);
  for (double& x : reduced) x *= 0.03125;
  CHECK(difference(of(wrong::reduce_32x)(NARROW, in, {}), reduced) < CLOSE);
}

TEST_CASE("wrong answers: what has no such answer is refused") {
  const auto refused = [](const Shape& s, const Predict& predict) {
    CHECK_THROWS_AS(predict(s, make_inputs(Family::unit, s, 1), {}), BadInput);
  };
  wrong::BlockMap outside = block_map(1);
  outside[3] = 256;
  refused(NARROW, of(wrong::head_dim_64));
  refused(NARROW, of(wrong::qk_not_transposed, 32));
  refused({1, 1, 10, 24}, of(wrong::ldm));
  refused({1, 1, 100, 64, false}, of(wrong::keys_of_another_tile, 64, 64, mirrored));
  refused(NARROW, of(wrong::guard_of_a_float, 0));
  refused(NARROW, of(wrong::fragment_layout, block_map(1), 64, 24));
  refused(NARROW, of(wrong::fragment_layout, block_map(1), 40, 64));
  refused(NARROW, of(wrong::fragment_layout, outside, 64, 64));
  refused(NARROW, of(wrong::v_major, 24));
  refused(NARROW, of(wrong::strides_exchanged, 128));
  refused(NARROW, of(wrong::scale_d_left_one, 0));
  refused(NARROW, of(wrong::merge_without_max, 0));
  refused(NARROW, of(wrong::packed_too_early, 32, 33));
  refused(NARROW, of(wrong::late_rescale, 0));
  refused(NARROW, of(wrong::tma_box_clipped, 0));
  for (const int keys : {0, NARROW.S + 1}) refused(NARROW, of(wrong::other_mask, [=](int) { return keys; }));
  const Inputs in = make_inputs(Family::unit, RAGGED[0], 1);
  CHECK_THROWS_AS(wrong::merge_without_max(RAGGED[0], 8, in.q, in.k, in.v, 16), BadInput);  // weights past 2^11
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
