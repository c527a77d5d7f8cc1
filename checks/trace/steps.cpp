#include "checks/trace/steps.hpp"

#include <algorithm>
#include <limits>

namespace lab::trace {
namespace {

using Kind = ExecEvent::Kind;
constexpr long NEVER = std::numeric_limits<long>::max();

std::string element(const ExecEvent& e) { return std::string(e.array) + "[" + std::to_string(e.row) + "]"; }

}  // namespace

// --- clocks ---------------------------------------------------------------------------------------------------

Steps::Warp& Steps::warp(std::uint32_t block, int index) {
  if (std::ranges::find(out_.blocks, block) == out_.blocks.end()) out_.blocks.push_back(block);
  return warps_[{block, index}];
}

long Steps::latest(const Warp& w) const { return *std::ranges::max_element(w.clock); }

long Steps::meet(Warp& w) {
  const long now = latest(w);
  w.clock.fill(now);
  return now;
}

int Steps::name(const std::string& kind, const std::string& text, std::uint64_t turn) {
  const auto [entry, fresh] = index_.try_emplace({kind, text, turn}, int(names_.size()));
  if (fresh) names_.push_back(entry->first);
  return entry->second;
}

// The lanes of a warp may differ in what they do at a step: the lowest names it, whichever came first.
Steps::Cell& Steps::cell(Warp& w, long step, int what, int lane) {
  if (w.cells.size() <= std::size_t(step)) w.cells.resize(std::size_t(step) + 1);
  Cell& c = w.cells[std::size_t(step)];
  if (lane < c.lane) c.what = what, c.lane = lane;
  return c;
}

void Steps::fill(Warp& w, long from, long to, int what, int lane) {
  for (long s = from; s < to; ++s) cell(w, s, what, lane);
}

void Steps::step(Warp& w, int lane, int what, Count count, std::uint64_t by, Count bytes, std::uint64_t how_many) {
  Cell& c = cell(w, w.clock[std::size_t(lane)]++, what, lane);
  c.counts[count] += by, c.counts[bytes] += how_many;
}

int Steps::track(std::uint32_t block, const std::string& text) {
  const auto found = std::ranges::find(out_.barriers, std::pair(block, text));
  if (found != out_.barriers.end()) return int(found - out_.barriers.begin());
  out_.barriers.emplace_back(block, text);
  return int(out_.barriers.size()) - 1;
}

void Steps::phase(std::uint32_t block, const std::string& text, const std::string& slice, long begin, long end) {
  Slice s;
  s.block = block, s.track = track(block, text), s.kind = "phase", s.name = slice, s.begin = begin, s.end = end;
  for (auto last = out_.phases.rbegin(); last != out_.phases.rend(); ++last)
    if (last->track == s.track) {
      s.begin = std::max(s.begin, last->end);
      break;
    }
  s.end = std::max(s.end, s.begin);
  out_.phases.push_back(s);
}

// --- events ---------------------------------------------------------------------------------------------------

void Steps::see(const ExecEvent& e) {
  Warp& w = warp(e.block, e.warp);
  const std::string array = *e.array ? e.array : "shared";
  switch (e.kind) {
    case Kind::read:
      return step(w, e.lane, name("work", "read " + array), reads, 1, read_bytes, std::uint64_t(e.bytes));
    case Kind::write:
      return step(w, e.lane, name("work", "write " + array), writes, 1, written_bytes, std::uint64_t(e.bytes));
    case Kind::sync:
    case Kind::product: {
      const bool sync = e.kind == Kind::sync;
      const long now = meet(w);
      cell(w, now, sync ? name("barrier", "__syncwarp", ++w.turns) : name("work", "product"))
          .counts[sync ? warp_barriers : products]++;
      w.clock.fill(now + 1);
      return;
    }
    case Kind::vote:
      return;
    case Kind::copy:
    case Kind::commit:
    case Kind::wait:
      return cp_async(e);
    case Kind::arrive:
    case Kind::release:
      return block_barrier(e);
    case Kind::bar_arrive:
    case Kind::bar_release:
    case Kind::bar_pass:
      return named_barrier(e);
    case Kind::cluster_arrive:
    case Kind::cluster_pass:
      return cluster_barrier(e);
    case Kind::tma_issue:
    case Kind::tma_land:
      return tma(e);
    case Kind::mbarrier_land:
    case Kind::mbarrier_arrive:
    case Kind::mbarrier_complete:
    case Kind::mbarrier_wait:
    case Kind::mbarrier_pass:
      return mbarrier(e);
    case Kind::wgmma_issue:
    case Kind::wgmma_commit:
    case Kind::wgmma_wait:
      return warpgroup(e);
  }
}

void Steps::block_barrier(const ExecEvent& e) {
  Use& use = block_barrier_[e.block];
  const int what = name("barrier", "__syncthreads", periods_[e.block]);
  if (e.kind == Kind::arrive) {
    Warp& w = warp(e.block, e.warp);
    const long now = w.clock[std::size_t(e.lane)];
    w.waits_since[std::size_t(e.lane)] = now, w.waits_for[std::size_t(e.lane)] = what;
    use.first = use.first < 0 ? now : std::min(use.first, now);
    use.last = std::max(use.last, now);
    return;
  }
  for (auto& [who, w] : warps_) {
    if (who.first != e.block) continue;
    long since = -1;
    for (int lane = 0; lane < LANES; ++lane)
      if (w.waits_since[std::size_t(lane)] >= 0 && w.waits_for[std::size_t(lane)] == what) {
        since = std::max(since, w.waits_since[std::size_t(lane)]);
        w.waits_since[std::size_t(lane)] = -1;
      }
    if (since < 0) continue;
    fill(w, since, use.last + 1, what);
    cell(w, since, what).counts[waited] += std::uint64_t(use.last - since);
    w.clock.fill(use.last + 1);
  }
  phase(e.block, "__syncthreads", "barrier " + std::to_string(periods_[e.block]++), use.first, use.last + 1);
  use = {};
}

void Steps::named_barrier(const ExecEvent& e) {
  const std::string text = std::to_string(e.bytes);
  std::vector<Use>& uses = named_[{e.block, e.bytes}];
  if (uses.empty()) uses.emplace_back();
  Warp& w = warp(e.block, e.warp);
  if (e.kind == Kind::bar_arrive) {
    const long now = meet(w);
    Use& use = uses.back();
    use.first = use.first < 0 ? now : std::min(use.first, now), use.last = std::max(use.last, now);
    if (e.byte) {
      w.bar = e.bytes, w.bar_since = now;
      return;
    }
    cell(w, now, name("barrier", "bar.arrive " + text, ++w.turns));
    w.clock.fill(now + 1);
  } else if (e.kind == Kind::bar_release) {
    const Use use = uses.back();
    phase(e.block, "barrier " + text, "use " + std::to_string(uses.size() - 1), use.first, use.last + 1);
    uses.emplace_back();
    for (auto& [who, other] : warps_) {
      if (who.first != e.block || other.bar != e.bytes) continue;
      const int what = name("barrier", "bar.sync " + text, ++other.turns);
      fill(other, other.bar_since, use.last + 1, what);
      cell(other, other.bar_since, what).counts[waited] += std::uint64_t(use.last - other.bar_since);
      other.clock.fill(use.last + 1);
      other.bar = -1;
    }
  }
}

void Steps::cluster_barrier(const ExecEvent& e) {
  auto& [arrived, passed] = at_cluster_[{e.block, e.warp, e.lane}];
  Warp& w = warp(e.block, e.warp);
  long& clock = w.clock[std::size_t(e.lane)];
  if (e.kind == Kind::cluster_arrive) {
    if (cluster_.size() <= arrived) cluster_.resize(arrived + 1);
    Use& use = cluster_[arrived++];
    use.first = use.first < 0 ? clock : std::min(use.first, clock), use.last = std::max(use.last, clock);
    cell(w, clock, name("barrier", "cluster arrive", arrived), e.lane);
    ++clock;
    return;
  }
  const Use& use = cluster_[passed++];
  const int what = name("barrier", "cluster wait", passed);
  const long until = std::max(clock, use.last) + 1;
  fill(w, clock, until, what, e.lane);
  if (e.lane == 0) cell(w, clock, what, 0).counts[waited] += std::uint64_t(until - 1 - clock);
  clock = until;
}

void Steps::mbarrier(const ExecEvent& e) {
  Phases& phases = mbarriers_[{e.block, e.array, e.row}];
  phases.flights.resize(phases.complete.size() + 1);
  const auto there = [&](long when) {
    phases.now.first = phases.now.first < 0 ? when : std::min(phases.now.first, when);
    phases.now.last = std::max(phases.now.last, when);
  };
  const auto lane = std::size_t(e.lane);
  if (e.kind == Kind::mbarrier_land) {
    if (landed_) {
      there(out_.flights[*landed_].begin + 1);
      phases.flights.back().push_back(*landed_);
      landed_.reset();
    } else {  // it comes from another block, and as it is sent: that block's thread is where its clock says
      for (const auto& [who, w] : warps_)
        if (who.first != e.block && who.second == e.warp) there(w.clock[lane]);
    }
    return;
  }
  Warp& w = warp(e.block, e.warp);
  if (e.kind == Kind::mbarrier_complete) {
    const long when = std::max(phases.now.last, phases.complete.empty() ? 0 : phases.complete.back());
    phase(e.block, element(e), "phase " + std::to_string(e.bytes), phases.now.first < 0 ? when : phases.now.first,
          when + 1);
    phases.complete.push_back(when);
    phases.now = {};
    return;
  }
  if (e.kind == Kind::mbarrier_arrive) {
    there(w.clock[lane]);
    return step(w, e.lane, name("work", "arrive " + element(e)), waited, 0, waited, 0);
  }
  if (e.kind == Kind::mbarrier_wait) {
    w.waits_since[lane] = w.clock[lane];
    w.waits_for[lane] = name("wait", "wait " + element(e), phases.complete.size());
    return;
  }
  w.waits_since[lane] = -1;
  const long asked = w.clock[lane];
  const int what = name("wait", "wait " + element(e), std::uint64_t(e.bytes));
  const long until = std::max(asked, e.bytes < 0 ? 0 : phases.complete[std::size_t(e.bytes)]) + 1;
  fill(w, asked, until, what, e.lane);
  std::uint64_t& longest = cell(w, asked, what, e.lane).counts[waited];
  longest = std::max(longest, std::uint64_t(until - 1 - asked));
  w.clock[lane] = until;
  if (e.bytes < 0) return;
  for (const std::size_t i : phases.flights[std::size_t(e.bytes)]) {
    Flight& flight = out_.flights[i];
    flight.end = std::min(flight.end, std::max(asked, flight.begin + 1));
  }
}

// --- asynchronous work ------------------------------------------------------------------------------------------

void Steps::cp_async(const ExecEvent& e) {
  Warp& w = warp(e.block, e.warp);
  CopyGroups& own = lanes_[{e.block, e.warp, e.lane}];
  if (e.kind == Kind::commit) {
    ++own.committed;
    return;
  }
  const long now = w.clock[std::size_t(e.lane)];
  if (e.kind == Kind::copy) {
    const auto [entry, fresh] = copy_flights_.try_emplace({e.block, own.committed, e.array}, out_.flights.size());
    if (fresh) out_.flights.push_back({e.block, now, now, "copy", e.array, "", 0, 0, 0});
    Flight& flight = out_.flights[entry->second];
    flight.begin = std::min(flight.begin, now);
    ++flight.issued, flight.bytes += std::uint64_t(e.bytes);
    int& first = rows_.try_emplace({entry->second, false}, e.row).first->second;
    int& last = rows_.try_emplace({entry->second, true}, e.row).first->second;
    first = std::min(first, e.row), last = std::max(last, e.row);
    own.open.emplace_back(own.committed, entry->second);
    return step(w, e.lane, name("copy", std::string("copy ") + e.array), copies, 1, waited, 0);
  }
  cell(w, now, name("wait", "wait for copies", ++own.waits), e.lane);
  w.clock[std::size_t(e.lane)] = now + 1;
  const std::uint64_t left = std::uint64_t(e.bytes), until = own.committed > left ? own.committed - left : 0;
  std::erase_if(own.open, [&](const auto& open) {
    if (open.first >= until) return false;
    Flight& flight = out_.flights[open.second];
    ++flight.landed;
    flight.end = std::max(flight.end, now + 1);
    return true;
  });
}

void Steps::tma(const ExecEvent& e) {
  Warp& w = warp(e.block, e.warp);
  if (e.kind == Kind::tma_issue) {
    const long now = w.clock[std::size_t(e.lane)];
    out_.flights.push_back({e.block, now, NEVER, "copy", e.array, element(e), 1, 0, std::uint64_t(e.bytes)});
    return step(w, e.lane, name("copy", std::string("request ") + e.array), tma_loads, 1, tma_bytes,
                std::uint64_t(e.bytes));
  }
  for (std::size_t i = out_.flights.size(); i-- > 0;) {
    Flight& flight = out_.flights[i];
    if (flight.block != e.block || flight.place != element(e) || flight.landed == flight.issued) continue;
    ++flight.landed;
    landed_ = i;
    return;
  }
}

void Steps::warpgroup(const ExecEvent& e) {
  Warp& w = warp(e.block, e.warp);
  auto& open = open_products_[{e.block, e.warp}];
  if (e.kind == Kind::wgmma_commit) {
    ++w.groups;
    return;
  }
  const long now = meet(w);
  w.clock.fill(now + 1);
  if (e.kind == Kind::wgmma_issue) {
    const int group = e.warp / 4;
    const auto [entry, fresh] = product_flights_.try_emplace({e.block, group, w.groups, e.array}, out_.flights.size());
    if (fresh)
      out_.flights.push_back({e.block, now, now, "product", e.array,
                              "warps " + std::to_string(4 * group) + ".." + std::to_string(4 * group + 3), 0, 0, 0});
    Flight& flight = out_.flights[entry->second];
    flight.begin = std::min(flight.begin, now);
    ++flight.issued;
    open.emplace_back(w.groups, entry->second);
    ++cell(w, now, name("work", std::string("wgmma ") + e.array)).counts[wgmma];
    return;
  }
  cell(w, now, name("wait", "wait for products", ++w.turns));
  const std::uint64_t left = std::uint64_t(e.bytes), until = w.groups > left ? w.groups - left : 0;
  std::erase_if(open, [&](const auto& begun) {
    if (begun.first >= until) return false;
    Flight& flight = out_.flights[begun.second];
    ++flight.landed;
    flight.end = std::max(flight.end, now + 1);
    return true;
  });
}

// --- the picture --------------------------------------------------------------------------------------------------

void Steps::wait_for_ever() {
  const long end = out_.steps + out_.steps / 20 + 1;
  for (auto& [who, w] : warps_) {
    for (std::size_t lane = 0; lane < LANES; ++lane)
      if (w.waits_since[lane] >= 0) fill(w, w.waits_since[lane], end, w.waits_for[lane], int(lane));
    if (w.bar >= 0) fill(w, w.bar_since, end, name("barrier", "bar.sync " + std::to_string(w.bar), ++w.turns));
  }
  out_.steps = end;
}

// The order in which the CPU met them is not part of the picture.
void Steps::in_order() {
  std::ranges::sort(out_.blocks);
  std::vector<std::pair<std::uint32_t, std::string>> sorted = out_.barriers;
  std::ranges::sort(sorted);
  for (Slice& s : out_.phases)
    s.track = int(std::ranges::find(sorted, out_.barriers[std::size_t(s.track)]) - sorted.begin());
  out_.barriers = sorted;
  std::ranges::stable_sort(out_.phases, {}, [](const Slice& s) { return std::pair(s.track, s.begin); });
  std::ranges::stable_sort(out_.flights, {},
                           [](const Flight& f) { return std::tie(f.block, f.kind, f.begin, f.end, f.name, f.place); });
}

// A warp's steps as slices. Products belong to what was read before them. Reads and writes of few steps each, taking
// turns, are one slice that names all their arrays: a stretch of work, and not a slice a step.
void Steps::merge(std::uint32_t block, int index, const Warp& w, Picture& out) const {
  constexpr long SHORT = 8;
  struct Run {
    int what;
    long begin, end;
    Counts counts;
    std::vector<int> names;
  };
  std::vector<Run> runs;
  const auto add = [](Counts& to, const Counts& from) {
    for (std::size_t i = 0; i < COUNTS; ++i) to[i] += from[i];
  };
  const auto is_access = [&](int what) {
    const Name& n = names_[std::size_t(what)];
    return n.kind == "work" && (n.name.starts_with("read ") || n.name.starts_with("write ") || n.name == "product");
  };
  for (long s = 0; s < long(w.cells.size()); ++s) {
    const Cell& c = w.cells[std::size_t(s)];
    if (c.what < 0) continue;
    Run* last = runs.empty() || runs.back().end != s ? nullptr : &runs.back();
    const bool product = c.counts[products] && is_access(c.what);
    if (last && (last->what == c.what || (product && is_access(last->what)))) {
      last->end = s + 1;
      add(last->counts, c.counts);
    } else {
      runs.push_back({c.what, s, s + 1, c.counts, {c.what}});
    }
  }
  std::vector<Run> merged;
  for (const Run& run : runs) {
    Run* last = merged.empty() || merged.back().end != run.begin ? nullptr : &merged.back();
    const bool both = last && is_access(last->what) && is_access(run.what);
    const bool known = both && std::ranges::find(last->names, run.what) != last->names.end();
    const bool brief = both && (last->end - last->begin < SHORT);
    if (!known && !brief) {
      merged.push_back(run);
      continue;
    }
    last->end = run.end;
    add(last->counts, run.counts);
    if (!known) last->names.push_back(run.what);
  }
  for (const Run& run : merged) {
    Slice s;
    s.block = block, s.track = index, s.begin = run.begin, s.end = run.end, s.counts = run.counts;
    s.kind = names_[std::size_t(run.what)].kind;
    std::string verb;
    for (const int what : run.names) {
      const std::string& text = names_[std::size_t(what)].name;
      const std::string first = text.substr(0, text.find(' '));
      const bool again = s.kind == "work" && first == verb && text.size() > first.size();
      s.name += s.name.empty() ? text : again ? ", " + text.substr(first.size() + 1) : "; " + text;
      verb = first;
    }
    out.work.push_back(s);
  }
}

Picture Steps::picture(bool failed) {
  for (auto& [who, w] : warps_) {
    out_.steps = std::max(out_.steps, latest(w));
    int& count = out_.warps[who.first];
    count = std::max(count, who.second + 1);
  }
  const long last = out_.steps;
  if (failed) wait_for_ever();
  for (const auto& [who, w] : warps_) merge(who.first, who.second, w, out_);
  if (failed)
    for (Slice& s : out_.work) s.for_ever = s.end == out_.steps && s.end > last;
  for (std::size_t i = 0; i < out_.flights.size(); ++i) {
    Flight& flight = out_.flights[i];
    if (flight.landed < flight.issued || flight.end == NEVER) flight.end = out_.steps;
    flight.end = std::max(flight.end, flight.begin + 1);
    if (const auto first = rows_.find({i, false}); first != rows_.end())
      flight.place =
          flight.name + "[" + std::to_string(first->second) + ".." + std::to_string(rows_.at({i, true})) + "]";
    out_.steps = std::max(out_.steps, flight.end);
  }
  in_order();
  return out_;
}

}  // namespace lab::trace
