// ex2, rcp, __expf and fmaf on the CPU: the GPU's bits, and what is rounded where.
#include "common/emulator/special_functions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "checks/probes/special_functions.hpp"
#include "checks/tests/test_rounding_kernels.hpp"

using namespace lab;
using special_functions::bits;

namespace {

constexpr float INF = std::numeric_limits<float>::infinity();
constexpr float SUBNORMAL = 0x1.fffffcp-127f, SMALLEST = 0x1p-126f;
constexpr std::uint32_t NAN_BITS = 0x7FFFFFFFu;

// Written by `make probe what=ex2 sample=...`.
const char* const SPECIAL_FUNCTIONS_SAMPLE = "reference/special_functions_sample.txt";

}  // namespace

TEST_CASE("special functions: the sample of a GPU's results, bit for bit") {
  namespace sf = special_functions;
  std::ifstream file(SPECIAL_FUNCTIONS_SAMPLE);
  REQUIRE(file.good());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (line[0] != '#') lines.push_back(line + '\n');
  REQUIRE(lines.size() == sf::FAMILIES * sf::FUNCTIONS);
  std::size_t inputs_seen = 0;
  for (int family = 0; family < sf::FAMILIES; ++family) {
    const std::vector<float> inputs = sf::sampled_inputs(sf::families[family]);
    inputs_seen += inputs.size();
    for (int f = 0; f < sf::FUNCTIONS; ++f) {
      std::vector<std::uint32_t> results;
      for (const float x : inputs) results.push_back(sf::functions[f].on_cpu(x));
      const std::string& expected = lines[std::size_t(family * sf::FUNCTIONS + f)];
      const std::string what = std::string(sf::functions[f].name) + " of " + sf::families[family].name;
      CHECK_MESSAGE(sf::sample_line(family, f, results) == expected, what);
    }
  }
  CHECK(inputs_seen >= 100'000);
}

TEST_CASE("special functions: ex2 of zeros, subnormals, infinities and NaN, and where results end") {
  for (const float x : {0.0f, -0.0f, SUBNORMAL, -SUBNORMAL, -0x1p-24f}) CHECK(bits(ex2_approx_ftz(x)) == bits(1.0f));
  CHECK(bits(ex2_approx_ftz(-0x1.000002p-23f)) != bits(1.0f));  // one step below 0, complemented
  CHECK(ex2_approx_ftz(INF) == INF);
  CHECK(ex2_approx_ftz(128.0f) == INF);
  CHECK(ex2_approx_ftz(std::nextafter(128.0f, 0.0f)) < INF);
  CHECK(bits(ex2_approx_ftz(-126.0f)) == bits(SMALLEST));
  for (const float x : {std::nextafter(-126.0f, -INF), -127.0f, -INF}) CHECK(bits(ex2_approx_ftz(x)) == bits(0.0f));
  for (const std::uint32_t nan : {0x7FC00000u, 0xFFC00001u, 0x7F800001u})
    CHECK(bits(ex2_approx_ftz(std::bit_cast<float>(nan))) == NAN_BITS);
}

TEST_CASE("special functions: rcp of zeros, subnormals, infinities and NaN, and where results end") {
  for (const float sign : {1.0f, -1.0f}) {
    for (const float x : {0.0f, SUBNORMAL, 0x1p-149f}) CHECK(rcp_approx_ftz(sign * x) == sign * INF);
    CHECK(bits(rcp_approx_ftz(sign * INF)) == bits(sign * 0.0f));
    CHECK(rcp_approx_ftz(sign * SMALLEST) == sign * 0x1p126f);
    CHECK(rcp_approx_ftz(sign * 0x1p126f) == sign * SMALLEST);
    CHECK(bits(rcp_approx_ftz(sign * 0x1.000002p126f)) == bits(sign * 0.0f));  // subnormal
    CHECK(bits(rcp_approx_ftz(sign * 0x1p127f)) == bits(sign * 0.0f));
  }
  CHECK(bits(rcp_approx_ftz(std::bit_cast<float>(0xFFC00001u))) == NAN_BITS);
}

TEST_CASE("special functions: __expf below 2^-126 is a square, and may be subnormal") {
  const float x = -90.0f, root = ex2_approx_ftz(x * 1.44269504f * 0.5f);
  CHECK(bits(fast_exp(x)) == bits(root * root));
  CHECK(fast_exp(x) > 0.0f);
  CHECK(fast_exp(x) < SMALLEST);
  CHECK(fast_exp(-104.0f) == 0.0f);
  CHECK(fast_exp(-INF) == 0.0f);
  CHECK(fast_exp(89.0f) == INF);
  CHECK(bits(fast_exp(std::bit_cast<float>(0xFFC00000u))) == NAN_BITS);
}

TEST_CASE("rounding: a product and a sum are rounded twice in kernels, fmaf once") {
  using namespace rounding_kernels;
  // a a is 1 + 2^-11 + 2^-24: exactly between two floats.
  const float a = 1.0f + 0x1p-12f, c = -(1.0f + 0x1p-11f);
  CHECK(product_and_sum(a, a, c) == 0.0f);
  CHECK(fused(a, a, c) == 0x1p-24f);
  float many[8];
  for (float& x : many) x = c;
  sums(many, {a, a, a, a, a, a, a, a}, a);
  for (const float x : many) CHECK(x == 0.0f);
  // 97 * 172961 is 2^24 + 1, between two floats; a sum in double precision would lose c.
  CHECK(fused(97.0f, 172961.0f, 0x1p-37f) == 16777218.0f);
  CHECK(fused(97.0f, 172961.0f, -0x1p-37f) == 16777216.0f);
  CHECK(fused(0x1p-100f, 0x1p-49f, 0.0f) == 0x1p-149f);
}
