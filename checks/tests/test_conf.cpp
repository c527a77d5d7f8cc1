// stage.conf and its like.
#include <doctest/doctest.h>

#include "common/conf.hpp"
#include "reference/bad_input.hpp"

using namespace lab;

TEST_CASE("conf: quotes, bare values and comments; a wrong line is named") {
  const auto conf =
      parse_conf("# head\nidea=\"one = two # three\"  # behind\nregisters=48 # per thread\nempty=\"\"\n\n", "x");
  CHECK(conf.at("idea") == "one = two # three");
  CHECK(conf.at("registers") == "48");
  CHECK(conf.at("empty") == "");
  CHECK(conf.size() == 3);
  for (const char* text :
       {"a=\"1\"\nnonsense\n", "a=\"1\"\nb=\"open\n", "a=\"1\"\nb=\"x\" y\n", "a=1\na=2\n", "a=1\n=2\n"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_conf(text, "s.conf"), doctest::Contains("s.conf:2: "), BadInput);
  }
}
