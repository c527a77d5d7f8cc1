// The judge is judged: fp16, the fp64 oracle, the seeded inputs and the predicted wrong answers, each against closed
// forms or against a naive computation that shares no code with reference/.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/fp16.hpp"
#include "common/shape.hpp"
#include "reference/attention.hpp"
#include "reference/bad_input.hpp"
#include "reference/inputs.hpp"
#include "reference/wrong_answers.hpp"

namespace {
using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64};
constexpr double CLOSE = 1e-12;         // between two fp64 computations of the same thing
constexpr double FAR = 100 * 1e-3;      // what a bug must move an output by, to be told from rounding
constexpr double NEVER = std::nan("");  // what a prediction holds where the kernel writes nothing
constexpr double INF = std::numeric_limits<double>::infinity();

bool is_nan(fp16 h) { return (h.bits & 0x7FFF) > 0x7C00; }
fp16 half(double x) { return to_fp16(float(x)); }
std::vector<double> right(const Shape& s, const Inputs& in, std::span<const RowBlock> rows = {}) {
  return attention(s, default_scale(s.D), in.q, in.k, in.v, rows);
}

// The largest difference; NaN on one side only counts as infinite.
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    const double d = a[i] == b[i] ? 0 : std::abs(a[i] - b[i]);
    largest = std::max(largest, std::isnan(d) ? INF : d);
  }
  return largest;
}

// One element; rows past S are zeros, as in a kernel's tile.
double at(const Shape& s, const std::vector<fp16>& tensor, int head, int row, int col) {
  return row < s.S ? to_float(tensor[(std::size_t(head) * s.S + row) * s.D + col]) : 0.0;
}

double naive_score(const Shape& s, const Inputs& in, double scale, int head, int i, int n) {
  double sum = 0;
  for (int c = 0; c < s.D; ++c) sum += at(s, in.q, head, i, c) * at(s, in.k, head, n, c);
  return sum * scale;
}

// The formula as it stands, any score: softmax without subtracting a maximum (so scores must be small).
using Score = std::function<double(int head, int i, int n)>;
std::vector<double> naive(const Shape& s, const Inputs& in, const Score& score) {
  std::vector<double> out;
  for (int head = 0; head < s.B * s.H; ++head)
    for (int i = 0; i < s.S; ++i) {
      std::vector<double> weight;
      double sum = 0;
      for (int n = 0; n < s.S && (!s.causal || n <= i); ++n) sum += weight.emplace_back(std::exp(score(head, i, n)));
      for (int c = 0; c < s.D; ++c) {
        double x = 0;
        for (std::size_t n = 0; n < weight.size(); ++n) x += weight[n] / sum * at(s, in.v, head, int(n), c);
        out.push_back(x);
      }
    }
  return out;
}
std::vector<double> naive(const Shape& s, const Inputs& in) {
  return naive(s, in, [&](int head, int i, int n) { return naive_score(s, in, default_scale(s.D), head, i, n); });
}

// Ragged against every tile, in both masks, in both head dimensions.
constexpr Shape RAGGED[] = {
    {1, 2, 200, 64, false}, {2, 1, 200, 64, true}, {1, 1, 113, 128, false}, {1, 2, 113, 128, true}};

std::string describe(const Shape& s) {
  return "S=" + std::to_string(s.S) + " D=" + std::to_string(s.D) + (s.causal ? " causal" : "");
}

// A prediction: equal to the naive one, far from the right answer, and the same on a sample of rows.
using Predict = std::function<std::vector<double>(const Shape&, const Inputs&, std::span<const RowBlock>)>;
void check_prediction(const Shape& s, const Predict& predict,
                      const std::function<std::vector<double>(const Inputs&)>& expected) {
  CAPTURE(describe(s));
  const Inputs in = make_inputs(Family::unit, s, 5);
  const std::vector<double> predicted = predict(s, in, {});
  CHECK(difference(predicted, expected(in)) < CLOSE);
  const std::vector<double> correct = right(s, in);
  double apart = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    if (!std::isnan(predicted[i])) apart = std::max(apart, std::abs(predicted[i] - correct[i]));
  CHECK(apart >= FAR);
  const int last = s.B * s.H - 1;
  const std::vector<RowBlock> sample = {{last, s.S - 20, 20}, {0, 33, 1}};
  std::vector<double> chosen;
  for (const RowBlock& b : sample)
    for (std::size_t i = 0; i < std::size_t(b.rows) * s.D; ++i)
      chosen.push_back(predicted[(std::size_t(b.head) * s.S + b.first) * s.D + i]);
  CHECK(difference(predict(s, in, sample), chosen) == 0);
}

}  // namespace

// --- fp16 -----------------------------------------------------------------------------------------------------------

TEST_CASE("fp16: every value converts to what IEEE 754 says, and back to itself") {
  int wrong_value = 0, wrong_back = 0;
  for (unsigned bits = 0; bits <= 0xFFFF; ++bits) {
    const fp16 h{std::uint16_t(bits)};
    const int exponent = int(bits >> 10 & 31), mantissa = int(bits & 0x3FF);
    const float f = to_float(h);
    if (exponent == 31 && mantissa != 0) {
      wrong_value += !std::isnan(f);
      const fp16 back = to_fp16(f);  // still NaN, of the same sign; a signalling one is made quiet
      wrong_back += !is_nan(back) || (back.bits & 0x8000) != (bits & 0x8000);
      continue;
    }
    const double magnitude = exponent == 31  ? INF
                             : exponent == 0 ? std::ldexp(mantissa, -24)
                                             : std::ldexp(1024 + mantissa, exponent - 25);
    wrong_value += double(f) != (bits & 0x8000 ? -magnitude : magnitude) || std::signbit(f) != bool(bits & 0x8000);
    wrong_back += to_fp16(f) != h;
  }
  CHECK(wrong_value == 0);
  CHECK(wrong_back == 0);
}

TEST_CASE("fp16: rounds to nearest, ties to even, between all neighbours") {
  int wrong = 0;
  for (unsigned bits = 0; bits < 0x7BFF; ++bits)
    for (const unsigned sign : {0u, 0x8000u}) {
      const fp16 low{std::uint16_t(sign | bits)}, high{std::uint16_t(sign | (bits + 1))};
      const float tie = (to_float(low) + to_float(high)) / 2;  // exact in fp32
      wrong += to_fp16(tie) != (bits % 2 == 0 ? low : high);
      wrong += to_fp16(std::nextafter(tie, to_float(low))) != low;
      wrong += to_fp16(std::nextafter(tie, to_float(high))) != high;
    }
  CHECK(wrong == 0);
}

TEST_CASE("fp16: overflow, underflow, infinities") {
  CHECK(to_fp16(65504.0f).bits == 0x7BFF);
  CHECK(to_fp16(std::nextafter(65520.0f, 0.0f)).bits == 0x7BFF);
  CHECK(to_fp16(65520.0f).bits == 0x7C00);  // the tie with what would be 65536
  CHECK(to_fp16(-1e30f).bits == 0xFC00);
  CHECK(to_fp16(std::numeric_limits<float>::infinity()).bits == 0x7C00);
  CHECK(to_fp16(std::ldexp(1.0f, -24)).bits == 0x0001);
  CHECK(to_fp16(std::ldexp(1.0f, -25)).bits == 0x0000);  // the tie with zero
  CHECK(to_fp16(std::nextafter(std::ldexp(1.0f, -25), 1.0f)).bits == 0x0001);
  CHECK(to_fp16(-1e-30f).bits == 0x8000);
  CHECK(is_nan(to_fp16(std::nanf(""))));
  // A NaN whose payload lies in the bits that fp16 drops must not become infinity.
  CHECK(is_nan(to_fp16(std::bit_cast<float>(0x7F800001u))));
}

// --- the oracle -----------------------------------------------------------------------------------------------------

TEST_CASE("attention: the formula, naively") {
  for (const Shape& s : RAGGED) {
    CAPTURE(describe(s));
    const Inputs in = make_inputs(Family::unit, s, 3);
    CHECK(difference(right(s, in), naive(s, in)) < CLOSE);
  }
  const Shape odd{1, 1, 9, 20, true};  // D is no multiple of a vector's length
  const Inputs in = make_inputs(Family::unit, odd, 3);
  CHECK(difference(right(odd, in), naive(odd, in)) < CLOSE);
}

TEST_CASE("attention: the default scale is 1 / sqrt(D)") {
  CHECK(default_scale(64) == 0.125);
  CHECK(default_scale(128) == doctest::Approx(0.08838834764831845).epsilon(1e-15));
}

TEST_CASE("attention: one key gives its V") {
  for (const bool causal : {false, true}) {
    const Shape s{2, 3, 1, 64, causal};
    const Inputs in = make_inputs(Family::peaked, s, 1);
    const std::vector<double> out = right(s, in);
    for (std::size_t i = 0; i < out.size(); ++i) REQUIRE(out[i] == to_float(in.v[i]));
  }
}

TEST_CASE("attention: equal keys give the mean of the V that a row sees") {
  for (const bool causal : {false, true}) {
    const Shape s{1, 2, 40, 64, causal};
    Inputs in = make_inputs(Family::unit, s, 1);
    for (std::size_t i = 0; i < in.k.size(); ++i) in.k[i] = in.k[i % s.D];
    const std::vector<double> out = right(s, in);
    for (int head = 0; head < 2; ++head)
      for (int i = 0; i < s.S; ++i)
        for (int c = 0; c < s.D; ++c) {
          const int keys = causal ? i + 1 : s.S;
          double mean = 0;
          for (int n = 0; n < keys; ++n) mean += at(s, in.v, head, n, c) / keys;
          REQUIRE(std::abs(out[(std::size_t(head) * s.S + i) * s.D + c] - mean) < CLOSE);
        }
  }
}

TEST_CASE("attention: causal row 0 is V row 0, and a later key changes nothing before it") {
  const Shape s{1, 1, 50, 64, true};
  Inputs in = make_inputs(Family::unit, s, 1);
  const std::vector<double> before = right(s, in);
  for (int c = 0; c < s.D; ++c) REQUIRE(before[c] == to_float(in.v[c]));
  for (int c = 0; c < s.D; ++c) in.k[30 * s.D + c] = FP16_NAN, in.v[30 * s.D + c] = fp16{0x7C00};
  const std::vector<double> after = right(s, in);
  for (int i = 0; i < s.S; ++i)
    for (int c = 0; c < s.D; ++c) {
      const double x = after[std::size_t(i) * s.D + c];
      REQUIRE((i < 30 ? x == before[std::size_t(i) * s.D + c] : std::isnan(x)));
    }
}

TEST_CASE("attention: NaN and infinity pass as the formula has them") {
  const Shape s{1, 2, 20, 64};
  const Inputs clean = make_inputs(Family::unit, s, 1);
  const std::vector<double> before = right(s, clean);
  const auto nan_rows = [&](const std::vector<double>& out) {
    std::vector<int> rows;
    for (int row = 0; row < int(s.rows()); ++row) {
      int nans = 0;
      for (int c = 0; c < s.D; ++c) nans += std::isnan(out[std::size_t(row) * s.D + c]);
      REQUIRE((nans == 0 || nans == s.D));
      if (nans != 0)
        rows.push_back(row);
      else
        for (int c = 0; c < s.D; ++c) REQUIRE(out[std::size_t(row) * s.D + c] == before[std::size_t(row) * s.D + c]);
    }
    return rows;
  };
  SUBCASE("NaN in a query: its row") {
    Inputs in = clean;
    in.q[7 * s.D] = FP16_NAN;
    CHECK(nan_rows(right(s, in)) == std::vector<int>{7});
  }
  SUBCASE("NaN in a key: all rows of its head, also where it comes first or last") {
    for (const int n : {0, 19}) {
      Inputs in = clean;
      in.k[(20 + n) * s.D + 5] = FP16_NAN;
      const std::vector<int> rows = nan_rows(right(s, in));
      CHECK(rows.size() == 20);
      CHECK(rows.front() == 20);
    }
  }
  SUBCASE("a score of +Inf: its row") {
    Inputs in = clean;
    for (int c = 0; c < s.D; ++c) in.q[3 * s.D + c] = half(c == 0);
    for (int n = 0; n < s.S; ++n) in.k[n * s.D] = half(n == 4 ? INF : 1);
    const std::vector<double> out = right(s, in);
    CHECK(std::isnan(out[3 * s.D]));
  }
  SUBCASE("a score of -Inf: a weight of zero, or NaN if there is no other") {
    Inputs in = clean;
    for (std::size_t i = 0; i < in.q.size(); ++i) in.q[i] = half(1);
    in.k[4 * s.D] = half(-INF);
    std::vector<double> out = right(s, in);
    for (int c = 0; c < s.D; ++c) REQUIRE(std::isfinite(out[c]));
    Inputs without = in;
    for (int c = 0; c < s.D; ++c) without.v[4 * s.D + c] = half(100);
    CHECK(difference(out, right(s, without)) == 0);
    for (int n = 0; n < s.S; ++n) in.k[n * s.D] = half(-INF);
    out = right(s, in);
    CHECK(std::isnan(out[0]));
  }
}

TEST_CASE("attention: a common offset of a row's scores changes nothing, however large") {
  const Shape s{1, 1, 60, 64};
  Inputs in = make_inputs(Family::unit, s, 2);
  for (fp16& x : in.q) x = half(std::abs(to_float(x)));
  for (fp16& x : in.k) x = half(std::round(2 * to_float(x)) / 2);  // halves: exact next to 512 in fp16
  const std::vector<double> before = right(s, in);
  for (const double offset : {512.0, -512.0}) {
    Inputs moved = in;
    for (fp16& x : moved.k) x = half(to_float(x) + offset);
    REQUIRE(std::abs(naive_score(s, moved, default_scale(s.D), 0, 0, 0)) > 710);  // where exp ends in fp64
    CHECK(difference(right(s, moved), before) < 1e-10);
  }
}

TEST_CASE("attention: weights sum to one, and impulses read them off") {
  for (const bool causal : {false, true}) {
    const Shape s{1, 2, 150, 64, causal};
    const Inputs in = make_inputs(Family::impulse, s, 4);
    const std::vector<double> out = right(s, in);
    for (int head = 0; head < 2; ++head)
      for (const int i : {0, 1, 77, 149}) {
        const double* row = &out[(std::size_t(head) * s.S + i) * s.D];
        double total = 0, sum = 0;
        for (int c = 0; c < s.D; ++c) total += row[c];
        CHECK(std::abs(total - 1) < CLOSE);
        std::vector<double> weight(s.D, 0.0);
        for (int n = 0; n < (causal ? i + 1 : s.S); ++n) {
          const double e = std::exp(naive_score(s, in, default_scale(s.D), head, i, n));
          weight[n % s.D] += e, sum += e;
        }
        for (int c = 0; c < s.D; ++c) REQUIRE(std::abs(row[c] - weight[c] / sum) < CLOSE);
      }
  }
}

TEST_CASE("attention: permuting heads permutes outputs") {
  const Shape s{2, 3, 30, 64, true};
  const std::size_t size = std::size_t(s.S) * s.D;
  const Inputs in = make_inputs(Family::unit, s, 1);
  constexpr int FROM[] = {4, 0, 5, 2, 1, 3};
  const auto permute = [&]<class T>(const std::vector<T>& x) {
    std::vector<T> y;
    for (const int from : FROM) y.insert(y.end(), x.begin() + from * size, x.begin() + (from + 1) * size);
    return y;
  };
  CHECK(right(s, {permute(in.q), permute(in.k), permute(in.v)}) == permute(right(s, in)));
}

TEST_CASE("attention: a sample of rows equals those of the whole, in the order asked") {
  for (const bool causal : {false, true}) {
    const Shape s{2, 2, 300, 64, causal};
    const Inputs in = make_inputs(Family::unit, s, 1);
    const std::vector<double> whole = right(s, in);
    const std::vector<RowBlock> sample = {{3, 256, 44}, {0, 0, 64}, {3, 64, 64}, {1, 299, 1}, {2, 5, 0}, {0, 10, 3}};
    const std::vector<double> out = right(s, in, sample);
    std::vector<double> expected;
    for (const RowBlock& b : sample)
      for (std::size_t i = 0; i < std::size_t(b.rows) * s.D; ++i)
        expected.push_back(whole[(std::size_t(b.head) * s.S + b.first) * s.D + i]);
    CHECK(out == expected);
  }
}

TEST_CASE("attention: what does not fit is refused") {
  const Shape s{1, 2, 10, 64};
  Inputs in = make_inputs(Family::unit, s, 1);
  for (const RowBlock& bad : {RowBlock{2, 0, 1},
                              {-1, 0, 1},
                              {0, 0, 11},
                              {0, 10, 1},
                              {0, -1, 1},
                              {0, 5, -1},
                              {0, std::numeric_limits<int>::max(), 1}}) {
    CAPTURE(bad.first);
    CHECK_THROWS_AS(right(s, in, std::vector{bad}), BadInput);
  }
  in.v.pop_back();
  CHECK_THROWS_WITH_AS(right(s, in), "attention: v has 1279 elements; B*H*S*D is 1280", BadInput);
}

// --- inputs ---------------------------------------------------------------------------------------------------------

TEST_CASE("inputs: these bits, on every machine") {
  const Shape s{1, 1, 4, 64};
  // From an independent Python implementation of the same definition.
  struct Expected {
    Family family;
    std::uint64_t seed;
    std::uint16_t q[6], k[2], v[2];
  };
  constexpr Expected EXPECTED[] = {
      {Family::unit, 1, {0xb5e0, 0x3667, 0x353c, 0x2e1f, 0x3061, 0x3992}, {0xb1a0, 0x28bd}, {0xb9bd, 0xbc07}},
      {Family::unit, 7, {0xb324, 0xbcef, 0xbb13, 0xb489, 0xb8a4, 0x3a8e}, {}, {}},
      {Family::notes, 1, {0xa8b4, 0x291f, 0x2830, 0x20e5, 0x2302, 0x2c75}, {}, {}},
      {Family::peaked, 1, {0xbbef, 0x3c52, 0x3b11, 0x3422, 0x35e9, 0x3f85}, {}, {0xb9bd, 0xbc07}},
      {Family::offset, 1, {0xb5e0, 0x3667, 0x353c, 0x2e1f, 0x3061, 0x3992}, {0x563d, 0x5641}, {0xb9bd, 0xbc07}},
      {Family::impulse, 1, {0xb5e0, 0x3667, 0x353c, 0x2e1f, 0x3061, 0x3992}, {0xb1a0, 0x28bd}, {0x3c00, 0x0000}},
  };
  for (const Expected& e : EXPECTED) {
    CAPTURE(name(e.family));
    const Inputs in = make_inputs(e.family, s, e.seed);
    for (int i = 0; i < 6; ++i) CHECK(in.q[i].bits == e.q[i]);
    if (e.k[0])
      for (int i = 0; i < 2; ++i) CHECK(in.k[i].bits == e.k[i]);
    if (e.v[0])
      for (int i = 0; i < 2; ++i) CHECK(in.v[i].bits == e.v[i]);
  }
  CHECK(make_inputs(Family::unit, s, 1).q[255].bits == 0x32d4);
}

TEST_CASE("inputs: an element depends on seed, tensor and index only") {
  const Inputs small = make_inputs(Family::unit, {1, 1, 3, 21}, 9),
               large = make_inputs(Family::unit, {2, 3, 100, 64}, 9);
  CHECK(std::equal(small.q.begin(), small.q.end(), large.q.begin()));
  CHECK(std::equal(small.k.begin(), small.k.end(), large.k.begin()));
  CHECK(std::equal(small.v.begin(), small.v.end(), large.v.begin()));
  CHECK(small.q != small.k);
  CHECK(small.k != small.v);
  CHECK(small.q != make_inputs(Family::unit, {1, 1, 3, 21}, 10).q);
}

// Numbers drawn once are kept for what comes next: nothing of what came before may show.
TEST_CASE("inputs: the same whatever was drawn before, and past what is kept") {
  // The heads that are asked for begin and end inside the stretches that are drawn at a time.
  const Shape whole{1, 40, 129, 64}, long_one{1, 5, 8192, 128};
  const std::uint32_t some[] = {3, 4, 39}, last[] = {4};  // of long_one: past 2^22 elements
  const Inputs first = make_inputs(Family::unit, whole, 21, some), far = make_inputs(Family::unit, long_one, 21, last);
  make_inputs(Family::peaked, {1, 2, 500, 64}, 22);
  make_inputs(Family::peaked, whole, 21);
  const Inputs again = make_inputs(Family::unit, whole, 21, some);
  CHECK((again.q == first.q && again.k == first.k && again.v == first.v));
  const std::size_t head = std::size_t(129) * 64;
  const Inputs all = make_inputs(Family::unit, whole, 21);
  for (const std::uint32_t h : some)
    CHECK(std::equal(all.q.begin() + std::ptrdiff_t(h * head), all.q.begin() + std::ptrdiff_t((h + 1) * head),
                     first.q.begin() + std::ptrdiff_t(h * head)));
  CHECK(first.q[0] == FP16_NAN);
  const Inputs far_again = make_inputs(Family::unit, long_one, 21);
  const std::ptrdiff_t begin = std::ptrdiff_t(4) * 8192 * 128;
  CHECK(std::equal(far.v.begin() + begin, far.v.end(), far_again.v.begin() + begin));
  CHECK(!std::equal(far_again.v.begin() + begin, far_again.v.begin() + begin + 100, far_again.v.begin()));
}

TEST_CASE("inputs: mean, variance and independence") {
  struct Expected {
    Family family;
    double qk, k_mean, v;  // standard deviations of q and k, of v; mean of k
  };
  for (const Expected& e : {Expected{Family::notes, 0.1, 0, 0.1},
                            {Family::unit, 1, 0, 1},
                            {Family::peaked, 2.7, 0, 1},
                            {Family::offset, 1, 100, 1}}) {
    CAPTURE(name(e.family));
    const Inputs in = make_inputs(e.family, MISSION, 1);
    const auto check = [](const std::vector<fp16>& x, double mean, double deviation) {
      double sum = 0, squares = 0, fourths = 0;
      for (const fp16 h : x) sum += to_float(h);
      const double m = sum / double(x.size());
      for (const fp16 h : x) squares += std::pow(to_float(h) - m, 2), fourths += std::pow(to_float(h) - m, 4);
      const double variance = squares / double(x.size());
      CHECK(std::abs(m - mean) < 0.01 * deviation);  // five standard errors of 262,144 draws
      CHECK(std::sqrt(variance) == doctest::Approx(deviation).epsilon(0.01));
      CHECK(fourths / double(x.size()) / (variance * variance) ==
            doctest::Approx(3).epsilon(0.03));  // normal, not uniform
    };
    check(in.q, 0, e.qk), check(in.k, e.k_mean, e.qk), check(in.v, 0, e.v);
    double qk = 0, qv = 0, next = 0;
    for (std::size_t i = 0; i + 1 < in.q.size(); ++i) {
      const double q = to_float(in.q[i]) / e.qk;
      qk += q * (to_float(in.k[i]) - e.k_mean) / e.qk, qv += q * to_float(in.v[i]) / e.v,
          next += q * to_float(in.q[i + 1]) / e.qk;
    }
    for (const double correlation : {qk, qv, next}) CHECK(std::abs(correlation) / double(in.q.size()) < 0.01);
  }
}

TEST_CASE("inputs: peaked scores are large, and one key has most of the weight") {
  const Inputs in = make_inputs(Family::peaked, MISSION, 1);
  double largest = 0;
  for (int head = 0; head < 8; ++head)
    for (int i = 0; i < MISSION.S; i += 4)
      for (int n = 0; n < MISSION.S; ++n)
        largest = std::max(largest, std::abs(naive_score(MISSION, in, 0.125, head, i, n)));
  CHECK(largest > 25);
  CHECK(largest < 45);
  Inputs impulse = in;
  impulse.v = make_inputs(Family::impulse, MISSION, 1).v;
  const std::vector<RowBlock> sample = {{0, 0, 64}};
  const std::vector<double> weights = right(MISSION, impulse, sample);
  double heaviest = 0;
  for (int i = 0; i < 64; ++i) heaviest += *std::max_element(&weights[i * 64], &weights[i * 64] + 64) / 64;
  CHECK(heaviest > 0.5);  // on average, one key of 512 outweighs all others
}

TEST_CASE("inputs: offset overflows exp in fp32 unless the maximum is subtracted") {
  const Inputs in = make_inputs(Family::offset, MISSION, 1);
  int overflowing = 0;
  for (int head = 0; head < 8; ++head)
    for (int i = 0; i < MISSION.S; ++i) {
      float sum = 0;
      // Neighbouring keys score alike here: every fourth is enough to see a row overflow.
      for (int n = 0; n < MISSION.S; n += 4) sum += std::exp(float(naive_score(MISSION, in, 0.125, head, i, n)));
      overflowing += std::isinf(sum);
    }
  CHECK(overflowing > 8 * MISSION.S / 10);  // enough that any sample of tiles has some
  for (const fp16 k : in.k) REQUIRE((k.bits & 0x7C00) != 0x7C00);
  for (const double x : right(MISSION, in)) REQUIRE(std::abs(x) < 5);
}

TEST_CASE("inputs: impulse is one-hot at n mod D") {
  const Shape s{2, 2, 150, 64};
  const Inputs in = make_inputs(Family::impulse, s, 1);
  for (int head = 0; head < 4; ++head)
    for (int n = 0; n < s.S; ++n)
      for (int c = 0; c < s.D; ++c) REQUIRE(at(s, in.v, head, n, c) == (c == n % 64 ? 1.0 : 0.0));
}

TEST_CASE("inputs: names") {
  for (const Family family : FAMILIES) CHECK(family_named(name(family)) == family);
  CHECK_THROWS_WITH_AS(family_named("uniform"),
                       "unknown inputs 'uniform'; there are notes unit peaked offset swamped cancelling special "
                       "impulse climbing matched constant",
                       BadInput);
  CHECK_THROWS_AS(family_named(""), BadInput);
}

// --- wrong answers --------------------------------------------------------------------------------------------------

TEST_CASE("wrong answers: head_dim_64") {
  for (const Shape& s : RAGGED) {
    const double scale = default_scale(s.D);
    const Inputs in = make_inputs(Family::unit, s, 5);
    if (s.D == 64) {
      CHECK_THROWS_AS(wrong::head_dim_64(s, scale, in.q, in.k, in.v), BadInput);
      continue;
    }
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::head_dim_64(shape, scale, x.q, x.k, x.v, rows);
        },
        [&](const Inputs& x) {
          std::vector<double> out = naive(s, x, [&](int head, int i, int n) {
            double sum = 0;
            for (int c = 0; c < 64; ++c) sum += at(s, x.q, head, i, c) * at(s, x.k, head, n, c);
            return sum * scale;
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
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::double_scale(shape, scale, x.q, x.k, x.v, rows);
        },
        [&](const Inputs& x) {
          return naive(s, x, [&](int head, int i, int n) { return naive_score(s, x, scale, head, i, n) * scale; });
        });
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::reduce_32x(shape, scale, x.q, x.k, x.v, rows);
        },
        [&](const Inputs& x) {
          std::vector<double> out = naive(s, x);
          for (double& value : out) value *= 0.03125;
          return out;
        });
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::scores_ignored(shape, scale, x.q, x.k, x.v, rows);
        },
        [&](const Inputs& x) { return naive(s, x, [](int, int, int) { return 0.0; }); });
  }
}

TEST_CASE("wrong answers: qk_not_transposed") {
  for (const Shape& s : RAGGED) {
    const double scale = default_scale(s.D);
    // Keys past S are the tile's zero rows: with S = 200 the last tile of 64 has 8 keys.
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::qk_not_transposed(shape, scale, x.q, x.k, x.v, s.D, rows);
        },
        [&](const Inputs& x) {
          return naive(s, x, [&](int head, int i, int n) {
            const int first = n - n % s.D;
            double sum = 0;
            for (int c = 0; c < s.D; ++c) sum += at(s, x.q, head, i, c) * at(s, x.k, head, first + c, n - first);
            return sum * scale;
          });
        });
  }
  const Inputs in = make_inputs(Family::unit, RAGGED[0], 1);
  CHECK_THROWS_AS(wrong::qk_not_transposed(RAGGED[0], 0.125, in.q, in.k, in.v, 32), BadInput);
}

TEST_CASE("wrong answers: ldm") {
  for (const Shape& s : RAGGED) {
    const double scale = default_scale(s.D);
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) { return wrong::ldm(shape, scale, x.q, x.k, x.v, rows); },
        [&](const Inputs& x) {
          return naive(s, x, [&](int head, int i, int key) {
            const int n0 = key & ~15, n = key & 15;
            double sum = 0;
            for (int k0 = 0; k0 < s.D; k0 += 16)
              for (int k = 0; k < 16; ++k) sum += at(s, x.q, head, i, k0 + k) * at(s, x.k, head, n0 + k, k0 + n);
            return sum * scale;
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
        double sum = 0;
        for (int d = 0; d < s.D; ++d) sum += at(s, x.q, head, i, d) * at(s, x.k, head, key_of(n), column_of(n, d));
        return sum * scale;
      });
    };
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::swizzle_one_side(shape, scale, x.q, x.k, x.v, rows);
        },
        // A chunk is 8 columns: the row's last three bits are added, without carry, to the column's bits from 8 on.
        [&](const Inputs& x) {
          return with_k(
              x, [](int n) { return n; }, [](int n, int d) { return d ^ (n & 7) << 3; });
        });
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::ldmatrix_row_address(shape, scale, x.q, x.k, x.v, rows);
        },
        [&](const Inputs& x) {
          return with_k(
              x, [](int n) { return n & ~15; }, [](int, int d) { return d & ~8; });
        });
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::v_not_transposed(shape, scale, x.q, x.k, x.v, rows);
        },
        [&](const Inputs& x) {
          Inputs turned = x;
          for (int head = 0; head < s.B * s.H; ++head)
            for (int n = 0; n < s.S; ++n)
              for (int c = 0; c < s.D; ++c) {
                const int key = (n & ~7) + (c & 7), column = (c & ~7) + (n & 7);
                turned.v[(std::size_t(head) * s.S + n) * s.D + c] =
                    key < s.S ? x.v[(std::size_t(head) * s.S + key) * s.D + column] : fp16{0};
              }
          return naive(s, turned);
        });
  }
}

TEST_CASE("wrong answers: keys_of_another_tile, tile_taken_twice") {
  // Two heads of four tiles, 64 rows each but the last. The blocks' index says x = block % 4 and head = block / 4.
  const Shape s{1, 2, 200, 64, true};
  const auto mirrored = [](unsigned tile, unsigned, unsigned) { return 7 - tile; };
  const auto by_tile = [](unsigned tile, unsigned, unsigned) { return tile % 4 * 2 + tile / 4; };
  check_prediction(
      s,
      [&](const Shape& shape, const Inputs& x, auto rows) {
        return wrong::keys_of_another_tile(shape, default_scale(shape.D), x.q, x.k, x.v, 64, 64, mirrored, rows);
      },
      [&](const Inputs& x) {
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
      check_prediction(
          s,
          [&](const Shape& shape, const Inputs& x, auto rows) {
            return wrong::fragment_layout(shape, scale, x.q, x.k, x.v, map, M, N, rows);
          },
          [&](const Inputs& x) { return naive_fragment(s, x, map, M, N); });
    const Inputs in = make_inputs(Family::unit, s, 5);
    CHECK(difference(wrong::fragment_layout(s, scale, in.q, in.k, in.v, same, M, N), right(s, in)) < CLOSE);
  }
  const Inputs in = make_inputs(Family::unit, RAGGED[0], 1);
  CHECK_THROWS_AS(wrong::fragment_layout(RAGGED[0], 0.125, in.q, in.k, in.v, same, 64, 24), BadInput);
  CHECK_THROWS_AS(wrong::fragment_layout(RAGGED[0], 0.125, in.q, in.k, in.v, same, 40, 64), BadInput);
  same[3] = 256;
  CHECK_THROWS_AS(wrong::fragment_layout(RAGGED[0], 0.125, in.q, in.k, in.v, same, 64, 64), BadInput);
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
    const double scale = default_scale(s.D);
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::row_plus_8(shape, scale, x.q, x.k, x.v, rows);
        },
        [&](const Inputs& x) {
          return scaled_rows(s, x, [&](int head, int i) {
            return i & 8 ? weight_sum(s, x, head, i) / weight_sum(s, x, head, i & ~8) : 1.0;
          });
        });
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::quad_reduce(shape, scale, x.q, x.k, x.v, rows);
        },
        [&](const Inputs& x) {
          return scaled_rows(s, x, [&](int head, int i) {
            const double own = weight_sum(s, x, head, i), other = weight_sum(s, x, head, i % 2 ? i - 1 : i + 1);
            return own / (own + other);
          });
        });
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::p_halves_swapped(shape, scale, x.q, x.k, x.v, rows);
        },
        [&](const Inputs& x) {
          Inputs other = x;
          for (int head = 0; head < s.B * s.H; ++head)
            for (int n = 0; n < s.S; ++n)
              for (int c = 0; c < s.D; ++c)
                other.v[(std::size_t(head) * s.S + n) * s.D + c] = half(at(s, x.v, head, n & 8 ? n - 8 : n + 8, c));
          return naive(s, other);
        });
  }
}

// Tiles of wgmma as shared memory holds them: [D / 64][tile_n][64] halves, zeros past S, one address per element.
TEST_CASE("wrong answers: v_major and strides_exchanged read a tile from other addresses") {
  constexpr int N = 64, SLAB = 64;
  for (const Shape& s : RAGGED) {
    const int tile_elements = N * s.D;
    const auto tile_of = [&](const Inputs& x, char tensor, int head, int t) {
      std::vector<fp16> tile(tile_elements, fp16{0});
      for (int n = 0; n < N && t * N + n < s.S; ++n)
        for (int c = 0; c < s.D; ++c)
          tile[(c / SLAB * N + n) * SLAB + c % SLAB] =
              (tensor == 'k' ? x.k : x.v)[(std::size_t(head) * s.S + t * N + n) * s.D + c];
      return tile;
    };
    const auto elsewhere = [&](const Inputs& x, char tensor, auto address) {
      Inputs other = x;
      for (int head = 0; head < s.B * s.H; ++head)
        for (int n = 0; n < s.S; ++n)
          for (int c = 0; c < s.D; ++c) {
            const int at = address(n % N, c);
            (tensor == 'k' ? other.k : other.v)[(std::size_t(head) * s.S + n) * s.D + c] =
                at < tile_elements ? tile_of(x, tensor, head, n / N)[at] : fp16{0};
          }
      return other;
    };
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::strides_exchanged(shape, default_scale(s.D), x.q, x.k, x.v, N, rows);
        },
        // Groups of eight keys 16 bytes apart, its keys 128, and a slab after the other.
        [&](const Inputs& x) {
          return naive(s, elsewhere(x, 'k', [](int n, int c) {
                         return c / SLAB * N * SLAB + (n / 8 * 16 + n % 8 * 128) / 2 + c % SLAB;
                       }));
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
          std::vector<double> out = naive(s, elsewhere(x, 'v', [](int n, int d) {
                                            return (n / 16 * 2048 + d / 8 * 1024 + d % 8 * 128 + n % 16 * 2) / 2;
                                          }));
          for (std::size_t i = 0; i < out.size(); ++i)
            if ((48 + int(i % s.D)) * SLAB >= tile_elements) out[i] = 0;
          return out;
        });
  }
  const Inputs in = make_inputs(Family::unit, RAGGED[0], 1);
  CHECK_THROWS_AS(wrong::v_major(RAGGED[0], 0.125, in.q, in.k, in.v, 24), BadInput);
  CHECK_THROWS_AS(wrong::strides_exchanged(RAGGED[0], 0.125, in.q, in.k, in.v, 128), BadInput);
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
          std::vector<double> out;
          for (int head = 0; head < s.B * s.H; ++head)
            for (int i = 0; i < s.S; ++i) {
              std::vector<double> accumulator(N, 0.0), o(s.D, 0.0);
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
              for (const double element : o) out.push_back(element / l);
            }
          return out;
        });
  const Inputs in = make_inputs(Family::unit, RAGGED[0], 1);
  CHECK_THROWS_AS(wrong::scale_d_left_one(RAGGED[0], 0.125, in.q, in.k, in.v, 0), BadInput);
}

TEST_CASE("wrong answers: merge_without_max weighs each part relative to its own first tile") {
  constexpr int TILE = 16;
  for (const Shape& s : RAGGED)
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::merge_without_max(shape, default_scale(s.D), x.q, x.k, x.v, TILE, rows);
        },
        [&](const Inputs& x) {
          std::vector<double> out;
          for (int head = 0; head < s.B * s.H; ++head)
            for (int i = 0; i < s.S; ++i) {
              std::vector<double> o(s.D, 0.0);
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
              for (const double element : o) out.push_back(element / l);
            }
          return out;
        });
  const Inputs in = make_inputs(Family::unit, RAGGED[0], 1);
  CHECK_THROWS_AS(wrong::merge_without_max(RAGGED[0], 0.125, in.q, in.k, in.v, 0), BadInput);
  CHECK_THROWS_AS(wrong::merge_without_max(RAGGED[0], 8, in.q, in.k, in.v, 16), BadInput);
}

TEST_CASE("wrong answers: packed_too_early takes the early weights of the tile behind") {
  constexpr int N = 32, EARLY = 24;
  for (const Shape& s : RAGGED)
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::packed_too_early(shape, default_scale(s.D), x.q, x.k, x.v, N, EARLY, rows);
        },
        [&](const Inputs& x) {
          std::vector<double> out;
          for (int head = 0; head < s.B * s.H; ++head)
            for (int i = 0; i < s.S; ++i) {
              const int keys = s.causal ? i + 1 : s.S;
              const auto weight = [&](int n) {
                return n < keys ? std::exp(naive_score(s, x, default_scale(s.D), head, i, n)) : 0.0;
              };
              std::vector<double> o(s.D, 0.0);
              double l = 0;
              for (int n = 0; n < keys; ++n) {
                l += weight(n);
                const bool last = n / N == (keys - 1) / N;
                const double p = weight(!last && n % N < EARLY ? n + N : n);
                for (int c = 0; c < s.D; ++c) o[c] += p * at(s, x.v, head, n, c);
              }
              for (const double element : o) out.push_back(element / l);
            }
          return out;
        });
  const Inputs in = make_inputs(Family::unit, RAGGED[0], 1);
  CHECK_THROWS_AS(wrong::packed_too_early(RAGGED[0], 0.125, in.q, in.k, in.v, 32, 33), BadInput);
}

TEST_CASE("wrong answers: late_rescale follows the recurrence, O = (O + p V) a") {
  for (const Shape& s : RAGGED)
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::late_rescale(shape, default_scale(s.D), x.q, x.k, x.v, 48, rows);
        },
        [&](const Inputs& x) {
          std::vector<double> out;
          for (int head = 0; head < s.B * s.H; ++head)
            for (int i = 0; i < s.S; ++i) {
              const int keys = s.causal ? i + 1 : s.S;
              std::vector<double> o(s.D, 0.0);
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
              for (const double element : o) out.push_back(element / l);
            }
          return out;
        });
  const Inputs in = make_inputs(Family::unit, RAGGED[0], 1);
  CHECK_THROWS_AS(wrong::late_rescale(RAGGED[0], 0.125, in.q, in.k, in.v, 0), BadInput);
}

TEST_CASE("wrong answers: other_mask") {
  const Shape& s = RAGGED[0];
  const auto seen = [](int row) { return row / 3 + 1; };
  check_prediction(
      s,
      [&](const Shape& shape, const Inputs& x, auto rows) {
        return wrong::other_mask(shape, default_scale(s.D), x.q, x.k, x.v, seen, rows);
      },
      [&](const Inputs& x) {
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
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::tma_box_clipped(shape, default_scale(s.D), x.q, x.k, x.v, TILE, rows);
        },
        [&](const Inputs& x) {
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
  const Inputs in = make_inputs(Family::unit, RAGGED[0], 1);
  CHECK_THROWS_AS(wrong::tma_box_clipped(RAGGED[0], 0.125, in.q, in.k, in.v, 0), BadInput);
}

TEST_CASE("wrong answers: columns_moved") {
  for (const Shape& s : RAGGED) {
    check_prediction(
        s,
        [&](const Shape& shape, const Inputs& x, auto rows) {
          return wrong::columns_moved(
              shape, default_scale(s.D), x.q, x.k, x.v, [](int r, int c) { return r % 8 < 4 ? c : c ^ 32; }, rows);
        },
        [&](const Inputs& x) {
          Inputs moved = x;
          for (int head = 0; head < s.B * s.H; ++head)
            for (int r = 0; r < s.S; ++r)
              for (int c = 0; c < s.D; ++c) {
                const int from = (r & 4) == 0 ? c : c % 64 < 32 ? c + 32 : c - 32;
                const std::size_t to = (std::size_t(head) * s.S + r) * s.D + c;
                moved.q[to] = half(at(s, x.q, head, r, from));
                moved.k[to] = half(at(s, x.k, head, r, from));
                moved.v[to] = half(at(s, x.v, head, r, from));
              }
          return naive(s, moved);
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

// --- the families that catch roundings -----------------------------------------------------------------------

namespace {
// Attention of one row with chosen roundings between tiles of 64 keys, in fp64 otherwise; column 0.
template <class RoundWeight, class RoundOutput>
double rounded_attention(const Inputs& in, const Shape& shape, RoundWeight weight, RoundOutput output) {
  const double scale = default_scale(shape.D);
  double o = 0, l = 0;  // the largest score of both families is that of key 0: nothing is rescaled after the first tile
  const double m = scale * to_float(in.q[0]) * to_float(in.k[0]);
  for (int n = 0; n < shape.S; ++n) {
    const double p = std::exp(scale * to_float(in.q[0]) * to_float(in.k[std::size_t(n) * shape.D]) - m);
    l += p, o += weight(p) * to_float(in.v[std::size_t(n) * shape.D]);
    if (n % 64 == 63) o = output(o);
  }
  return o / l;
}
double keep(double x) { return x; }
double as_fp16(double x) { return to_float(to_fp16(float(x))); }
}  // namespace

TEST_CASE("inputs: swamped makes an fp16 sum lose every tile after the first") {
  for (const int D : {64, 128}) {
    const Shape shape{1, 1, 2048, D, false};
    const Inputs in = make_inputs(Family::swamped, shape, 1);
    const double right = rounded_attention(in, shape, keep, keep);
    CHECK(right == doctest::Approx(1.0));
    CHECK(std::abs(rounded_attention(in, shape, keep, as_fp16) - right) > 0.01);  // the bound is about 1e-3
  }
}

TEST_CASE("inputs: climbing maxima make an O in fp16 forget every rescale, for tiles of 64 to 256 keys") {
  const Shape shape{1, 1, 1024, 64, false};
  const Inputs in = make_inputs(Family::climbing, shape, 1);
  const double scale = default_scale(shape.D);
  const auto rescaled = [&](std::size_t row, std::size_t tile, auto round) {
    double o = 0, l = 0, m = -INFINITY;
    for (std::size_t first = 0; first < std::size_t(shape.S); first += tile) {
      double s[256], top = m;
      for (std::size_t n = 0; n < tile; ++n) {
        s[n] = 0;
        for (std::size_t c = 0; c < 64; ++c)
          s[n] += scale * to_float(in.q[row * 64 + c]) * to_float(in.k[(first + n) * 64 + c]);
        top = std::max(top, s[n]);
      }
      o = round(o * std::exp(m - top)), l *= std::exp(m - top), m = top;
      for (std::size_t n = 0; n < tile; ++n)
        l += std::exp(s[n] - m), o += std::exp(s[n] - m) * to_float(in.v[(first + n) * 64]);
    }
    return o / l;
  };
  // Row 0 climbs every 64 keys, row 1 every 128, row 2 every 256. The bound is a quarter of a percent at most.
  for (std::size_t row = 0; row < 3; ++row) {
    CAPTURE(row);
    const double right = rescaled(row, 64, keep);
    for (const std::size_t tile : {64, 128, 256}) {
      CHECK(rescaled(row, tile, keep) == doctest::Approx(right).epsilon(1e-9));
      const double error = std::abs(rescaled(row, tile, as_fp16) / right - 1);
      if (tile <= 64u << row) CHECK(error > (row == 0 ? 0.006 : row == 1 ? 0.003 : 0.0012));
    }
  }
}

TEST_CASE("inputs: with climbing maxima a row of each warp makes it rescale in every tile, and one falls") {
  for (const int D : {64, 128}) {
    const Shape shape{1, 2, 1024, D, false};
    const Inputs in = make_inputs(Family::climbing, shape, 1);
    const auto score = [&](std::size_t row, std::size_t n) {
      double s = 0;
      for (std::size_t c = 0; c < std::size_t(D); ++c)
        s += default_scale(D) * to_float(in.q[row * D + c]) * to_float(in.k[n * D + c]);
      return s;
    };
    constexpr double LARGEST_SUM = 32768;  // of the stages that wait, of a lane's weights
    for (std::size_t first = 64; first < 1024; first += 64)
      for (const std::size_t warp : {0, 1008}) {
        CHECK(std::exp(score(warp + 15, first) - score(warp + 15, first - 1)) > 4 * LARGEST_SUM);
        CHECK(std::isinf(std::exp(float(score(warp + 14, first - 64) - score(warp + 14, first)))));
        for (std::size_t row = 0; row < 14; ++row) CHECK(score(warp + row, first) < 0.01);  // alone they would never
      }
    // And no row's bound suffers: it is made of the largest norm of a key.
    double largest = 0, without = 0;
    for (std::size_t n = 0; n < 1024; ++n) {
      double norm = 0, climbers = 0;
      for (std::size_t c = 0; c < std::size_t(D); ++c)
        (c < 3 ? climbers : norm) += std::pow(to_float(in.k[n * D + c]), 2);
      largest = std::max(largest, norm + climbers), without = std::max(without, climbers);
    }
    CHECK(std::sqrt(largest / without) < 1.01);
    // In the second head a row that has climbed twice has an O that is no half.
    double o = 0, l = 0;
    for (std::size_t n = 0; n < 256; ++n) {
      const double p = std::exp(score(1024, 1024 + n) - score(1024, 1024 + 192));
      l += p, o += p * to_float(in.v[(1024 + n) * D]);
    }
    CHECK(o > 1.9 * 65504);
    CHECK(o / l < 0.51 * 65504);
  }
}

TEST_CASE("inputs: cancelling leaves the rounding of weights, and little else") {
  for (const int D : {64, 128}) {
    const Shape shape{1, 1, 128, D, false};
    const Inputs in = make_inputs(Family::cancelling, shape, 1);
    const double right = rounded_attention(in, shape, keep, keep);
    CHECK(std::abs(right) < 0.01);
    CHECK(std::abs(rounded_attention(in, shape, as_fp16, keep) - right) > 1e-4);  // the bound is about 2e-5
  }
}

TEST_CASE("inputs: special puts one value where it says, in every head") {
  const Shape shape{1, 8, 150, 64, true};
  const Inputs in = make_inputs(Family::special, shape, 1);
  std::size_t odd = 0;
  for (const auto* tensor : {&in.q, &in.k, &in.v})
    for (const fp16 x : *tensor) odd += !std::isfinite(to_float(x));
  CHECK(odd == 8);
  for (int head = 0; head < 8; ++head) {
    const Special s = special_of(head, shape);
    const auto& tensor = s.tensor == 'q' ? in.q : s.tensor == 'k' ? in.k : in.v;
    const float value = to_float(tensor[(std::size_t(head) * shape.S + s.row) * shape.D + s.col]);
    CHECK((std::isnan(s.value) ? std::isnan(value) : value == s.value));
    CHECK(s.row > 0);  // causal rows before it must not see it
  }
  CHECK(special_of(8, shape).row == 0);  // the one that all rows see
}

TEST_CASE("inputs: special has heads whose first keys have no score, and one whose scores are all below -65504") {
  const Shape shape{1, SPECIALS, 139, 64, false};
  const Inputs in = make_inputs(Family::special, shape, 1);
  int empty = 0, below = 0;
  for (int head = 0; head < shape.H; ++head) {
    const Special s = special_of(head, shape);
    if (s.rows == 1) continue;
    const std::vector<double> out = for_rows(shape, in.q, in.k, in.v, std::vector<RowBlock>{{head, 0, shape.S}},
                                             nullptr, [&](const Head& h, int row, double* to) {
                                               for (int n = 0; n < shape.S; ++n) {
                                                 const double score = dot(h.q_row(row), h.k_row(n), shape.D) / 8;
                                                 to[0] += score == -INFINITY, to[1] += score < -65504;
                                               }
                                             });
    for (std::size_t row = 0; row < std::size_t(shape.S); ++row) {
      empty += out[row * 64] == s.rows && s.rows < shape.S;
      below += out[row * 64] == 0 && out[row * 64 + 1] == shape.S;
    }
  }
  CHECK(empty == 2 * shape.S);
  CHECK(below == shape.S);
}
