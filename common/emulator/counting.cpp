#include "common/emulator/counting.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "common/emulator/findings.hpp"

namespace lab::cpu {
namespace {

constexpr unsigned BANKS = 32, BANK_BYTES = 4, SECTOR = 32, WIDEST = 16;
constexpr std::size_t SLOTS = 1024;  // of a warp's table of sites: a kernel has some hundreds

bool has_shared(Counted what) {
  return what == Counted::shared_load || what == Counted::shared_store || what == Counted::cp_async;
}
bool has_global(Counted what) { return what == Counted::global_load || what == Counted::global_store; }

// Whether the lanes lie alike: at the same distances from each other, and the first as far into `period` bytes.
bool alike(std::uint32_t mask_a, const std::uint64_t* a, std::uint32_t mask_b, const std::uint64_t* b,
           std::uint64_t period) {
  if (mask_a != mask_b || !mask_a) return false;
  const int first = std::countr_zero(mask_a);
  const std::uint64_t apart = a[first] - b[first];
  if (apart % period) return false;
  if (mask_a == 0xFFFFFFFFu) {
    std::uint64_t difference = 0;
    for (int lane = 0; lane < Counting::LANES; ++lane) difference |= (a[lane] - b[lane]) ^ apart;
    return difference == 0;
  }
  for (std::uint32_t lanes = mask_a; lanes; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    if (a[lane] - b[lane] != apart) return false;
  }
  return true;
}

}  // namespace

unsigned shared_wavefronts(std::uint32_t mask, const std::uint64_t* address, unsigned bytes) {
  const unsigned words = std::max(bytes / BANK_BYTES, 1u), together = unsigned(Counting::LANES) / words;
  unsigned turns = 0;
  for (unsigned first = 0; first < unsigned(Counting::LANES); first += together) {
    std::array<std::uint64_t, BANKS> wanted;  // together * words of them at most
    std::size_t count = 0;
    for (unsigned lane = first; lane < first + together; ++lane)
      if (mask >> lane & 1)  // two bytes do not cross a word, and more start at a multiple of their size
        for (unsigned i = 0; i < words; ++i) wanted[count++] = address[lane] / BANK_BYTES + i;
    std::sort(wanted.begin(), wanted.begin() + count);
    const auto end = std::unique(wanted.begin(), wanted.begin() + count);
    std::array<unsigned, BANKS> words_of{};
    unsigned most = 0;
    for (auto word = wanted.begin(); word != end; ++word) most = std::max(most, ++words_of[*word % BANKS]);
    turns += most;
  }
  return turns;
}

unsigned least_wavefronts(std::uint32_t mask, unsigned bytes) {
  const unsigned words = std::max(bytes / BANK_BYTES, 1u), together = unsigned(Counting::LANES) / words;
  unsigned turns = 0;
  for (unsigned first = 0; first < unsigned(Counting::LANES); first += together)
    turns += (mask >> first & (together == 32 ? 0xFFFFFFFFu : (1u << together) - 1u)) != 0;
  return turns;
}

unsigned global_sectors(std::uint32_t mask, const std::uint64_t* address, unsigned bytes) {
  std::vector<std::uint64_t> sectors;
  for (; mask; mask &= mask - 1) {
    const std::uint64_t at = address[std::countr_zero(mask)];
    for (std::uint64_t sector = at / SECTOR; sector <= (at + bytes - 1) / SECTOR; ++sector) sectors.push_back(sector);
  }
  std::sort(sectors.begin(), sectors.end());
  return unsigned(std::unique(sectors.begin(), sectors.end()) - sectors.begin());
}

void Counting::reset() {
  // The open counts of a failed block are dropped.
  for (Pending& pending : pending_) {
    for (Site* site : pending.touched) site->times.fill(0), site->used = 0;
    pending.touched.clear();
  }
  steps_.fill(0);
  of_this_block_ = {};
}

Counting::Site& Counting::site_of(int warp, Counted what, std::uintptr_t pc) {
  Pending& pending = pending_[warp];
  if (pending.slot.empty()) pending.slot.resize(SLOTS);
  const std::size_t start = (pc * 0x9E3779B97F4A7C15ull >> 40) + std::size_t(what);
  for (std::size_t i = start % SLOTS;; i = (i + 1) % SLOTS) {
    if (const std::uint16_t found = pending.slot[i]) {
      Site& site = *pending.sites[found - 1u];
      if (site.pc == pc && site.what == what) return site;
      continue;
    }
    // Kept under half full, so that a search ends soon; a kernel with more places than that has one table for all.
    if (pending.sites.size() < SLOTS / 2) pending.slot[i] = std::uint16_t(pending.sites.size() + 1);
    for (const auto& site : pending.sites)
      if (!pending.slot[i] && site->pc == pc && site->what == what) return *site;
    Site& site = *pending.sites.emplace_back(std::make_unique<Site>());
    site.pc = pc, site.what = what, site.tally = &tallies_[key(pc, what)];
    return site;
  }
}

void Counting::lane(Counted what, int warp, int lane, std::uintptr_t pc, unsigned bytes, std::uint64_t address,
                    std::uint64_t second) {
  Site& site = site_of(warp, what, pc);
  if (site.used == 0) pending_[warp].touched.push_back(&site);
  const std::size_t time = site.times[lane]++;
  site.bytes = bytes;
  if (time >= site.open.size()) site.open.emplace_back(), site.second.emplace_back();
  if (time >= site.used) {
    site.used = time + 1;
    site.open[time].mask = 0;
  }
  site.open[time].mask |= 1u << lane;
  site.open[time].address[lane] = address;
  site.second[time].address[lane] = second;
}

void Counting::work_out(Site& site, const Open& open, const Open& second) {
  // Moved by whole words, all lanes' banks move alike.
  const bool same_shared = !has_shared(site.what) ||
                           alike(open.mask, open.address.data(), site.last.mask, site.last.address.data(), BANK_BYTES);
  const auto* const global = has_global(site.what) ? open.address.data() : second.address.data();
  const auto* const global_before = has_global(site.what) ? site.last.address.data() : site.last_second.address.data();
  const bool same_global = (!has_global(site.what) && site.what != Counted::cp_async) ||
                           alike(open.mask, global, site.last.mask, global_before, SECTOR);
  if (site.last.mask == open.mask && same_shared && same_global) return;
  Tally cost;
  cost.instructions = 1, cost.lanes = std::uint64_t(std::popcount(open.mask)), cost.bytes = cost.lanes * site.bytes;
  if (has_shared(site.what)) {
    cost.wavefronts = shared_wavefronts(open.mask, open.address.data(), site.bytes);
    cost.least = least_wavefronts(open.mask, site.bytes);
    cost.unavoidable = site.bytes < WIDEST && site.what != Counted::cp_async ? cost.least : cost.wavefronts;
  }
  if (has_global(site.what) || site.what == Counted::cp_async)
    cost.sectors = global_sectors(open.mask, global, site.bytes);
  site.cost = cost, site.last = open, site.last_second = second;
}

void Counting::close(int warp) {
  Pending& pending = pending_[warp];
  for (Site* site : pending.touched) {
    for (std::size_t i = 0; i < site->used; ++i) {
      work_out(*site, site->open[i], site->second[i]);
      *site->tally += site->cost;
      of_this_block_[int(site->what)] += site->cost;
    }
    steps_[warp] += site->used;
    site->times.fill(0), site->used = 0;
  }
  pending.touched.clear();
}

void Counting::instruction(Counted what, int warp, std::uintptr_t pc, const Tally& tally) {
  *site_of(warp, what, pc).tally += tally;
  of_this_block_[int(what)] += tally;
  steps_[warp] += tally.instructions;
}

void Counting::wait_until(Counted what, int warp, std::uintptr_t pc, std::uint64_t step) {
  std::uint64_t& own = steps_[warp];
  if (step <= own) return;
  site_of(warp, what, pc).tally->waited += step - own;
  of_this_block_[int(what)].waited += step - own;
  own = step;
}

Counting::ByPlace Counting::take() {
  for (Pending& pending : pending_) pending = {};
  return std::exchange(tallies_, {});
}

void add(Counting::ByPlace& to, const Counting::ByPlace& from) {
  for (const auto& [place, tally] : from) to[place] += tally;
}

std::vector<CountedLine> by_line(const Counting::ByPlace& tallies) {
  const auto pc_of = [](std::uint64_t key) { return std::uintptr_t(key >> 8); };
  std::vector<std::uintptr_t> pcs;
  for (const auto& [key, tally] : tallies) pcs.push_back(pc_of(key));
  source_lines_prefetch(pcs);
  std::map<std::tuple<std::string, int, Counted>, Tally> lines;
  for (const auto& [key, tally] : tallies) {
    const SourceLine at = source_line(pc_of(key));
    lines[{at.file, at.line, Counted(key & 0xFF)}] += tally;
  }
  std::vector<CountedLine> all;
  for (const auto& [place, tally] : lines)
    all.push_back({std::get<2>(place), std::get<0>(place), std::get<1>(place),
                   source_text(std::get<0>(place), std::get<1>(place)), tally});
  return all;
}

}  // namespace lab::cpu
