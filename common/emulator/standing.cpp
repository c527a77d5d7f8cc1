// Where the threads of a block stand, in words: for a deadlock, and for a block whose time is up.
#include "common/emulator/block.hpp"
#include "common/emulator/cluster.hpp"

namespace lab::cpu {

Wait Block::waits_in(const Fiber& fiber) const {
  using At = Wait::At;
  if (!(warps_[fiber.warp].parked >> fiber.lane & 1)) return {.at = At::block_barrier};
  const NamedBarrier& named = named_[fiber.waits_for == At::named_barrier ? fiber.which : 0];
  switch (const At at = fiber.waits_for) {
    case At::mbarrier:
      return mbarriers_.wait_of(fiber.which);
    case At::named_barrier:
      return {.at = at,
              .barrier = std::to_string(fiber.which),
              .missing = named.expected - named.arrived,
              .of = named.expected};
    case At::cluster_barrier:
      return {.at = at, .missing = cluster_->live() - cluster_->arrived(), .of = cluster_->live()};
    case At::spin:
      return {.at = at, .words = spins_on(fiber)};
    case At::products:
      return {.at = at, .words = warpgroups_.waits_for(fiber.warp)};
    case At::registers:
      return {.at = at, .words = registers_.waits_for(fiber.warp)};
    default:
      return {.at = at};
  }
}

// Every lane that waits: in what, for whom, at which line. Those that do not are ready to run.
std::string Block::where_lanes_stand(Hang& hang) const {
  std::vector<Wait> standing;
  const auto add = [&](int warp, std::uint32_t lanes, Wait wait) {
    const SourceLine line = source_line(fibers_[warp * LANES + __builtin_ctz(lanes)].waits_at);
    wait.file = line.file, wait.line = line.line, wait.text = source_text(line.file, line.line);
    wait.rank = cluster_->size() > 1 ? rank_ : -1;
    wait.first_warp = wait.last_warp = warp, wait.lanes = lanes;
    for (Wait& known : standing)
      if (known.last_warp == warp - 1) {
        wait.first_warp = known.first_warp, wait.last_warp = known.last_warp;
        if (known == wait) {
          known.last_warp = warp;
          return;
        }
      }
    wait.first_warp = wait.last_warp = warp;
    standing.push_back(wait);
  };
  for (int w = 0; w < warp_count_; ++w) {
    std::uint32_t others = 0;
    for (int lane = 0; lane < LANES && w * LANES + lane < threads_; ++lane) others |= 1u << lane;
    others &= ~warps_[w].exited & ~warps_[w].ready;
    for (int i = 0; i < warps_[w].open; ++i) {
      const Rendezvous& open = warps_[w].meeting[i];
      others &= ~open.arrived;
      add(w, open.arrived,
          {.at = Wait::At::lanes,
           .words = joined(open.kind->name, " for lanes ", lanes_text(open.mask & ~open.arrived))});
    }
    while (others) {
      const Fiber& first = fibers_[w * LANES + __builtin_ctz(others)];
      const Wait wait = waits_in(first);
      std::uint32_t alike = 0;
      for (std::uint32_t rest = others; rest; rest &= rest - 1) {
        const Fiber& fiber = fibers_[w * LANES + __builtin_ctz(rest)];
        // Not by waits_at: a compiler may make two calls of one in the source.
        if (place_text(fiber.waits_at) == place_text(first.waits_at) && waits_in(fiber) == wait)
          alike |= 1u << fiber.lane;
      }
      add(w, alike, wait);
      others &= ~alike;
    }
  }
  std::string text;
  for (const Wait& wait : standing) text += " " + sentence(wait);
  std::uint32_t gone = 0;
  for (int w = 0; w < warp_count_; ++w)
    if (warps_[w].exited == 0xFFFFFFFFu) gone |= 1u << w;
  if (gone) text += " All lanes of these warps have returned: " + lanes_text(gone) + ".";
  hang.waits.insert(hang.waits.end(), standing.begin(), standing.end());
  hang.returned.push_back(gone);
  return text;
}

void Block::deadlock() {
  const bool several = cluster_->size() > 1;
  hang_.deadlock = true;
  const std::string where = several ? cluster_->standing(hang_) : standing(hang_);
  fail(Finding::Kind::deadlock, 0, "deadlock: no thread ", several ? "of the cluster " : "", "can go on.", where);
}

void Block::time_is_up(std::uintptr_t pc) {
  expired_ = expired_ + 1;
  interrupt_ = 1;
  if (expired_ < 3 || in_runtime_) return;
  Fault fault;
  fault.time_is_up = true, fault.pc = pc;
  this->fault(fault);
}

std::string Block::ran_for() const {
  const int blocks = cluster_->size();
  return joined(blocks > 1 ? joined("the cluster's ", blocks, " blocks have") : "the block has", " run for ",
                options_.block_seconds * blocks, " s");
}

void Block::out_of_time(std::uintptr_t pc) {
  fail(Finding::Kind::time_limit, pc, "time limit: ", ran_for(), " and this lane goes on.", where_lanes_stand(hang_));
}

}  // namespace lab::cpu
