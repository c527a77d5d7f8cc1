// mbarriers in words, for a deadlock's report.
#include <map>
#include <set>

#include "common/emulator/block.hpp"
#include "common/emulator/mbarrier.hpp"
#include "common/hang.hpp"

namespace lab::cpu {
namespace {

std::string of_block(int peer) { return peer ? joined(" of block ", peer - 1, " of the cluster") : ""; }

// "warps 4..7 lane 0 (FILE:LINE), warp 1 lanes 0..31 (FILE:LINE)": warps whose lanes are the same share a line.
std::string who(const std::vector<MBarrierState::Arrival>& arrivals) {
  std::map<std::pair<int, std::string>, std::map<int, std::uint32_t>> by_line;  // by block, and line
  for (const auto& arrival : arrivals)
    by_line[{arrival.peer, place_text(arrival.pc)}][arrival.thread / LANES] |= 1u << arrival.thread % LANES;
  std::string text;
  for (const auto& [place, warps] : by_line) {
    const auto& [peer, line] = place;
    std::map<std::uint32_t, std::uint32_t> by_lanes;  // lanes -> warps
    for (const auto& [warp, lanes] : warps) by_lanes[lanes] |= 1u << warp;
    for (const auto& [lanes, mask] : by_lanes)
      text += joined(text.empty() ? "" : ", ", mask & (mask - 1) ? "warps " : "warp ", lanes_text(mask),
                     lanes & (lanes - 1) ? " lanes " : " lane ", lanes_text(lanes), of_block(peer), " (", line, ")");
  }
  return text;
}

}  // namespace

std::string MBarriers::full_text(int barrier) const {
  const MBarrierState& state = all_[barrier];
  return joined(": all ", state.arrivals, " arrivals of phase ", state.phase, " have been made; it waits for ",
                state.bytes, " bytes");
}

Wait MBarriers::wait_of(int barrier) const {
  const MBarrierState& state = all_[barrier];
  return {.at = Wait::At::mbarrier,
          .barrier = name(barrier),
          .phase = state.phase,
          .missing = int(state.pending),
          .of = int(state.arrivals),
          .bytes = state.bytes,
          .no_arrival = state.arrived.empty(),
          .no_copy = !state.last_load.pc};
}

std::string MBarriers::story() const {
  std::string text;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const MBarrierState& state = all_[i];
    if (!state.waiting) continue;
    text += joined(" ", name(int(i)), ": in phase ", state.phase, " ",
                   state.arrived.empty() ? "no thread has arrived" : "arrived " + who(state.arrived));
    if (state.pending && !state.arrived_before.empty())
      text += "; in the one before it arrived " + who(state.arrived_before);
    const auto& [thread, pc, phase] = state.last_load;
    if (!pc)
      text += state.bytes > 0 ? "; no copy was ever issued for it" : "";
    else
      text += joined("; its last copy was issued in phase ", phase, " by warp ", thread.warp, " lane ", thread.lane,
                     of_block(thread.peer), " (", place_text(pc), ")");
    text += ".";
  }
  return text;
}

}  // namespace lab::cpu
