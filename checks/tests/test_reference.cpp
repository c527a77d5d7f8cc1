// fp16, and the fp64 oracle.
#include <bit>

#include "checks/tests/test_reference.hpp"

using namespace lab;
using namespace lab::judge;

static fp16 as_fp16(double x) { return to_fp16(float(x)); }

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
  CHECK(to_fp16(-1e-30f).bits == 0x8000);
  CHECK(is_nan(to_fp16(std::nanf(""))));
  // A NaN whose payload lies in the bits that fp16 drops must not become infinity.
  CHECK(is_nan(to_fp16(std::bit_cast<float>(0x7F800001u))));
}

// --- the oracle -----------------------------------------------------------------------------------------------------

TEST_CASE("attention: the formula, naively, on ragged lengths, one key, many heads and a D of no whole vectors") {
  std::vector<Shape> shapes(std::begin(RAGGED), std::end(RAGGED));
  for (const bool causal : {false, true}) shapes.insert(shapes.end(), {{2, 3, 1, 64, causal}, {2, 3, 30, 20, causal}});
  for (const Shape& s : shapes)
    for (const Family family : {Family::unit, Family::impulse}) {
      CAPTURE(describe(s));
      const Inputs in = make_inputs(family, s, 3);
      CHECK(difference(right(s, in), naive(s, in)) < CLOSE);
    }
}

// Of the heads eleven have a NaN or an infinity in q, k or v; of two all scores are -Inf, and no key has a weight.
TEST_CASE("attention: NaN and infinity pass as the formula has them; a key that is not seen changes nothing") {
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    const Shape s{1, 13, 50, 64, causal};
    const Inputs in = make_inputs(Family::special, s, 1);
    CHECK(difference(right(s, in), naive(s, in)) < CLOSE);
  }
}

TEST_CASE("attention: a common offset of a row's scores changes nothing, however large") {
  const Shape s{1, 1, 60, 64};
  Inputs in = make_inputs(Family::unit, s, 2);
  for (fp16& x : in.q) x = as_fp16(std::abs(to_float(x)));
  for (fp16& x : in.k) x = as_fp16(std::round(2 * to_float(x)) / 2);  // halves: exact next to 512 in fp16
  const std::vector<double> before = right(s, in);
  for (const double offset : {512.0, -512.0}) {
    Inputs moved = in;
    for (fp16& x : moved.k) x = as_fp16(to_float(x) + offset);
    REQUIRE(std::abs(naive_score(s, moved, default_scale(s.D), 0, 0, 0)) > 710);  // where exp ends in fp64
    CHECK(difference(right(s, moved), before) < 1e-10);
  }
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
  constexpr int MOST = std::numeric_limits<int>::max();
  const RowBlock refused[] = {{2, 0, 1}, {-1, 0, 1}, {0, 0, 11}, {0, 10, 1}, {0, -1, 1}, {0, 5, -1}, {0, MOST, 1}};
  for (const RowBlock& bad : refused) CHECK_THROWS_AS(right(s, in, std::vector{bad}), BadInput);
  in.v.pop_back();
  CHECK_THROWS_WITH_AS(right(s, in), "attention: v has 1279 elements; B*H*S*D is 1280", BadInput);
}
