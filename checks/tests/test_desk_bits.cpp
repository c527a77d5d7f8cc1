// How digests of outputs are held to a record of them.
#include <doctest/doctest.h>

#include "checks/desk/records/records.hpp"

using namespace lab::desk;
using lab::BadInput;

namespace {
const std::string A = "0123456789abcdef unit (1,2,17,64) scale 0.125\n", B = "fedcba9876543210 unit (1,1,64,64)\n";
}

TEST_CASE("bits: a line is a digest and a case; anything else, or a case twice, is refused") {
  const Json digests = digests_in(A + B);
  CHECK(digests.size() == 2);
  CHECK(digests.at("unit (1,2,17,64) scale 0.125") == "0123456789abcdef");
  CHECK_THROWS_AS(digests_in(A + A), BadInput);
  for (const char* odd : {"0123456789abcde unit\n", "0123456789abcdef\n", "0123456789abcdefunit\n", "a warning\n"})
    CHECK_THROWS_AS(digests_in(odd), BadInput);
}

TEST_CASE("bits: a case that differs, is not recorded, or is recorded only, is no pass") {
  const Json both = digests_in(A + B), one = digests_in(A);
  CHECK(compare_bits(both, both, true).good());
  CHECK(compare_bits(both, both, true).equal == 2);
  const BitsVerdict other = compare_bits(digests_in("1" + A.substr(1) + B), both, true);
  CHECK(other.equal == 1);
  REQUIRE(other.lines.size() == 1);
  CHECK(other.lines[0] == "other bits: unit (1,2,17,64) scale 0.125");
  const BitsVerdict unknown = compare_bits(one, both, true);
  REQUIRE(unknown.lines.size() == 1);
  CHECK(unknown.lines[0] == "not in the record: unit (1,1,64,64)");
  const BitsVerdict gone = compare_bits(both, one, true);
  REQUIRE(gone.lines.size() == 1);
  CHECK(gone.lines[0] == "in the record, and no case: unit (1,1,64,64)");
  CHECK(compare_bits(both, one, false).good());  // a part of the cases was run
  CHECK_FALSE(compare_bits(both, Json::object(), false).good());
}

TEST_CASE("bits: of many differences the first are named") {
  std::string before, after;
  for (char c = '0'; c <= '9'; ++c) {
    before += std::string("0123456789abcdef case ") + c + "\n";
    after += std::string("0123456789abcdee case ") + c + "\n";
  }
  const BitsVerdict verdict = compare_bits(digests_in(before), digests_in(after), true);
  CHECK(verdict.equal == 0);
  REQUIRE(verdict.lines.size() == 4);
  CHECK(verdict.lines[3] == "and 7 more of these");
}

TEST_CASE("bits: a record is read as it was written") {
  const Json stages = {{"v1_scalar", digests_in(A + B)}};
  const Json read = parse_json(bits_json({{"gpu", "NVIDIA H200"}}, stages), "a test");
  CHECK(read.at("schema") == "bits-1");
  CHECK(read.at("gpu") == "NVIDIA H200");
  CHECK(read.at("stages") == stages);
}
