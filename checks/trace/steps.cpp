#include "checks/trace/steps.hpp"

#include <algorithm>

namespace lab::trace {

using Kind = ExecEvent::Kind;

static std::string element(const ExecEvent& e) { return std::string(e.array) + "[" + std::to_string(e.row) + "]"; }

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
    case Kind::mbarrier_land:
    case Kind::mbarrier_arrive:
    case Kind::mbarrier_complete:
    case Kind::mbarrier_wait:
    case Kind::mbarrier_pass:
      return mbarrier(e);
    default:
      return asynchronous(e);
  }
}

void Steps::block_barrier(const ExecEvent& e) {
  Barrier& barrier = block_barriers_[e.block];
  const Name* const what = name("barrier", "__syncthreads", barrier.uses);
  if (e.kind == Kind::arrive) {
    Lane& lane = warps_[{e.block, e.warp}].lanes[std::size_t(e.lane)];
    lane.waits_since = lane.clock, lane.waits_for = what;
    barrier.last = std::max(barrier.last, lane.clock);
    return;
  }
  const long until = std::exchange(barrier.last, 0) + 1;
  ++barrier.uses;
  for (auto& [who, w] : warps_) {
    long since = -1;
    for (Lane& lane : w.lanes)
      if (who.first == e.block && lane.waits_since >= 0 && lane.waits_for == what)
        since = std::max(since, std::exchange(lane.waits_since, -1));
    if (since < 0) continue;
    fill(w, since, until, what);
    for (Lane& lane : w.lanes) lane.clock = until;
  }
}

void Steps::named_barrier(const ExecEvent& e) {
  const std::string text = std::to_string(e.bytes);
  long& last = named_[{e.block, e.bytes}];
  if (e.kind == Kind::bar_arrive) {
    Warp& w = warps_[{e.block, e.warp}];
    const long now = meet(w, e.byte ? 0 : 1);
    last = std::max(last, now);
    if (e.byte)
      w.bar = e.bytes, w.bar_since = now;
    else
      cell(w, now, name("barrier", "bar.arrive " + text, ++w.turns));
  } else if (e.kind == Kind::bar_release) {
    const long until = std::exchange(last, 0) + 1;
    for (auto& [who, w] : warps_) {
      if (who.first != e.block || w.bar != e.bytes) continue;
      fill(w, w.bar_since, until, name("barrier", "bar.sync " + text, ++w.turns));
      for (Lane& lane : w.lanes) lane.clock = until;
      w.bar = -1;
    }
  }
}

void Steps::cluster_barrier(const ExecEvent& e) {
  Warp& w = warps_[{e.block, e.warp}];
  Lane& lane = w.lanes[std::size_t(e.lane)];
  if (e.kind == Kind::cluster_arrive) {
    cluster_.resize(std::max(cluster_.size(), lane.at_cluster + 1));
    long& last = cluster_[lane.at_cluster++];
    last = std::max(last, lane.clock);
    cell(w, lane.clock++, name("barrier", "cluster arrive", lane.at_cluster), e.lane);
    return;
  }
  const long until = std::max(lane.clock, cluster_[lane.past_cluster++]) + 1;
  fill(w, lane.clock, until, name("barrier", "cluster wait", lane.past_cluster), e.lane);
  lane.clock = until;
}

void Steps::mbarrier(const ExecEvent& e) {
  Phases& phases = mbarriers_[{e.block, e.array, e.row}];
  const auto there = [&](long when) { phases.last = std::max(phases.last, when); };
  if (e.kind == Kind::mbarrier_land) {
    if (landed_) {
      there(*std::exchange(landed_, std::nullopt) + 1);
    } else {  // it comes from another block, and as it is sent: that block's thread is where its clock says
      for (const auto& [who, w] : warps_)
        if (who.first != e.block && who.second == e.warp) there(w.lanes[std::size_t(e.lane)].clock);
    }
    return;
  }
  Warp& w = warps_[{e.block, e.warp}];
  Lane& lane = w.lanes[std::size_t(e.lane)];
  if (e.kind == Kind::mbarrier_complete) {
    phases.complete.push_back(
        std::max(std::exchange(phases.last, 0), phases.complete.empty() ? 0 : phases.complete.back()));
  } else if (e.kind == Kind::mbarrier_arrive) {
    there(lane.clock);
    step(w, e.lane, name("work", "arrive " + element(e)));
  } else if (e.kind == Kind::mbarrier_wait) {
    lane.waits_since = lane.clock, lane.waits_for = name("wait", "wait " + element(e), phases.complete.size());
  } else {
    lane.waits_since = -1;
    const long until = std::max(lane.clock, e.bytes < 0 ? 0 : phases.complete[std::size_t(e.bytes)]) + 1;
    fill(w, lane.clock, until, name("wait", "wait " + element(e), std::uint64_t(e.bytes)), e.lane);
    lane.clock = until;
  }
}

void Steps::asynchronous(const ExecEvent& e) {
  Warp& w = warps_[{e.block, e.warp}];
  Lane& lane = w.lanes[std::size_t(e.lane)];
  if (e.kind == Kind::copy) {
    step(w, e.lane, name("copy", std::string("copy ") + e.array));
  } else if (e.kind == Kind::wait) {
    cell(w, lane.clock++, name("wait", "wait for copies", ++lane.copy_waits), e.lane);
  } else if (e.kind == Kind::tma_issue) {
    tma_[{e.block, e.array, e.row}] = lane.clock;
    step(w, e.lane, name("copy", std::string("request ") + e.array));
  } else if (e.kind == Kind::tma_land) {
    landed_ = tma_[{e.block, e.array, e.row}];
  } else if (e.kind == Kind::wgmma_issue) {
    cell(w, meet(w, 1), name("work", std::string("wgmma ") + e.array));
  } else if (e.kind == Kind::wgmma_wait) {
    cell(w, meet(w, 1), name("wait", "wait for products", ++w.turns));
  }
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
    const bool both = last && is_access(last->names[0]) && is_access(c.what);
    const bool known =
        last && (last->names[0] == c.what || (both && (c.product || std::ranges::count(last->names, c.what))));
    if (!known && !(both && last->end - last->begin < SHORT)) {
      runs.push_back({s, s + 1, {c.what}});
      continue;
    }
    last->end = s + 1;
    if (!known) last->names.push_back(c.what);
  }
  for (const Run& run : runs) {
    Slice s;
    s.block = block, s.warp = index, s.begin = run.begin, s.end = run.end;
    s.kind = run.names[0]->kind;
    std::string verb;
    for (const Name* what : run.names) {
      const std::string& text = what->name;
      const std::string first = text.substr(0, text.find(' '));
      const bool again = s.kind == "work" && first == verb && text.size() > first.size();
      s.name += s.name.empty() ? text : again ? ", " + text.substr(first.size() + 1) : "; " + text;
      verb = first;
    }
    out_.slices.push_back(s);
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
    for (Slice& s : out_.slices) s.for_ever = s.end == out_.steps && s.end > last;
  return out_;
}

}  // namespace lab::trace
