// Which query tiles of a case run, and at what cost.
#include <algorithm>
#include <random>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/tiles.hpp"
#include "common/backend.hpp"
#include "common/stage.hpp"

namespace lab {
namespace {

// A cost of 1 is a 64-row tile at S=2048, D=64: 40 ms (v1) to 90 ms (v2b) of a core on the CPU backend. What
// a case may spend unless full=1: the mission shape runs whole on the notes' inputs.
constexpr double NOTES_COST = 17, CHECKED_COST = 6;  // the launch that the oracle checks
constexpr double REPEATED_COST = 0.5;                // each later one, compared bit by bit
// With turns=1, of stages whose launchers count multiprocessors a case runs whole if that costs no more than this, and of all
// stages one of the notes' if it costs no more than NOTES_COST; of any other case a sample runs.
constexpr double WHOLE_IN_TURNS = 3, SAMPLE_IN_TURNS = 1;
constexpr std::size_t FEWEST_CHECKED = 4, FEWEST_IN_TURNS = 2, FEWEST_REPEATED = 1;

// `count` of `total`, ascending: one at random from each of `count` equal runs, so that they spread over
// heads and batches; the last is always among them, and the first if there are two.
std::vector<std::uint32_t> sample(std::uint32_t total, std::size_t count, std::uint64_t seed) {
  count = std::min<std::size_t>(count, total);
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t from = total * i / count, to = total * (i + 1) / count;
    chosen.push_back(std::uint32_t(i + 1 == count ? total - 1 : i == 0 ? 0 : from + random() % (to - from)));
  }
  return chosen;
}

}  // namespace

LaunchPlan plan_for(const Case& test) { return plan_with(stage(), test.shape, test.multiprocessors); }

std::vector<Case> tile_cases(const std::vector<Case>& others, std::uint64_t seed) {
  std::set<TileUse> used;
  for (const Case& test : others)
    if (const auto use = use_of(test.shape, plan_for(test)); use && test.group != Group::far) used.insert(*use);
  std::vector<Case> cases;
  for (const auto& [use, problem] : tile_problems(stage()))
    if (!used.contains(use))
      cases.push_back({Group::tiles, problem.shape, Family::unit, seed, {}, 1, problem.multiprocessors});
  return cases;
}

Coverage coverage(const Case& test, const Tiling& tiling, const AcceptanceOptions& options) {
  const auto some_of = [&](std::uint32_t total, double cost, std::size_t fewest) {
    return sample(total, std::max(fewest, std::size_t(cost / tiling.tile_cost())), test.seed);
  };
  Coverage c;
  if (test.group == Group::far) {  // the last head's first tile and its last, and nothing before them
    c.checked = {tiling.tiles() - tiling.tiles_per_head, tiling.tiles() - 1};
    return c;
  }
  // A block may take several pieces of work one after the other, so no sample of blocks is a sample of tiles.
  const bool counted = test.multiprocessors > 0 || test.group == Group::overlap;
  const bool fewer = options.turns && can_schedule();
  const bool notes = test.group == Group::notes;
  const double whole = tiling.tiles() * tiling.tile_cost();
  double cost = notes ? NOTES_COST : fewer ? WHOLE_IN_TURNS : CHECKED_COST;
  // A launcher that counts multiprocessors runs whole cases once more, with few of them, so its stages keep those cases.
  // The others, among them the slow ones, lose nothing but tiles.
  if (fewer && (whole > cost || (!notes && !plan_for(test).counts_multiprocessors))) cost = SAMPLE_IN_TURNS;
  // Climbing rows are of three kinds, and each tile has all of them: the fewest tiles will do.
  if (test.family == Family::climbing) cost = 0;
  c.checked = options.full || counted ? sample(tiling.tiles(), tiling.tiles(), test.seed)
                                      : some_of(tiling.tiles(), cost, fewer ? FEWEST_IN_TURNS : FEWEST_CHECKED);
  if (!can_schedule() || counted) {
    c.repeated = c.checked;  // every tile runs each time
    return c;
  }
  // Even full=1 repeats a sample only, a larger one: all schedules on all tiles would take an hour.
  for (const std::uint32_t i :
       some_of(std::uint32_t(c.checked.size()), options.full ? CHECKED_COST : REPEATED_COST, FEWEST_REPEATED))
    c.repeated.push_back(c.checked[i]);
  return c;
}

std::vector<std::uint32_t> heads_that_run(const Coverage& coverage, const Tiling& tiling) {
  std::vector<std::uint32_t> heads;
  if (!can_schedule()) return heads;
  for (const std::uint32_t tile : coverage.checked) heads.push_back(tile / tiling.tiles_per_head);
  std::ranges::sort(heads);
  heads.erase(std::ranges::unique(heads).begin(), heads.end());
  return heads;
}

// Five repeats, of which the random schedule takes about as long as three; of Group::tiles one.
double case_cost(const Case& test, const AcceptanceOptions& options) {
  const Tiling t(test.shape, plan_for(test));
  const Coverage c = coverage(test, t, options);
  const double repeats = test.group == Group::tiles ? 1 : 7;
  return (double(c.checked.size()) + repeats * double(c.repeated.size())) * t.tile_cost();
}

}  // namespace lab
