// Which tiles of a launcher a problem uses, and what is said of one that nothing uses.
#include <doctest/doctest.h>

#include <set>

#include "checks/acceptance/tiles.hpp"
#include "common/attention_launch.cuh"
#include "common/backend.hpp"
#include "common/multiprocessors.hpp"

namespace {
using namespace lab;

// Tile 0 where the GPU has one multiprocessor, else 1, but never under a causal mask; 2 takes nothing that is left.
enum class Choice { one, many, nothing };
template <Choice CHOICE>
struct Picky {
  static bool takes(const Shape& shape) {
    if (CHOICE == Choice::nothing) return shape.causal && shape.S > 1'000'000;
    return shape.causal || (multiprocessors() == 1) == (CHOICE == Choice::one);
  }
  static LaunchPlan plan(const Shape&) {
    LaunchPlan plan;
    plan.tile_m = 64, plan.tile_n = 128;
    plan.counts_multiprocessors = true;
    return plan;
  }
  static cudaError_t launch(const AttentionArgs&, const LaunchPlan&) { return cudaSuccess; }
};
const StageInfo& picky() { return stage_of<Picky<Choice::one>, Picky<Choice::many>, Picky<Choice::nothing>>(); }

}  // namespace

TEST_CASE("tiles: a length is whole or ragged for both tiles, or says nothing") {
  LaunchPlan plan;
  plan.tile_m = 64, plan.tile_n = 128, plan.tile = 3;
  CHECK(use_of({1, 1, 256, 64, true}, plan) == TileUse{3, true, false});
  CHECK(use_of({1, 1, 100, 64, false}, plan) == TileUse{3, false, true});
  CHECK_FALSE(use_of({1, 1, 64, 64, false}, plan));  // of the key tile a half
}

TEST_CASE("tiles: a plan says its tile, and asks for as many multiprocessors as the caller wants") {
  const Shape shape{1, 1, 128, 64, false};
  CHECK(plan_with(picky(), shape, 1).tile == 0);
  CHECK(plan_with(picky(), shape, 4).tile == 1);
  CHECK(plan_with(picky(), shape, 0).tile == 1);
  CHECK(exec_options().multiprocessors == 0);  // as it was before
  CHECK(picky().tiles == 3);
}

TEST_CASE("tiles: the cheapest problem for each use of each tile") {
  const auto problems = tile_problems(picky());
  REQUIRE(problems.size() == 6);
  CHECK(problems.at({0, false, false}).shape == Shape{1, 1, 128, 64, false});
  CHECK(problems.at({0, false, false}).multiprocessors == 1);
  CHECK(problems.at({1, false, true}).shape == Shape{1, 1, 50, 64, false});
  CHECK(problems.at({1, false, true}).multiprocessors == 132);
  CHECK(problems.contains({0, true, true}));
  CHECK_FALSE(problems.contains({1, true, true}));
}

TEST_CASE("tiles: what did not run is named, and so is a tile that nothing chooses") {
  std::set<TileUse> ran;
  for (const auto& [use, problem] : tile_problems(picky())) ran.insert(use);
  const std::string never = "tile 2: the launcher chooses it for no problem that was tried";
  CHECK(left_out(picky(), ran) == std::vector{never});
  ran.erase({1, false, true});
  CHECK(left_out(picky(), ran) ==
        std::vector<std::string>{"tile 1, 64x128, 1 slots: not run, on a ragged length", never});
  CHECK(left_out(picky(), {}).size() == 7);
}
