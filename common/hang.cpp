#include "common/hang.hpp"

#include <cstdlib>

namespace lab {
namespace {

std::string arrived_text(const Wait& wait) {
  return ", at which " + std::to_string(wait.of - wait.missing) + " of " + std::to_string(wait.of) +
         " threads have arrived";
}

std::string phase_text(const Wait& wait) {
  std::string missing;
  if (wait.missing) missing = std::to_string(wait.missing) + " of " + std::to_string(wait.of) + " arrivals";
  if (wait.bytes)
    missing += (missing.empty() ? "" : " and ") + std::to_string(std::abs(wait.bytes)) +
               (wait.bytes > 0 ? " bytes missing" : " bytes more than were announced");
  else
    missing += " missing";
  return "phase " + std::to_string(wait.phase) + " of " + wait.barrier + " (parity " + std::to_string(wait.phase & 1) +
         "): " + missing;
}

// In the order of Wait::At.
struct Place {
  const char *name, *preposition;
};
constexpr Place PLACES[] = {{"mbarrier", "for "},     {"named-barrier", "at "}, {"cluster-barrier", "at "},
                            {"block-barrier", "at "}, {"stores", "for "},       {"products", "in "},
                            {"registers", "for "},    {"lanes", "in "},         {"spin", "in "}};

}  // namespace

std::string lanes_text(std::uint32_t mask) {
  constexpr int LANES = 32;
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

std::string awaited(const Wait& wait) {
  switch (wait.at) {
    case Wait::At::mbarrier:
      return phase_text(wait);
    case Wait::At::named_barrier:
      return "barrier " + wait.barrier + arrived_text(wait);
    case Wait::At::cluster_barrier:
      return "the cluster's barrier" + arrived_text(wait);
    case Wait::At::block_barrier:
      return "a block barrier";
    case Wait::At::stores:
      return "TMA stores";
    case Wait::At::products:
      return "wgmma.mma_async for " + wait.words;
    case Wait::At::registers:
    case Wait::At::lanes:
    case Wait::At::spin:
      return wait.words;
  }
  return "";
}

std::string data_of(const Wait& w) {
  const auto field = [](const char* key, const auto& value) { return std::string(" ") + key + "=" + value; };
  std::string text = std::string("at=") + PLACES[int(w.at)].name;
  if (!w.barrier.empty()) text += field("barrier", w.barrier);
  if (w.at == Wait::At::mbarrier)
    text += field("phase", std::to_string(w.phase)) + field("parity", std::to_string(w.phase & 1));
  if (w.of) text += field("missing", std::to_string(w.missing)) + field("of", std::to_string(w.of));
  if (w.at == Wait::At::mbarrier) text += field("bytes", std::to_string(w.bytes));
  text += field("warps", std::to_string(w.first_warp) + ".." + std::to_string(w.last_warp));
  return text + field("place", w.file + ":" + std::to_string(w.line));
}

std::string sentence(const Wait& w) {
  const bool one_warp = w.first_warp == w.last_warp, lanes = w.lanes & (w.lanes - 1);
  return (one_warp ? "Warp " + std::to_string(w.first_warp)
                   : "Warps " + std::to_string(w.first_warp) + ".." + std::to_string(w.last_warp)) +
         (lanes ? " lanes " : " lane ") + lanes_text(w.lanes) + (one_warp && !lanes ? " waits " : " wait ") +
         PLACES[int(w.at)].preposition + awaited(w) + " (" + w.file + ":" + std::to_string(w.line) + ").";
}

}  // namespace lab
