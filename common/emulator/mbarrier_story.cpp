// mbarriers in words, for a deadlock's report.
#include <map>
#include <set>

#include "common/emulator/block.hpp"
#include "common/emulator/mbarrier.hpp"
#include "common/hang.hpp"

namespace lab::cpu {
namespace {

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
      text += (text.empty() ? "" : ", ") + std::string(mask & (mask - 1) ? "warps " : "warp ") + lanes_text(mask) +
              (lanes & (lanes - 1) ? " lanes " : " lane ") + lanes_text(lanes) +
              (peer ? " of block " + std::to_string(peer - 1) + " of the cluster" : "") + " (" + line + ")";
  }
  return text;
}

}  // namespace

std::string MBarriers::full_text(int barrier) const {
  const MBarrierState& state = all_[barrier];
  return ": all " + std::to_string(state.arrivals) + " arrivals of phase " + std::to_string(state.phase) +
         " have been made; it waits for " + std::to_string(state.bytes) + " bytes";
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
    if (state.waiting.empty()) continue;
    const std::string phase = std::to_string(state.phase);
    text += " " + name(int(i)) + ": in phase " + phase + " " +
            (state.arrived.empty() ? "no thread has arrived" : "arrived " + who(state.arrived));
    if (state.pending && !state.arrived_before.empty())
      text += "; in the one before it arrived " + who(state.arrived_before);
    if (!state.last_load.pc)
      text += state.bytes > 0 ? "; no copy was ever issued for it" : "";
    else
      text += "; its last copy was issued in phase " + std::to_string(state.last_load.phase) + " by warp " +
              std::to_string(state.last_load.thread.warp) + " lane " + std::to_string(state.last_load.thread.lane) +
              (state.last_load.thread.peer
                   ? " of block " + std::to_string(state.last_load.thread.peer - 1) + " of the cluster"
                   : "") +
              " (" + place_text(state.last_load.pc) + ")";
    text += ".";
  }
  return text;
}

}  // namespace lab::cpu
