// Words for shapes are refused in one line, and read as they are written.
#include <doctest/doctest.h>

#include "checks/bench/shapes.hpp"
#include "reference/bad_input.hpp"

namespace {
using namespace lab;
}  // namespace

TEST_CASE("bench: words for shapes") {
  for (const char* words : {"", "1,8,512", "1,8,512,64,casual", "1,8,512,96", "0,8,512,64", "1,8,512,64;", "acceptanec",
                            "1, 8,512,64", "1,8,512,64,causal,1", "-1,8,512,64", "99999999999,8,512,64"}) {
    CAPTURE(words);
    CHECK_THROWS_AS(bench_shapes(words), BadInput);
  }
  CHECK(bench_shapes("acceptance").size() == 6);
  CHECK(bench_shapes("all").size() == 10);
  CHECK(bench_shapes("sweep").size() == 160);
  CHECK(bench_shapes("1,8,512,64;2,8,2048,128,causal")[1] == Shape{2, 8, 2048, 128, true});
  for (const Shape& shape : bench_shapes("all")) CHECK(bench_shapes(shape_word(shape))[0] == shape);
}
