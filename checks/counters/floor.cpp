#include "checks/counters/floor.hpp"

#include <algorithm>
#include <numeric>

namespace lab {

constexpr double WAVEFRONT_BYTES = 128, SECTOR_BYTES = 32;

const char* name(Unit unit) {
  constexpr const char* NAMES[UNITS] = {"issue slots", "shared memory", "exponentials", "tensor cores", "L2"};
  return NAMES[int(unit)];
}

std::array<double, UNITS> clocks(Counted what, const Tally& tally, const Rates& rates) {
  std::array<double, UNITS> busy{};
  const auto of = [&](Unit unit) -> double& { return busy[std::size_t(unit)]; };
  const bool engine = what == Counted::tma_load || what == Counted::tma_store;
  of(Unit::issue) = double(tally.instructions) / rates.warp_instructions;
  of(Unit::shared) =
      (double(tally.wavefronts) + (engine ? double(tally.bytes) / WAVEFRONT_BYTES : 0)) / rates.wavefronts;
  of(Unit::l2) = double(tally.sectors) * SECTOR_BYTES / rates.l2_bytes;
  if (what == Counted::exponential || what == Counted::reciprocal)
    of(Unit::special) = double(tally.lanes) / rates.special;
  if (what == Counted::mma) of(Unit::tensor) = double(tally.instructions) / rates.mma_instructions;
  if (what == Counted::wgmma) of(Unit::tensor) = double(tally.multiplies) / rates.multiplies;
  return busy;
}

std::array<double, UNITS> clocks(const Tallies& tallies, const Rates& rates) {
  std::array<double, UNITS> busy{};
  for (int what = 0; what < COUNTED; ++what) {
    const auto of_kind = clocks(Counted(what), tallies[std::size_t(what)], rates);
    for (std::size_t unit = 0; unit < UNITS; ++unit) busy[unit] += of_kind[unit];
  }
  return busy;
}

Floor floor_of(std::span<const CountedBlock> blocks, const Rates& rates) {
  Floor floor;
  if (blocks.empty()) return floor;
  const std::size_t several =
      (blocks.size() + std::size_t(rates.multiprocessors) - 1) / std::size_t(rates.multiprocessors);
  std::array<std::vector<double>, UNITS> busy;
  for (const CountedBlock& block : blocks) {
    Tallies sure = block.tallies;
    for (Tally& tally : sure) tally.wavefronts = tally.unavoidable;
    const auto of_block = clocks(sure, rates);
    for (std::size_t unit = 0; unit < UNITS; ++unit) busy[unit].push_back(of_block[unit]);
  }
  for (std::size_t unit = 0; unit < UNITS; ++unit) {
    std::vector<double>& each = busy[unit];
    std::ranges::sort(each);
    const double mean = std::accumulate(each.begin(), each.end(), 0.0) / rates.multiprocessors;
    const double smallest = std::accumulate(each.begin(), each.begin() + std::ptrdiff_t(several), 0.0);
    floor.us[unit] = std::max({mean, each.back(), smallest}) / rates.clocks_per_us;
  }
  floor.binds = Unit(std::ranges::max_element(floor.us) - floor.us.begin());
  return floor;
}

Tallies sum(std::span<const CountedBlock> blocks) {
  Tallies all{};
  for (const CountedBlock& block : blocks)
    for (std::size_t what = 0; what < COUNTED; ++what) all[what] += block.tallies[what];
  return all;
}

}  // namespace lab
