// Where the threads of a block stand, in words: for a deadlock, and for a block whose time is up.
#include <sstream>

#include "common/cpu/exec/block.hpp"
#include "common/cpu/exec/cluster.hpp"
#include "common/cpu/exec/words.hpp"

namespace lab::cpu {

std::string hex(std::uint32_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

std::string lanes_text(std::uint32_t mask) {
  std::string text;
  for (int lane = 0; lane < LANES; ++lane) {
    if (!(mask >> lane & 1)) continue;
    int last = lane;
    while (last + 1 < LANES && (mask >> (last + 1) & 1)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(lane) + (last > lane ? ".." + std::to_string(last) : "");
    lane = last;
  }
  return text;
}

namespace {

std::string line_at(std::uintptr_t pc) {
  const SourceLine line = source_line(pc);
  return " (" + line.file + ":" + std::to_string(line.line) + ")";
}

// Some lanes of warps that follow each other, and what all of them wait for.
struct Standing {
  int first_warp, last_warp;
  std::uint32_t lanes;
  std::string text;
};

// Warps that stand alike share a sentence.
void add(std::vector<Standing>& all, int warp, std::uint32_t lanes, const std::string& text) {
  for (Standing& known : all)
    if (known.last_warp == warp - 1 && known.lanes == lanes && known.text == text) {
      known.last_warp = warp;
      return;
    }
  all.push_back({warp, warp, lanes, text});
}

}  // namespace

std::string Block::waits_in(const Fiber& fiber) const {
  const std::string at = line_at(fiber.waits_at);
  if (fiber.mbarrier >= 0) return "wait for " + mbarriers_.phase_text(fiber.mbarrier) + at;
  if (fiber.waits_for_cluster) return "wait at the cluster's barrier, " + cluster_->barrier_text() + at;
  if (fiber.bulk_waits_until) return "wait for TMA stores" + at;
  if (warpgroups_.parked(fiber.warp) >> fiber.lane & 1)
    return "wait in wgmma.mma_async for " + warpgroups_.waits_for(fiber.warp) + at;
  if (registers_.parked(fiber.warp) >> fiber.lane & 1) return "wait for " + registers_.waits_for(fiber.warp) + at;
  return "wait at a block barrier" + at;
}

// Every lane that waits: in what, for whom, at which line. Those that do not are ready to run.
std::string Block::where_lanes_stand() const {
  std::vector<Standing> standing;
  for (int w = 0; w < warp_count_; ++w) {
    std::uint32_t others = 0;
    for (int lane = 0; lane < LANES && w * LANES + lane < threads_; ++lane) others |= 1u << lane;
    others &= ~warps_[w].exited & ~warps_[w].ready;
    for (int i = 0; i < warps_[w].open; ++i) {
      const Rendezvous& open = warps_[w].meeting[i];
      others &= ~open.arrived;
      add(standing, w, open.arrived,
          std::string("wait in ") + name(open.kind) + " for lanes " + lanes_text(open.mask & ~open.arrived) +
              line_at(fibers_[w * LANES + __builtin_ctz(open.arrived)].waits_at));
    }
    if (const std::uint32_t parked = warps_[w].parked) {
      others &= ~parked;
      const NamedBarrier& at = named_[warps_[w].parked_at];
      add(standing, w, parked,
          "wait at barrier " + std::to_string(warps_[w].parked_at) + ", at which " + std::to_string(at.arrived) +
              " of " + std::to_string(at.expected) + " threads have arrived" +
              line_at(fibers_[w * LANES + __builtin_ctz(parked)].waits_at));
    }
    while (others) {
      const Fiber& first = fibers_[w * LANES + __builtin_ctz(others)];
      const std::string text = waits_in(first);
      std::uint32_t alike = 0;
      for (std::uint32_t rest = others; rest; rest &= rest - 1) {
        const Fiber& fiber = fibers_[w * LANES + __builtin_ctz(rest)];
        // Not by waits_at: a compiler may make two calls of one in the source.
        if (fiber.mbarrier == first.mbarrier && waits_in(fiber) == text) alike |= 1u << fiber.lane;
      }
      add(standing, w, alike, text);
      others &= ~alike;
    }
  }
  std::string text;
  for (const Standing& s : standing) {
    // Each text begins with "wait".
    const bool alone = s.first_warp == s.last_warp && !(s.lanes & (s.lanes - 1));
    text +=
        (s.first_warp == s.last_warp ? " Warp " + std::to_string(s.first_warp)
                                     : " Warps " + std::to_string(s.first_warp) + ".." + std::to_string(s.last_warp)) +
        (s.lanes & (s.lanes - 1) ? " lanes " : " lane ") + lanes_text(s.lanes) + (alone ? " waits" : " wait") +
        s.text.substr(4) + ".";
  }
  std::uint32_t gone = 0;
  for (int w = 0; w < warp_count_; ++w)
    if (warps_[w].exited == 0xFFFFFFFFu) gone |= 1u << w;
  if (gone) text += " All lanes of these warps have returned: " + lanes_text(gone) + ".";
  return text;
}

void Block::deadlock() {
  if (cluster_ && cluster_->size() > 1)
    fail(cudaErrorLaunchTimeout, Finding::Kind::deadlock,
         "deadlock: no thread of the cluster can go on." + cluster_->standing(), 0);
  fail(cudaErrorLaunchTimeout, Finding::Kind::deadlock,
       "deadlock: no thread can go on." + where_lanes_stand() + mbarriers_.story(), 0);
}

void Block::time_is_up(std::uintptr_t pc) {
  expired_ = expired_ + 1;
  interrupt_ = 1;
  if (expired_ < 2) return;
  Fault fault;
  fault.time_is_up = true, fault.pc = pc;
  this->fault(fault);
}

std::string Block::ran_for() const {
  const int blocks = cluster_ ? cluster_->size() : 1;
  std::ostringstream text;
  if (blocks > 1)
    text << "the cluster's " << blocks << " blocks have";
  else
    text << "the block has";
  text << " run for " << options_.block_seconds * blocks << " s";
  return text.str();
}

void Block::out_of_time(std::uintptr_t pc) {
  std::ostringstream text;
  text << "time limit: " << ran_for() << " and this lane goes on." << where_lanes_stand();
  fail(cudaErrorLaunchTimeout, Finding::Kind::time_limit, text.str(), pc);
}

}  // namespace lab::cpu
