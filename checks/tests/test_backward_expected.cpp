// The bound of checks/acceptance/backward_bound.hpp: a kernel with the roundings that it allows for stays within it and comes
// close enough to it; b1's bugs show that wrong ones do not.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "checks/acceptance/backward_bound.hpp"
#include "checks/acceptance/cases.hpp"

namespace lab {
namespace {

float rounded(float x, bool half_p) { return half_p ? to_float(to_fp16(x)) : x; }

struct Wrong {
  bool fp16_sums = false, scale_first = false;
};

// A kernel in fp32, key after key. It rounds dS divided by `unit`.
Gradients in_fp32(const Shape& s, float scale, const Inputs& in, bool half_p, Wrong wrong = {}, float unit = 1) {
  Gradients g;
  const std::size_t size = std::size_t(s.S) * s.D;
  std::vector<float> dq(s.elements()), dk(s.elements()), dv(s.elements());
  const auto add = [&](float& sum, float term) { sum = wrong.fp16_sums ? rounded(sum + term, true) : sum + term; };
  for (int head = 0; head < s.B * s.H; ++head)
    for (int i = 0; i < s.S; ++i) {
      const int keys = visible_keys(s, i);
      const auto at = [&](int row) { return std::size_t(head) * size + std::size_t(row) * s.D; };
      std::vector<float> score(keys), dP(keys);
      float largest = -std::numeric_limits<float>::infinity(), sum = 0, delta = 0;
      for (int j = 0; j < keys; ++j) {
        for (int c = 0; c < s.D; ++c) {
          score[j] += to_float(in.q[at(i) + c]) * to_float(in.k[at(j) + c]);
          dP[j] += to_float(in.dout[at(i) + c]) * to_float(in.v[at(j) + c]);
        }
        largest = std::max(largest, score[j] *= scale);
      }
      for (int j = 0; j < keys; ++j) {
        sum += std::exp(score[j] - largest);
        delta += std::exp(score[j] - largest) * dP[j];
      }
      delta /= sum;
      const float L = largest + std::log(sum);
      for (int j = 0; j < keys; ++j) {
        const float p = rounded(std::exp(score[j] - L), half_p);
        const float before = wrong.scale_first ? scale : 1 / unit;
        const float ds = rounded(p * ((dP[j] - delta) * before), half_p) * (scale / before);
        for (int c = 0; c < s.D; ++c) {
          add(dq[at(i) + c], ds * to_float(in.k[at(j) + c]));
          add(dk[at(j) + c], ds * to_float(in.q[at(i) + c]));
          add(dv[at(j) + c], p * to_float(in.dout[at(i) + c]));
        }
      }
    }
  for (const auto& [from, to] : {std::pair(&dq, &g.dq), {&dk, &g.dk}, {&dv, &g.dv}})
    for (const float x : *from) to->push_back(to_float(to_fp16(x)));
  return g;
}

struct Found {
  std::size_t outside = 0;
  double worst = 0;  // of the bound, at its largest
};
Found compare(const Expected& e, const std::vector<double>& got) {
  Found found;
  for (std::size_t i = 0; i < got.size(); ++i) {
    found.outside += !is_right(e, i, float(got[i]));
    found.worst = std::max(found.worst, std::abs(got[i] - e.value[i]) / e.allowed[i]);
  }
  return found;
}

std::size_t unbounded(const std::vector<Expected>& all) {
  std::size_t count = 0;
  for (const Expected& g : all) count += std::size_t(std::ranges::count(g.allowed, INFINITY));
  return count;
}

TEST_SUITE("backward bound") {
  TEST_CASE("the cheapest cases are the first by cost, and one whose queries a stage may split") {
    const auto cost = [](const Case& c) { return double(c.shape.rows()) * c.shape.S * c.shape.D; };
    const std::vector<Case> all = backward_cases(1, false);
    std::vector<Case> few = all;
    leave_cheapest(few, cost, 10);
    REQUIRE(few.size() == 11);
    CHECK(std::ranges::is_sorted(few, {}, cost));
    const Shape& split = few.back().shape;  // four tiles of 64 queries for two blocks of 128 keys, of two heads
    CHECK((split.B * split.H == 2 && split.D == 128 && split.S > 192 && split.causal));
    for (const Case& c : all) CHECK((cost(c) >= cost(few[9]) || std::ranges::count(few, c.shape, &Case::shape) > 0));
  }

  TEST_CASE("a kernel in fp32, with P and dS in fp16 or not, is within the bound and uses a part of it") {
    for (const bool half_p : {false, true})
      for (const Family family : {Family::unit, Family::peaked, Family::offset, Family::swamped, Family::matched})
        for (const bool causal : {false, true}) {
          const Shape shape{1, 2, 60, 64, causal};
          const Inputs in = make_backward_inputs(family, shape, 1);
          const Gradients got = in_fp32(shape, 0.125f, in, half_p);
          const std::vector<Expected> e = expected_backward(shape, 0.125, in, half_p);
          CAPTURE(name(family));
          CAPTURE(half_p);
          CHECK(unbounded(e) == 0);
          for (const auto& [expected, gradient] : {std::pair(&e[0], &got.dq), {&e[1], &got.dk}, {&e[2], &got.dv}}) {
            const Found found = compare(*expected, *gradient);
            CHECK(found.outside == 0);
            if (family == Family::unit) CHECK(found.worst > (half_p ? 0.02 : 0.1));
          }
        }
  }

  TEST_CASE("halves without the allowance, and sums in fp16, are outside") {
    const Shape shape{1, 1, 100, 64, true};
    const Inputs in = make_backward_inputs(Family::unit, shape, 1);
    const std::vector<Expected> tight = expected_backward(shape, 0.125, in, false);
    const Gradients halves = in_fp32(shape, 0.125f, in, true);
    CHECK(compare(tight[2], halves.dv).outside > 0);
    CHECK(compare(tight[2], in_fp32(shape, 0.125f, in, false, {.fp16_sums = true}).dv).outside > 100);
  }

  TEST_CASE("magnified: finite gradients of dS beyond a half, which a unit makes right, and a bound that tells") {
    std::size_t cases = 0, need_unit = 0, scaled_first = 0;
    for (const Case& c : backward_cases(1, false)) {
      const Magnitudes& by = c.magnitudes;
      if (by.k == 1 && by.v == 1 && by.dout == 1) continue;
      ++cases;
      CAPTURE(cases);
      const Inputs in = make_backward_inputs(c.family, c.shape, c.seed, c.amplitude, by);
      const std::vector<Expected> e = expected_backward(c.shape, scale_of(c), in, true);
      CHECK(unbounded(e) == 0);
      double largest = 0;
      std::mutex one_head;  // heads come from several threads
      for_backward_heads(c.shape, 1, in.q, in.k, in.v, in.dout, Hidden::left_out, [&](BackwardHead& h) {
        const std::lock_guard guard(one_head);
        for (std::size_t i = 0; i < h.dP.size(); ++i)
          largest = std::max(largest, std::abs(h.dP[i] - h.delta[i / std::size_t(h.S)]));
      });
      // As a kernel may choose it, of a bound that is somewhat larger.
      const float unit = float(std::exp2(std::max(0.0, std::floor(std::log2(largest)) - 14)));
      const Gradients one = in_fp32(c.shape, scale_of(c), in, true),
                      got = in_fp32(c.shape, scale_of(c), in, true, {}, unit),
                      first = in_fp32(c.shape, scale_of(c), in, true, {.scale_first = true});
      std::size_t outside = 0, without = 0, with_scale = 0, told = 0;
      for (const auto& [expected, gradient] :
           {std::pair(&e[0], &Gradients::dq), {&e[1], &Gradients::dk}, {&e[2], &Gradients::dv}}) {
        outside += compare(*expected, got.*gradient).outside;
        without += compare(*expected, one.*gradient).outside;
        with_scale += compare(*expected, first.*gradient).outside;
        const std::vector<double>&value = expected->value, &allowed = expected->allowed;
        std::size_t finite = 0;
        for (std::size_t i = 0; i < value.size(); ++i)
          finite += std::abs(value[i]) < 65520, told += allowed[i] < 0.1 * std::abs(value[i]);
        CHECK(double(finite) > 0.9 * double(value.size()));
        if (gradient == &Gradients::dk) CHECK(told > value.size() / 100);  // of dQ and dK
      }
      CHECK(outside == 0);
      need_unit += without > 0, scaled_first += with_scale > 0;
    }
    CHECK(cases == 11);
    CHECK(need_unit == 10);
    CHECK(scaled_first == 4);  // rounding scale dS is no answer
  }

  TEST_CASE("the unit of a head with one row of dO that is much longer than the others is allowed for") {
    const Shape shape{1, 1, 130, 64, false};
    Inputs in = make_backward_inputs(Family::unit, shape, 1, 1, {.dout = 0x1p-10});
    for (int c = 0; c < shape.D; ++c)
      in.dout[in.dout.size() - 1 - std::size_t(c)] = to_fp16(c % 3 ? 60000.0f : -60000.0f);
    const std::vector<Expected> e = expected_backward(shape, 0.125, in, true);
    CHECK(compare(e[0], in_fp32(shape, 0.125f, in, true, {}, 256).dq).outside == 0);
    CHECK(compare(e[0], in_fp32(shape, 0.125f, in, true, {}, 8192).dq).outside > 0);
  }

  TEST_CASE("NaN, infinities and overflow") {
    Expected e{{1, NAN, INFINITY, 65530, 2}, {0.1, 0.1, 0.1, 40, 0.1}, {0, 0, 0, INFINITY, 0}};
    CHECK(is_right(e, 0, 1.05f));
    CHECK_FALSE(is_right(e, 0, 1.2f));
    CHECK_FALSE(is_right(e, 0, NAN));
    CHECK_FALSE(is_right(e, 0, INFINITY));
    CHECK(is_right(e, 1, NAN));
    CHECK_FALSE(is_right(e, 1, 0));
    CHECK(is_right(e, 2, INFINITY));
    CHECK_FALSE(is_right(e, 2, -INFINITY));
    CHECK(is_right(e, 3, INFINITY));
    CHECK_FALSE(is_right(e, 3, -INFINITY));
    e.also = {5, NAN, INFINITY, INFINITY, NAN};
    CHECK(is_right(e, 4, NAN));
    CHECK(is_right(e, 4, 2.05f));
    CHECK_FALSE(is_right(e, 0, 5));
    CHECK_FALSE(is_right(e, 0, NAN));
  }

  TEST_CASE("scores beyond the first order have no bound, and must still be finite") {
    const Shape shape{1, 1, 8, 64, false};
    const Inputs in = make_backward_inputs(Family::unit, shape, 1, 1000);
    const std::vector<Expected> e = expected_backward(shape, 0.125, in, false);
    CHECK(unbounded(e) == 3 * shape.elements());
    CHECK(is_right(e[0], 0, 12345.0f));
    CHECK_FALSE(is_right(e[0], 0, NAN));
    CHECK_FALSE(is_right(e[0], 0, INFINITY));
  }
}

}  // namespace
}  // namespace lab
