// The verdict on a launch: an output against its bound, and what else a launch did.
#include <doctest/doctest.h>

#include <limits>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/launch.hpp"

namespace {
using namespace lab;

constexpr Shape SHAPE{1, 2, 4, 64, false};
constexpr double INF = std::numeric_limits<double>::infinity(), NOT = std::numeric_limits<double>::quiet_NaN();

// Rows 1 and 2 of head 1, all of them 1 +- 0.5, but for some.
const RowBlock ROWS{1, 1, 2};
std::size_t at(int row, int col) { return std::size_t(4 + row) * 64 + std::size_t(col); }
struct Compared {
  std::vector<fp16> out = std::vector<fp16>(SHAPE.elements(), FP16_NAN);
  Expected right{std::vector<double>(128, 1), std::vector<double>(128, 0.5), {}};
  Compared() { std::fill(out.begin() + long(at(1, 0)), out.begin() + long(at(3, 0)), to_fp16(1.25f)); }
  Comparison sum(const Holding& holding = {}) const {
    Comparison c;
    compare(SHAPE, {&ROWS, 1}, out, right, c, holding);
    return c;
  }
};

TEST_CASE("comparison: each element of the rows is held to its own bound") {
  Compared c;
  CHECK((c.sum().good() && c.sum().compared == 128 && c.sum().worst_ratio == 0.5 && c.sum().max_diff == 0.25));
  CHECK(lines_of(c.sum()).empty());
  c.right.allowed[5] = 0.2;
  c.out[at(2, 7)] = to_fp16(3);
  const Comparison two = c.sum();
  CHECK((two.outside == 2 && two.max_diff == 2 && two.worst_ratio == 4 && two.nans == 0));
  REQUIRE((two.first && two.worst));
  CHECK((two.first->h == 1 && two.first->row == 1 && two.first->col == 5 && two.first->allowed == 0.2));
  CHECK((two.worst->row == 2 && two.worst->col == 7 && two.worst->got == 3 && two.worst->expected == 1));
  const auto half = [](int row, int) { return row == 1; };
  CHECK((c.sum({half}).outside == 1 && c.sum({half}).compared == 64));
}

TEST_CASE("comparison: a map of one colour is told in numbers") {
  std::string marks(SHAPE.elements(), '.');
  for (int col = 0; col < 64; col += 2) marks[at(1, col)] = marks[at(3, col)] = '#';
  CHECK((map_of(SHAPE, marks, "key") ==
         std::vector<std::string>{"head 1, rows 0..3 of 4: wrong elements in 2 of 4 rows and 32 of 64 columns"}));
  marks[at(1, 6)] = marks[at(3, 6)] = '.';
  CHECK(map_of(SHAPE, marks, "key").size() == 2);
}

TEST_CASE("comparison: NaN, infinities and what was never written") {
  Compared c;
  c.out[at(1, 3)] = FP16_NAN;
  CHECK((c.sum().outside == 1 && c.sum().nans == 1 && c.sum().poison == 1));
  CHECK(std::isinf(c.sum().largest()));
  c.right.also.assign(128, NOT);
  CHECK(c.sum().outside == 1);  // never written is not right, though NaN is
  c.right.also.clear();
  c.out[at(1, 3)] = fp16{0x7E00};
  CHECK((c.sum().outside == 1 && c.sum().poison == 0));
  c.right.also.assign(128, NOT);
  CHECK(c.sum().good());
  c.right.also.clear();
  c.right.value[3] = NOT;
  CHECK(c.sum().good());
  c.right.value[3] = INF;
  CHECK(c.sum().outside == 1);
  c.out[at(1, 3)] = fp16{0x7C00};
  CHECK(c.sum().good());
  c.right.value[3] = -INF;
  CHECK(c.sum().outside == 1);
  c.right.value[3] = NOT, c.out[at(1, 3)] = FP16_NAN;
  CHECK_FALSE(c.sum().good());
  CHECK(c.sum({nullptr, true}).good());
}

TEST_CASE("comparison: bits, and what was written elsewhere") {
  Compared c;
  std::vector<fp16> other = c.out;
  REQUIRE(written_rows(SHAPE, c.out).size() == 1);
  CHECK((written_rows(SHAPE, c.out)[0].head == 1 && written_rows(SHAPE, c.out)[0].first == 1));
  CHECK(written_rows(SHAPE, c.out)[0].rows == 2);
  other[at(1, 9)].bits ^= 1, other[at(0, 3)] = to_fp16(0);
  const Differing d = differing(SHAPE, {&ROWS, 1}, c.out, other);
  CHECK((d.compared == 128 && d.differing == 1 && d.first == at(1, 9)));
  CHECK(place_of(SHAPE, d.first) == "(b,h,row,col) = (0,1,1,9)");
  CHECK((written_rows(SHAPE, other).size() == 1 && written_rows(SHAPE, other)[0].rows == 3));
}

TEST_CASE("faults: failures, findings, the number of blocks and strays, and a deadlock said once") {
  Ran ran;
  ran.report.blocks_run = 3;
  CHECK(faults_of(ran).empty());
  CHECK(faults_of(ran, 3).empty());
  REQUIRE(faults_of(ran, 4).size() == 1);
  ran.strays = {{Evidence::changed_input, "changed its input q"}};
  ran.findings.resize(2);
  ran.findings[0].kind = Finding::Kind::deadlock;
  const auto found = faults_of(ran);
  REQUIRE(found.size() == 3);
  CHECK((found[0].evidence == Evidence::finding && !found[0].again && found[2].evidence == Evidence::changed_input));
  ran.finished = cudaErrorLaunchTimeout;
  const auto hung = faults_of(ran, 4);
  REQUIRE(hung.size() == 4);
  CHECK((hung[0].evidence == Evidence::failure && hung[1].again && !hung[2].again));
  ran = {};
  ran.launched = cudaErrorInvalidValue;
  CHECK(faults_of(ran).at(0).evidence == Evidence::failure);
}

}  // namespace
