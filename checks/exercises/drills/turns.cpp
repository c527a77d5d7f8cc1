// Inputs of `turns`, and the right answer: sums of positive scores; and that the warpgroups alternate.
#include <algorithm>

#include "checks/exercises/drills/drill.hpp"

__global__ void mechanism(const half* in, int tiles, float* out);

namespace {

constexpr std::size_t TILE = 64 * 64;
constexpr int PRODUCTS = 4 * 4;  // of one warpgroup and tile, told by its four warps

struct Warp {
  int under_way = 0, turns = 0;
  bool has_turn = false;
};

std::string what_is_wrong(int tiles, std::span<const lab::ExecEvent> events) {
  using Kind = lab::ExecEvent::Kind;
  Warp warps[8];
  int issued = 0;
  for (const lab::ExecEvent& e : events) {
    const int group = e.warp / 4;
    Warp& warp = warps[e.warp];
    const std::string warp_name = "warp " + std::to_string(e.warp);
    if (e.kind == Kind::wgmma_wait) warp.under_way = std::min(warp.under_way, e.bytes);
    if (e.kind == Kind::wgmma_commit) ++warp.under_way;
    // The very last turn leads nowhere.
    if (e.kind == Kind::bar_pass) warp.has_turn = ++warp.turns < tiles || group == 0;
    if (e.kind == Kind::bar_arrive && e.byte == 0) warp.has_turn = false;
    if (e.kind == Kind::write && warp.has_turn)
      return warp_name + " adds to the sums in its turn (line " + std::to_string(e.line) +
             "); the turn is for products";
    if (e.kind != Kind::wgmma_issue) continue;
    if (issued++ / PRODUCTS % 2 != group)
      return warp_name + " begins product " + std::to_string(issued / PRODUCTS / 2) + " of its warpgroup out of turn";
    for (int other = 4 * (1 - group); other < 4 * (1 - group) + 4; ++other)
      if (warps[other].under_way > 0)
        return warp_name + " begins a product, and one of warp " + std::to_string(other) + " is still under way";
  }
  return "";
}

lab::Drill of(int tiles) {
  lab::Drill d;
  d.name = lab::number_of(tiles, "tile");
  d.in = lab::small_numbers((2 + unsigned(tiles)) * TILE);
  const std::vector<float> x = lab::as_floats(d.in);
  for (std::size_t row = 0; row < 128; ++row) {
    float sum = 0;
    for (std::size_t key = 0; key < 64 * std::size_t(tiles); ++key) {
      float score = 0;
      for (std::size_t i = 0; i < 64; ++i) score += x[row * 64 + i] * x[2 * TILE + key * 64 + i];
      if (score > 0) sum += score;
    }
    d.right.push_back(sum);
  }
  on_input(d, mechanism, {256, 4 * TILE * sizeof(half) + 512}, tiles);
  d.order = [tiles](std::span<const lab::ExecEvent> events) { return what_is_wrong(tiles, events); };
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() { return {of(1), of(2)}; }
