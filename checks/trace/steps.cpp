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

long Steps::latest(const Warp& w) { return std::ranges::max_element(w.lanes, {}, &Lane::clock)->clock; }

long Steps::meet(Warp& w, long onward) {
  const long now = latest(w);
  for (Lane& lane : w.lanes) lane.clock = now + onward;
  return now;
}

const Steps::Name* Steps::name(const std::string& kind, const std::string& text, std::uint64_t turn) {
  return &*names_.insert({kind, text, turn}).first;
}

// The lanes of a warp may differ in what they do at a step: the lowest names it, whichever came first.
Steps::Cell& Steps::cell(Warp& w, long step, const Name* what, int lane) {
  if (w.cells.size() <= std::size_t(step)) w.cells.resize(std::size_t(step) + 1);
  Cell& c = w.cells[std::size_t(step)];
  if (lane < c.lane) c.what = what, c.lane = lane;
  return c;
}

void Steps::fill(Warp& w, long from, long to, const Name* what, int lane) {
  for (long s = from; s < to; ++s) cell(w, s, what, lane);
}

void Steps::step(Warp& w, int lane, const Name* what) { cell(w, w.lanes[std::size_t(lane)].clock++, what, lane); }

void Steps::phase(std::uint32_t block, const std::string& text, const std::string& slice, long begin, long end) {
  std::vector<Slice>& track = phases_[{block, text}];
  if (!track.empty()) begin = std::max(begin, track.back().end);
  track.push_back({block, 0, begin, std::max(begin, end), "phase", slice});
}

// --- events ---------------------------------------------------------------------------------------------------

void Steps::see(const ExecEvent& e) {
  Warp& w = warps_[{e.block, e.warp}];
  const std::string array = *e.array ? e.array : "shared";
  switch (e.kind) {
    case Kind::read:
      return step(w, e.lane, name("work", "read " + array));
    case Kind::write:
      return step(w, e.lane, name("work", "write " + array));
    case Kind::sync:
      cell(w, meet(w, 1), name("barrier", "__syncwarp", ++w.turns));
      return;
    case Kind::product:
      cell(w, meet(w, 1), name("work", "product")).product = true;
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
  Barrier& barrier = block_barriers_[e.block];
  const Name* const what = name("barrier", "__syncthreads", barrier.uses);
  if (e.kind == Kind::arrive) {
    Lane& lane = warps_[{e.block, e.warp}].lanes[std::size_t(e.lane)];
    lane.waits_since = lane.clock, lane.waits_for = what;
    return barrier.now.there(lane.clock);
  }
  const Use use = std::exchange(barrier.now, {});
  for (auto& [who, w] : warps_) {
    long since = -1;
    for (Lane& lane : w.lanes)
      if (who.first == e.block && lane.waits_since >= 0 && lane.waits_for == what)
        since = std::max(since, std::exchange(lane.waits_since, -1));
    if (since < 0) continue;
    fill(w, since, use.last + 1, what);
    for (Lane& lane : w.lanes) lane.clock = use.last + 1;
  }
  phase(e.block, "__syncthreads", "barrier " + std::to_string(barrier.uses++), use.first, use.last + 1);
}

void Steps::named_barrier(const ExecEvent& e) {
  const std::string text = std::to_string(e.bytes);
  Barrier& barrier = named_[{e.block, e.bytes}];
  if (e.kind == Kind::bar_arrive) {
    Warp& w = warps_[{e.block, e.warp}];
    const long now = meet(w, e.byte ? 0 : 1);
    barrier.now.there(now);
    if (e.byte)
      w.bar = e.bytes, w.bar_since = now;
    else
      cell(w, now, name("barrier", "bar.arrive " + text, ++w.turns));
  } else if (e.kind == Kind::bar_release) {
    const Use use = std::exchange(barrier.now, {});
    phase(e.block, "barrier " + text, "use " + std::to_string(barrier.uses++), use.first, use.last + 1);
    for (auto& [who, w] : warps_) {
      if (who.first != e.block || w.bar != e.bytes) continue;
      const Name* const what = name("barrier", "bar.sync " + text, ++w.turns);
      fill(w, w.bar_since, use.last + 1, what);
      for (Lane& lane : w.lanes) lane.clock = use.last + 1;
      w.bar = -1;
    }
  }
}

void Steps::cluster_barrier(const ExecEvent& e) {
  Warp& w = warps_[{e.block, e.warp}];
  Lane& lane = w.lanes[std::size_t(e.lane)];
  if (e.kind == Kind::cluster_arrive) {
    if (cluster_.size() <= lane.at_cluster) cluster_.resize(lane.at_cluster + 1);
    cluster_[lane.at_cluster++].there(lane.clock);
    cell(w, lane.clock++, name("barrier", "cluster arrive", lane.at_cluster), e.lane);
    return;
  }
  const Use& use = cluster_[lane.past_cluster++];
  const Name* const what = name("barrier", "cluster wait", lane.past_cluster);
  const long until = std::max(lane.clock, use.last) + 1;
  fill(w, lane.clock, until, what, e.lane);
  lane.clock = until;
}

void Steps::mbarrier(const ExecEvent& e) {
  Phases& phases = mbarriers_[{e.block, e.array, e.row}];
  phases.flights.resize(phases.complete.size() + 1);
  if (e.kind == Kind::mbarrier_land) {
    if (landed_) {
      phases.now.there(out_.flights[*landed_].begin + 1);
      phases.flights.back().push_back(*landed_);
      landed_.reset();
    } else {  // it comes from another block, and as it is sent: that block's thread is where its clock says
      for (const auto& [who, w] : warps_)
        if (who.first != e.block && who.second == e.warp) phases.now.there(w.lanes[std::size_t(e.lane)].clock);
    }
    return;
  }
  Warp& w = warps_[{e.block, e.warp}];
  Lane& lane = w.lanes[std::size_t(e.lane)];
  if (e.kind == Kind::mbarrier_complete) {
    const long when = std::max(phases.now.last, phases.complete.empty() ? 0 : phases.complete.back());
    phase(e.block, element(e), "phase " + std::to_string(e.bytes), phases.now.first < 0 ? when : phases.now.first,
          when + 1);
    phases.complete.push_back(when);
    phases.now = {};
    return;
  }
  if (e.kind == Kind::mbarrier_arrive) {
    phases.now.there(lane.clock);
    return step(w, e.lane, name("work", "arrive " + element(e)));
  }
  if (e.kind == Kind::mbarrier_wait) {
    lane.waits_since = lane.clock, lane.waits_for = name("wait", "wait " + element(e), phases.complete.size());
    return;
  }
  lane.waits_since = -1;
  const long asked = lane.clock;
  const Name* const what = name("wait", "wait " + element(e), std::uint64_t(e.bytes));
  const long until = std::max(asked, e.bytes < 0 ? 0 : phases.complete[std::size_t(e.bytes)]) + 1;
  fill(w, asked, until, what, e.lane);
  lane.clock = until;
  if (e.bytes < 0) return;
  for (const std::size_t i : phases.flights[std::size_t(e.bytes)]) {
    Flight& flight = out_.flights[i];
    flight.end = std::min(flight.end, std::max(asked, flight.begin + 1));
  }
}

// --- asynchronous work ------------------------------------------------------------------------------------------

// The flight of the group that is not committed yet: of one array, and of the block or one of its warpgroups (-1: the block).
Flight& Steps::flight(Groups& groups, const ExecEvent& e, int warpgroup, long now, const char* kind) {
  const auto [entry, fresh] =
      flights_.try_emplace({e.block, warpgroup, groups.committed, e.array}, out_.flights.size());
  if (fresh) out_.flights.push_back({e.block, now, now, kind, e.array, "", 0, 0, 0, e.row, e.row});
  groups.open.emplace_back(groups.committed, entry->second);
  Flight& flight = out_.flights[entry->second];
  flight.begin = std::min(flight.begin, now);
  ++flight.issued;
  return flight;
}

// At a wait for all but the last `bytes` groups.
void Steps::land(Groups& groups, const ExecEvent& e, long now) {
  const std::uint64_t left = std::uint64_t(e.bytes), until = groups.committed > left ? groups.committed - left : 0;
  std::erase_if(groups.open, [&](const auto& open) {
    if (open.first >= until) return false;
    Flight& flight = out_.flights[open.second];
    ++flight.landed;
    flight.end = std::max(flight.end, now + 1);
    return true;
  });
}

void Steps::cp_async(const ExecEvent& e) {
  Warp& w = warps_[{e.block, e.warp}];
  Lane& lane = w.lanes[std::size_t(e.lane)];
  if (e.kind == Kind::commit) {
    ++lane.copies.committed;
  } else if (e.kind == Kind::copy) {
    Flight& f = flight(lane.copies, e, -1, lane.clock, "copy");
    f.bytes += std::uint64_t(e.bytes);
    f.first_row = std::min(f.first_row, e.row), f.last_row = std::max(f.last_row, e.row);
    f.place = f.name + "[" + std::to_string(f.first_row) + ".." + std::to_string(f.last_row) + "]";
    step(w, e.lane, name("copy", std::string("copy ") + e.array));
  } else {
    land(lane.copies, e, lane.clock);
    cell(w, lane.clock++, name("wait", "wait for copies", ++lane.copy_waits), e.lane);
  }
}

void Steps::tma(const ExecEvent& e) {
  Warp& w = warps_[{e.block, e.warp}];
  if (e.kind == Kind::tma_issue) {
    const long now = w.lanes[std::size_t(e.lane)].clock;
    out_.flights.push_back({e.block, now, NEVER, "copy", e.array, element(e), 1, 0, std::uint64_t(e.bytes)});
    return step(w, e.lane, name("copy", std::string("request ") + e.array));
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
  Warp& w = warps_[{e.block, e.warp}];
  if (e.kind == Kind::wgmma_commit) {
    ++w.products.committed;
    return;
  }
  const long now = meet(w, 1);
  if (e.kind == Kind::wgmma_issue) {
    const int first = e.warp / 4 * 4;
    flight(w.products, e, e.warp / 4, now, "product").place =
        "warps " + std::to_string(first) + ".." + std::to_string(first + 3);
    cell(w, now, name("work", std::string("wgmma ") + e.array));
    return;
  }
  cell(w, now, name("wait", "wait for products", ++w.turns));
  land(w.products, e, now);
}

// --- the picture --------------------------------------------------------------------------------------------------

void Steps::wait_for_ever() {
  const long end = out_.steps + out_.steps / 20 + 1;
  for (auto& [who, w] : warps_) {
    for (int i = 0; i < LANES; ++i)
      if (const Lane& lane = w.lanes[std::size_t(i)]; lane.waits_since >= 0)
        fill(w, lane.waits_since, end, lane.waits_for, i);
    if (w.bar >= 0) fill(w, w.bar_since, end, name("barrier", "bar.sync " + std::to_string(w.bar), ++w.turns));
  }
  out_.steps = end;
}

// A warp's steps as slices. Products belong to what was read before them. Reads and writes of few steps each, taking
// turns, are one slice that names all their arrays: a stretch of work, and not a slice a step.
void Steps::merge(std::uint32_t block, int index, const Warp& w) {
  constexpr long SHORT = 8;
  struct Run {
    const Name* what;
    long begin, end;
    std::vector<const Name*> names;
  };
  std::vector<Run> runs;
  const auto is_access = [](const Name* n) {
    return n->kind == "work" && (n->name.starts_with("read ") || n->name.starts_with("write ") || n->name == "product");
  };
  for (long s = 0; s < long(w.cells.size()); ++s) {
    const Cell& c = w.cells[std::size_t(s)];
    if (!c.what) continue;
    Run* last = runs.empty() || runs.back().end != s ? nullptr : &runs.back();
    const bool product = c.product && is_access(c.what);
    if (last && (last->what == c.what || (product && is_access(last->what)))) {
      last->end = s + 1;
    } else {
      runs.push_back({c.what, s, s + 1, {c.what}});
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
    if (!known) last->names.push_back(run.what);
  }
  for (const Run& run : merged) {
    Slice s;
    s.block = block, s.track = index, s.begin = run.begin, s.end = run.end;
    s.kind = run.what->kind;
    std::string verb;
    for (const Name* what : run.names) {
      const std::string& text = what->name;
      const std::string first = text.substr(0, text.find(' '));
      const bool again = s.kind == "work" && first == verb && text.size() > first.size();
      s.name += s.name.empty() ? text : again ? ", " + text.substr(first.size() + 1) : "; " + text;
      verb = first;
    }
    out_.work.push_back(s);
  }
}

Picture Steps::picture(bool failed) {
  for (const auto& [who, w] : warps_) {
    out_.steps = std::max(out_.steps, latest(w));
    out_.warps[who.first] = who.second + 1;  // in order: the last is the largest
  }
  const long last = out_.steps;
  if (failed) wait_for_ever();
  for (const auto& [who, w] : warps_) merge(who.first, who.second, w);
  if (failed)
    for (Slice& s : out_.work) s.for_ever = s.end == out_.steps && s.end > last;
  for (auto& [barrier, slices] : phases_) {
    for (Slice& s : slices) s.track = int(out_.barriers.size());
    out_.phases.insert(out_.phases.end(), slices.begin(), slices.end());
    out_.barriers.push_back(barrier);
  }
  for (Flight& flight : out_.flights) {
    if (flight.landed < flight.issued || flight.end == NEVER) flight.end = out_.steps;
    flight.end = std::max(flight.end, flight.begin + 1);
    out_.steps = std::max(out_.steps, flight.end);
  }
  // The order in which the CPU met them is not part of the picture.
  std::ranges::stable_sort(out_.flights, {},
                           [](const Flight& f) { return std::tie(f.block, f.kind, f.begin, f.end, f.name, f.place); });
  return out_;
}

}  // namespace lab::trace
