#include "checks/acceptance/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/format.hpp"
#include "common/backend.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

// A case's budget unless full=1, in units of unit_cost: the mission shape runs whole on the notes' inputs.
constexpr double NOTES_COST = 17, CHECKED_COST = 2;  // the launch that the oracle checks
constexpr double REPEATED_COST = 0.1;                // each later one, compared bit by bit
// Two blocks of LARGE_ROWS and more have as many rows as four smaller ones.
constexpr std::size_t LARGE_ROWS = 128, FEWEST_LARGE = 2, FEWEST_CHECKED = 4, FEWEST_REPEATED = 1;
// Fuzz poses many problems, each of few blocks. One that a launcher answers by the number of multiprocessors runs whole if that costs
// no more than this, for then it runs once more, with few of them.
constexpr double FUZZED_COST = 1, WHOLE_FUZZED_COST = 3;
constexpr std::size_t FEWEST_FUZZED = 2;
constexpr Shape FEW_HEADS{1, 5, 130, 64, false};

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

Ran run_units(const Subject& subject, const Shape& shape, const Grid& grid, const std::vector<std::uint32_t>& units) {
  const Inputs in = make_inputs(Family::unit, shape, 1);
  Launching how;
  how.options.blocks = grid.blocks(units);
  return Tensors(subject, in).launch(shape, float(default_scale(shape.D)), how);
}

// Whether a unit alone writes what it writes among all.
bool units_are_independent(const Subject& subject, const Grid& alone) {
  Grid grid = alone;
  grid.units = grid_of(subject, FEW_HEADS).units;
  const Ran all = run_units(subject, FEW_HEADS, grid, {}), one = run_units(subject, FEW_HEADS, grid, {grid.units - 1});
  if (!all.ok() || !one.ok()) return true;  // what fails is for the cases to say
  const std::vector<RowBlock> rows = written_rows(FEW_HEADS, one.outputs[0]);
  return !rows.empty() && differing(FEW_HEADS, rows, all.outputs[0], one.outputs[0]).differing == 0;
}

}  // namespace

std::vector<std::uint32_t> Grid::blocks(const std::vector<std::uint32_t>& some) const {
  std::vector<std::uint32_t> first;
  for (const std::uint32_t unit : some) first.push_back(unit * blocks_per_unit);
  return first;
}

Grid grid_of(const Subject& subject, const Shape& shape, int multiprocessors) {
  const std::vector<Launched> launched = launches_of(subject, shape, multiprocessors);
  if (launched.empty()) return {};
  const dim3 g = launched[0].grid, c = launched[0].cluster;
  const std::uint32_t together = c.x * c.y * c.z;
  Grid grid{g.x * g.y * g.z / together, together, false, launched[0].kernel};
  if (subject.backward || launched.size() > 1 || !can_schedule()) return grid;
  static std::map<const void*, bool> known;
  if (subject.workspace(shape) == 0)
    grid.independent = true;
  else if (const auto found = known.find(grid.kernel); found != known.end())
    grid.independent = found->second;
  else  // known at once, for the answer asks for grids too
    known[grid.kernel] = true, grid.independent = known[grid.kernel] = units_are_independent(subject, grid);
  return grid;
}

double unit_cost(const Shape& shape, const Grid& grid) {
  constexpr int TOGETHER = 16;  // rows, at least, of a matrix instruction
  const std::uint32_t units = std::max(1u, grid.units), heads = std::uint32_t(shape.B) * std::uint32_t(shape.H);
  double rows = double(shape.rows()) / units;
  if (units % heads == 0) rows = std::ceil(std::ceil(rows) / TOGETHER) * TOGETHER;
  return rows / 64 * shape.S / 2048.0 * shape.D / 64.0 * (shape.causal ? 0.5 : 1);
}

Sample sample_of(const Subject& subject, const Case& test, const Grid& grid, const AcceptanceOptions& options) {
  const double each = unit_cost(test.shape, grid);
  const auto some_of = [&](std::uint32_t total, double cost, std::size_t fewest) {
    return sample(total, std::max(fewest, std::size_t(cost / each)), test.seed);
  };
  Sample s;
  if (test.group == Group::far) {
    s.checked = units_of_last_head(subject, grid, test.shape);
    return s;
  }
  // A block may take several pieces of work one after the other, so no sample of blocks is a sample of rows.
  const bool whole = test.multiprocessors > 0 || test.group == Group::overlap || !grid.independent;
  double cost = test.group == Group::notes && grid.units * each <= NOTES_COST ? NOTES_COST : CHECKED_COST;
  if (options.first) {
    const bool counts = grid_of(subject, test.shape, 2) != grid;
    cost = counts && grid.units * each <= WHOLE_FUZZED_COST ? WHOLE_FUZZED_COST : FUZZED_COST;
  }
  // Climbing rows are of three kinds, and each tile has all of them: the fewest tiles will do.
  if (test.family == Family::climbing) cost = 0;
  const bool large = std::size_t(test.shape.rows()) >= LARGE_ROWS * grid.units;
  const std::size_t fewest = options.first ? FEWEST_FUZZED : large ? FEWEST_LARGE : FEWEST_CHECKED;
  s.checked = options.full || whole ? sample(grid.units, grid.units, test.seed) : some_of(grid.units, cost, fewest);
  s.repeated = s.checked;
  if (whole) return s;
  // Even full=1 repeats a sample only, a larger one: all schedules on all rows would take an hour.
  s.repeated.clear();
  for (const std::uint32_t i :
       some_of(std::uint32_t(s.checked.size()), options.full ? CHECKED_COST : REPEATED_COST, FEWEST_REPEATED))
    s.repeated.push_back(s.checked[i]);
  return s;
}

// The grid's order may be any. With five heads the last unit, or the first, shows whether it takes the last of them.
std::vector<std::uint32_t> units_of_last_head(const Subject& subject, const Grid& grid, const Shape& shape) {
  Shape few = FEW_HEADS;
  few.D = shape.D;
  const Grid of_few = grid_of(subject, few);
  const std::uint32_t per_head = std::max(1u, grid.units / std::uint32_t(shape.B * shape.H));
  if (!grid.independent) return {};
  for (const bool last : {true, false}) {
    const Ran ran = run_units(subject, few, of_few, {last ? of_few.units - 1 : 0});
    const std::vector<RowBlock> rows = ran.ok() ? written_rows(few, ran.outputs[0]) : std::vector<RowBlock>{};
    if (ran.ok() && (rows.size() != 1 || rows[0].head != few.H - 1)) continue;
    return last ? std::vector{grid.units - per_head, grid.units - 1} : std::vector{0u, per_head - 1};
  }
  return {};
}

// Of five repeats the random schedule takes about as long as three: 7 in all, and one of the five about 1.5.
double case_cost(const Subject& subject, const Case& test, const AcceptanceOptions& options) {
  if (subject.backward) return double(test.shape.rows()) * test.shape.S * test.shape.D * (test.shape.causal ? 0.5 : 1);
  const Grid grid = grid_of(subject, test.shape, test.multiprocessors);
  const double repeats = all_runs(test, options) ? 7 : 1.5;
  if (test.group == Group::far) return 2 * unit_cost(test.shape, grid);
  const Sample s = sample_of(subject, test, grid, options);
  return (double(s.checked.size()) + repeats * double(s.repeated.size())) * unit_cost(test.shape, grid);
}

std::string not_written_once(const Subject& subject) {
  for (const int D : {64, 128})
    for (const bool causal : {false, true}) {
      const Shape shape{1, 3, 130, D, causal};
      const Grid grid = grid_of(subject, shape);
      if (!grid.independent) continue;
      std::vector<std::uint32_t> writers(shape.rows());
      for (std::uint32_t unit = 0; unit < grid.units; ++unit) {
        const Ran ran = run_units(subject, shape, grid, {unit});
        if (!ran.ok()) return "";  // the cases say it
        for (const RowBlock& block : written_rows(shape, ran.outputs[0]))
          for (int row = block.first; row < block.first + block.rows; ++row)
            ++writers[std::size_t(block.head * shape.S + row)];
      }
      for (std::size_t row = 0; row < writers.size(); ++row)
        if (writers[row] != 1)
          return format("%s: row %zu of [B*H*S] is written by %u blocks, each run alone", text(shape).c_str(), row,
                        writers[row]);
    }
  return "";
}

}  // namespace lab
