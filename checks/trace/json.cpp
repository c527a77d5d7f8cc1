#include "checks/trace/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lab::trace {
namespace {

using Json = nlohmann::ordered_json;

// Processes of the trace, three for each block.
enum Group { warps_group, flights_group, barriers_group, GROUPS };
constexpr const char* GROUP_NAMES[GROUPS] = {"warps", "in flight", "barriers"};

Json args_of(const Slice& s) {
  Json args = Json::object();
  for (std::size_t i = 0; i < COUNTS; ++i)
    if (s.counts[i]) args[COUNT_NAMES[i]] = s.counts[i];
  if (s.for_ever) args["for ever"] = 1;
  return args;
}

}  // namespace

std::string to_json(const Picture& picture, const Head& head) {
  std::string events;
  const auto event = [&](const Json& one) { events += (events.empty() ? "" : ",\n") + one.dump(); };
  const auto pid = [&](std::uint32_t block, Group group) {
    const auto at = std::ranges::find(picture.blocks, block) - picture.blocks.begin();
    return int(at) * GROUPS + group + 1;
  };
  const auto named = [&](const char* what, int process, int thread, const std::string& name) {
    event({{"ph", "M"}, {"pid", process}, {"tid", thread}, {"name", what}, {"args", {{"name", name}}}});
  };
  for (const std::uint32_t block : picture.blocks) {
    for (int group = 0; group < GROUPS; ++group) {
      const int process = pid(block, Group(group));
      named("process_name", process, 0, "block " + std::to_string(block) + ": " + GROUP_NAMES[group]);
      event({{"ph", "M"}, {"pid", process}, {"name", "process_sort_index"}, {"args", {{"sort_index", process}}}});
    }
    for (int w = 0; w < picture.warps.at(block); ++w)
      named("thread_name", pid(block, warps_group), w, "warp " + std::to_string(w));
  }
  for (std::size_t i = 0; i < picture.barriers.size(); ++i)
    named("thread_name", pid(picture.barriers[i].first, barriers_group), int(i), picture.barriers[i].second);

  const auto slice = [&](const Slice& s, Group group) {
    event({{"ph", "X"},
           {"pid", pid(s.block, group)},
           {"tid", s.track},
           {"ts", s.begin},
           {"dur", s.end - s.begin},
           {"cat", s.kind},
           {"name", s.name},
           {"args", args_of(s)}});
  };
  for (const Slice& s : picture.work) slice(s, warps_group);
  for (const Slice& s : picture.phases) slice(s, barriers_group);
  for (std::size_t i = 0; i < picture.flights.size(); ++i) {
    const Flight& f = picture.flights[i];
    Json one = {{"ph", "b"},     {"pid", pid(f.block, flights_group)}, {"tid", 0},     {"id", i + 1},
                {"cat", f.kind}, {"name", f.kind + " " + f.name},      {"ts", f.begin}};
    Json begin = one;
    begin["args"] = {{"place", f.place}, {"issued", f.issued}, {"landed", f.landed}, {"bytes", f.bytes}};
    event(begin);
    one["ph"] = "e", one["ts"] = f.end;
    event(one);
  }
  const Json facts = {{"schema", "trace-1"}, {"stage", head.stage}, {"bug", head.bug},
                      {"shape", head.shape}, {"tile", head.tile},   {"steps", picture.steps}};
  std::string text = facts.dump();
  text.back() = ',';  // the object goes on
  return text +
         "\n\"unit\":\"steps, not time: 1 us of the format is one step\",\n\"displayTimeUnit\":\"ns\",\n"
         "\"traceEvents\":[\n" +
         events + "\n]}\n";
}

}  // namespace lab::trace
