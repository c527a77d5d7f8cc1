#include "checks/bugs/hang.hpp"

#include <algorithm>

namespace lab {

Wait at_mbarrier(const std::string& barrier, unsigned phase, int missing, int of) {
  return {.at = Wait::At::mbarrier, .barrier = barrier, .phase = phase, .missing = missing, .of = of};
}
Wait at_barrier(int number, int arrived, int of) {
  return {.at = Wait::At::named_barrier, .barrier = std::to_string(number), .missing = of - arrived, .of = of};
}
Wait for_bytes(const std::string& barrier, unsigned phase, std::int64_t bytes) {
  return {.at = Wait::At::mbarrier, .barrier = barrier, .phase = phase, .bytes = bytes};
}

static bool stands_so(const Wait& seen, const Wait& wanted) {
  const bool lanes = !wanted.lanes || (seen.lanes == wanted.lanes && seen.first_warp == wanted.first_warp &&
                                       seen.last_warp == wanted.last_warp);
  const bool place = seen.text.find(wanted.text) != seen.text.npos;
  const bool arrivals = seen.missing == wanted.missing && (!wanted.of || seen.of == wanted.of);
  return seen.at == wanted.at && seen.barrier == wanted.barrier && seen.phase == wanted.phase && arrivals &&
         seen.bytes == wanted.bytes && seen.words == wanted.words && (seen.no_arrival || !wanted.no_arrival) &&
         (seen.no_copy || !wanted.no_copy) && lanes && place;
}

const Wait* found(const Hang& report, const NamedHang& hang) {
  const auto where = [&](const Wait& wanted) {
    return std::ranges::find_if(report.waits, [&](const Wait& seen) { return stands_so(seen, wanted); });
  };
  const auto first = where(hang.wait);
  const bool also = std::ranges::all_of(hang.also, [&](const Wait& w) { return where(w) != report.waits.end(); });
  const bool returned = !hang.returned || std::ranges::find(report.returned, hang.returned) != report.returned.end();
  return report.deadlock && first != report.waits.end() && also && returned ? &*first : nullptr;
}

std::string also_text(const NamedHang& hang) {
  std::string text;
  if (hang.wait.no_arrival) text += "; no thread has arrived in that phase";
  for (const Wait& wait : hang.also) text += "; others for " + awaited(wait);
  if (hang.returned) text += "; warps " + lanes_text(hang.returned) + " have returned";
  return text;
}

}  // namespace lab
