#include "common/hang.hpp"

#include <cstdlib>

#include "common/joined.hpp"

namespace lab {
namespace {

std::string arrived_text(const Wait& wait) {
  return joined(", at which ", wait.of - wait.missing, " of ", wait.of, " threads have arrived");
}

std::string phase_text(const Wait& wait) {
  std::string missing = wait.missing ? joined(wait.missing, " of ", wait.of, " arrivals") : "";
  if (wait.bytes)
    missing += joined(missing.empty() ? "" : " and ", std::abs(wait.bytes),
                      wait.bytes > 0 ? " bytes missing" : " bytes more than were announced");
  else
    missing += " missing";
  return joined("phase ", wait.phase, " of ", wait.barrier, " (parity ", wait.phase & 1, "): ", missing);
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
    text += joined(text.empty() ? "" : ",", lane, last > lane ? joined("..", last) : "");
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
  const bool phased = w.at == Wait::At::mbarrier;
  return joined("at=", PLACES[int(w.at)].name, w.barrier.empty() ? "" : " barrier=" + w.barrier,
                phased ? joined(" phase=", w.phase, " parity=", w.phase & 1) : "",
                w.of ? joined(" missing=", w.missing, " of=", w.of) : "", phased ? joined(" bytes=", w.bytes) : "",
                " warps=", w.first_warp, "..", w.last_warp, " place=", w.file, ":", w.line);
}

std::string sentence(const Wait& w) {
  const bool one_warp = w.first_warp == w.last_warp, lanes = w.lanes & (w.lanes - 1);
  return joined(one_warp ? joined("Warp ", w.first_warp) : joined("Warps ", w.first_warp, "..", w.last_warp),
                lanes ? " lanes " : " lane ", lanes_text(w.lanes), one_warp && !lanes ? " waits " : " wait ",
                PLACES[int(w.at)].preposition, awaited(w), " (", w.file, ":", w.line, ").");
}

}  // namespace lab
