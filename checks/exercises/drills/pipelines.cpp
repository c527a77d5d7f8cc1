// Drills of pipelines: products and copies under way while others are waited for, and who requests them when.
#include <algorithm>
#include <cstring>

#include "checks/exercises/drills/drill.hpp"

namespace lab {
namespace {

using Kind = ExecEvent::Kind;
using Events = std::span<const ExecEvent>;

// "1 tile", "3 tiles".
std::string number_of(int count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// Warp 4 requests all tiles, each by `copies` copies, and runs ahead: before the first slot is given back it has requested a tile for
// each of three slots, as far as there are tiles.
std::string producer_wrong(int tiles, int copies, Events events) {
  int requested = 0, given_back = 0;
  for (const ExecEvent& e : events) {
    const std::string warp = "warp " + std::to_string(e.warp);
    if (e.kind == Kind::tma_issue && e.warp != 4) return warp + " requests a tile; warp 4 is to request all";
    if (e.kind == Kind::mbarrier_pass && e.warp == 4 && std::strcmp(e.array, "full") == 0)
      return warp + " waits at `full` until a tile has landed (line " + std::to_string(e.line) +
             "), so only one is under way; the producer waits for `empty` alone";
    requested += e.kind == Kind::tma_issue;
    const int wanted = std::min(tiles, 3);
    if (e.kind != Kind::mbarrier_complete || std::strcmp(e.array, "empty") != 0) continue;
    if (given_back++ == 0 && requested < copies * wanted)
      return "when the first slot is given back, " + std::to_string(requested / copies) +
             " tiles have been requested; there are slots for " + std::to_string(wanted);
  }
  return tiles > 1 && given_back == 0 ? "no slot is given back at `empty`" : "";
}

// How warp 0's products overlap: waits that leave one of two wgmma groups under way, and the most groups at once.
struct Overlap {
  int waits = 0, most = 0;
};
Overlap overlap_of(Events events) {
  Overlap overlap;
  int under_way = 0;
  for (const ExecEvent& e : events) {
    if (e.warp != 0) continue;
    if (e.kind == Kind::wgmma_commit) overlap.most = std::max(overlap.most, ++under_way);
    if (e.kind != Kind::wgmma_wait) continue;
    overlap.waits += under_way == 2 && e.bytes == 1;
    under_way = std::min(under_way, e.bytes);
  }
  return overlap;
}

// "" if there are `wanted` such waits: one for each `of` (a step, a tile) but the first.
std::string too_little(const Overlap& overlap, int wanted, const std::string& of) {
  if (overlap.waits >= wanted) return "";
  return "a wait leaves one of two groups under way " + std::to_string(overlap.waits) + " times; it must " +
         std::to_string(wanted) + " times, once for each " + of + " but the first";
}

// While lane 0 reads a tile, but for the last, a copy of its own is under way.
std::string copies_order(int tiles, Events events) {
  std::vector<bool> groups{false};  // not yet waited for, the last one still open: whether it holds a copy
  int reads = 0, under_copy = 0;
  for (const ExecEvent& e : events) {
    if (e.lane != 0) continue;
    if (e.kind == Kind::copy) groups.back() = true;
    if (e.kind == Kind::commit) groups.push_back(false);
    if (e.kind == Kind::wait && int(groups.size()) - 1 > e.bytes)
      groups.erase(groups.begin(), groups.end() - 1 - e.bytes);
    if (e.kind != Kind::read || std::strcmp(e.array, "slots") != 0) continue;
    ++reads, under_copy += std::ranges::count(groups, true) > 0;
  }
  if (under_copy * tiles >= reads * (tiles - 1)) return "";
  return "a copy is under way in " + std::to_string(under_copy) + " of lane 0's " + std::to_string(reads) +
         " reads; it must be in all but those of the last tile";
}

// Once for each tile but the first: with two groups under way, the wait for the older one alone.
std::string chain_order(int tiles, Events events) {
  const Overlap overlap = overlap_of(events);
  if (overlap.most > 2) return std::to_string(overlap.most) + " groups are under way at once; two are asked for";
  return too_little(overlap, tiles - 1, "tile");
}

std::string producer_order(int steps, Events events) {
  if (const std::string wrong = producer_wrong(steps, 2, events); !wrong.empty()) return wrong;
  return too_little(overlap_of(events), steps - 1, "step");
}

std::string turns_order(int tiles, Events events) {
  constexpr int PRODUCTS = 4 * 4;  // of one warpgroup and tile, told by its four warps
  struct {
    int under_way = 0, turns = 0;
    bool has_turn = false;
  } warps[8];
  int issued = 0;
  for (const ExecEvent& e : events) {
    const int group = e.warp / 4;
    auto& warp = warps[e.warp];
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

}  // namespace

extern "C" Launches drill_chain() {  // the sum of f(Q K^T) V over tiles
  constexpr int N = 64, TILE = N * N;
  return of_each({1, 4}, [](int tiles) {
    Drill d{.name = number_of(tiles, "tile"),
            .size = {tiles},
            .in = small_numbers((1 + 2 * tiles) * TILE),
            .right = std::vector<float>(TILE),
            .rows = N,
            .columns = N,
            .order = [=](Events events) { return chain_order(tiles, events); }};
    const std::vector<float>& x = d.in;
    for (int t = 0; t < tiles; ++t)
      for (int row = 0; row < N; ++row)
        for (int key = 0; key < N; ++key) {
          float score = 0;
          for (int k = 0; k < N; ++k) score += x[row * N + k] * x[(1 + 2 * t) * TILE + key * N + k];
          for (int c = 0; c < N && score > 0; ++c) d.right[row * N + c] += x[(2 + 2 * t) * TILE + key * N + c];
        }
    return d;
  });
}

extern "C" Launches drill_copies() {  // sums over rows
  Drill d{.in = small_numbers(4 * 32 * 8), .right = std::vector<float>(32), .order = [](Events events) {
            return copies_order(4, events);
          }};
  for (int i = 0; i < 4 * 32 * 8; ++i) d.right[i / 8 % 32] += d.in[i];
  return {d};
}

extern "C" Launches drill_producer() {  // a 64 x 64 product
  return of_each({1, 5}, [](int steps) {
    Drill d{.name = number_of(steps, "step"),
            .size = {steps},
            .in = small_numbers(2 * 64 * 64 * steps),
            .order = [=](Events events) { return producer_order(steps, events); }};
    multiply(d, 64, 64, 64 * steps, true);
    return d;
  });
}

extern "C" Launches drill_ring() {  // the sum of all tiles
  constexpr int TILE = 32 * 64;
  return of_each({1, 3, 8}, [](int tiles) {
    Drill d{.name = number_of(tiles, "tile"),
            .size = {tiles},
            .in = small_numbers(tiles * TILE),
            .right = std::vector<float>(TILE),
            .rows = 32,
            .columns = 64,
            .order = [=](Events events) { return producer_wrong(tiles, 1, events); }};
    for (int i = 0; i < tiles * TILE; ++i) d.right[i % TILE] += d.in[i];
    return d;
  });
}

extern "C" Launches drill_shared_tile() {  // sums over all tiles, each block's of other columns
  constexpr int TILE = 64 * 64;
  return of_each({1, 5}, [](int tiles) {
    Drill d{.name = number_of(tiles, "tile"),
            .size = {tiles},
            .in = small_numbers(tiles * TILE),
            .right = std::vector<float>(2 * 128)};
    for (int i = 0; i < tiles * TILE; ++i) d.right[i % 2 * 128 + i % TILE / 32] += d.in[i];
    return d;
  });
}

extern "C" Launches drill_turns() {  // sums of positive scores
  constexpr int TILE = 64 * 64;
  return of_each({1, 2}, [](int tiles) {
    Drill d{.name = number_of(tiles, "tile"),
            .size = {tiles},
            .in = small_numbers((2 + tiles) * TILE),
            .order = [=](Events events) { return turns_order(tiles, events); }};
    const std::vector<float>& x = d.in;
    for (int row = 0; row < 128; ++row) {
      float sum = 0;
      for (int key = 0; key < 64 * tiles; ++key) {
        float score = 0;
        for (int i = 0; i < 64; ++i) score += x[row * 64 + i] * x[2 * TILE + key * 64 + i];
        sum += std::max(score, 0.0f);
      }
      d.right.push_back(sum);
    }
    return d;
  });
}

}  // namespace lab
