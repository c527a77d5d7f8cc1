// Inputs of `ring`, and the right answer: the sum of all tiles; and how far the asking warp must run ahead.
#include <algorithm>
#include <cstring>

#include "checks/exercises/drills/drill.hpp"

__global__ void mechanism(lab::TensorMap map, int tiles, float* out);

namespace {

constexpr int ROWS = 32, COLUMNS = 64, TILE = ROWS * COLUMNS, SLOTS = 3, PRODUCER = 4;

// Before the first slot is given back all of them have been asked for, as far as there are tiles; and one warp asks.
std::string what_is_wrong(int tiles, std::span<const lab::ExecEvent> events) {
  using Kind = lab::ExecEvent::Kind;
  if (const std::string wrong = lab::asked_elsewhere(events, PRODUCER); !wrong.empty()) return wrong;
  int asked = 0;
  for (const lab::ExecEvent& e : events) {
    asked += e.kind == Kind::tma_issue;
    if (e.kind != Kind::mbarrier_complete || std::strcmp(e.array, "empty") != 0) continue;
    const int wanted = std::min(tiles, SLOTS);
    return asked >= wanted ? ""
                           : "when the first slot is given back, " + std::to_string(asked) +
                                 " tiles have been asked for; there are slots for " + std::to_string(wanted);
  }
  return "no slot is given back at `empty`";
}

lab::Drill of(int tiles) {
  lab::Drill d;
  d.name = lab::number_of(tiles, "tile");
  d.in = lab::small_numbers(tiles * TILE);
  for (int i = 0; i < TILE; ++i) {
    float sum = 0;
    for (int t = 0; t < tiles; ++t) sum += lab::to_float(d.in[std::size_t(t * TILE + i)]);
    d.right.push_back(sum);
  }
  on_map(d, mechanism, lab::matrix_of(std::size_t(ROWS * tiles), COLUMNS, ROWS, COLUMNS, lab::Swizzle::none),
         {160, SLOTS * TILE * sizeof(half) + 192}, tiles);
  d.order = [tiles](std::span<const lab::ExecEvent> events) { return what_is_wrong(tiles, events); };
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() { return {of(1), of(3), of(8)}; }
