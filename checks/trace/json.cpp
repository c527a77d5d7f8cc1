#include "checks/trace/json.hpp"

#include <algorithm>

#include "checks/acceptance/format.hpp"

namespace lab::trace {
namespace {

// Processes of the trace, three for each block.
enum Group { warps_group, flights_group, barriers_group, GROUPS };
constexpr const char* GROUP_NAMES[GROUPS] = {"warps", "in flight", "barriers"};

}  // namespace

// Names are identifiers of a kernel and words of the lab: nothing in them needs an escape.
std::string to_json(const Picture& picture, const Head& head) {
  std::string events;
  const auto event = [&](const std::string& one) { events += (events.empty() ? "{" : ",\n{") + one + "}"; };
  const auto pid = [&](std::uint32_t block, Group group) {
    return int(std::distance(picture.warps.begin(), picture.warps.find(block))) * GROUPS + group + 1;
  };
  const auto named = [&](const char* what, int process, int thread, const std::string& name) {
    event(
        format(R"("ph":"M","pid":%d,"tid":%d,"name":"%s","args":{"name":"%s"})", process, thread, what, name.c_str()));
  };
  for (const auto& [block, warps] : picture.warps) {
    for (int group = 0; group < GROUPS; ++group) {
      const int process = pid(block, Group(group));
      named("process_name", process, 0, "block " + std::to_string(block) + ": " + GROUP_NAMES[group]);
      event(format(R"("ph":"M","pid":%d,"name":"process_sort_index","args":{"sort_index":%d})", process, process));
    }
    for (int w = 0; w < warps; ++w) named("thread_name", pid(block, warps_group), w, "warp " + std::to_string(w));
  }
  for (std::size_t i = 0; i < picture.barriers.size(); ++i)
    named("thread_name", pid(picture.barriers[i].first, barriers_group), int(i), picture.barriers[i].second);

  for (const Group group : {warps_group, barriers_group})
    for (const Slice& s : group == warps_group ? picture.work : picture.phases)
      event(format(R"("ph":"X","pid":%d,"tid":%d,"ts":%ld,"dur":%ld,"cat":"%s","name":"%s","args":{%s})",
                   pid(s.block, group), s.track, s.begin, s.end - s.begin, s.kind.c_str(), s.name.c_str(),
                   s.for_ever ? "\"for ever\":1" : ""));
  for (std::size_t i = 0; i < picture.flights.size(); ++i) {
    const Flight& f = picture.flights[i];
    const auto part = [&](const char* which, long at, const std::string& args) {
      event(format(R"("ph":"%s","pid":%d,"tid":0,"id":%zu,"cat":"%s","name":"%s %s","ts":%ld%s)", which,
                   pid(f.block, flights_group), i + 1, f.kind.c_str(), f.kind.c_str(), f.name.c_str(), at,
                   args.c_str()));
    };
    const auto number = [](std::uint64_t n) { return std::to_string(n); };
    part("b", f.begin,
         ",\"args\":{\"place\":\"" + f.place + "\",\"issued\":" + number(f.issued) + ",\"landed\":" + number(f.landed) +
             ",\"bytes\":" + number(f.bytes) + "}");
    part("e", f.end, "");
  }
  return format(R"({"stage":"%s","bug":"%s","shape":"%s","tile":%u,"steps":%ld,)", head.stage.c_str(), head.bug.c_str(),
                head.shape.c_str(), head.tile, picture.steps) +
         "\n\"unit\":\"steps, not time: 1 us of the format is one step\",\n\"displayTimeUnit\":\"ns\",\n"
         "\"traceEvents\":[\n" +
         events + "\n]}\n";
}

}  // namespace lab::trace
