#include "checks/trace/json.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "checks/acceptance/format.hpp"

namespace lab::trace {
namespace {

// Processes of the trace, three for each block.
enum Group { warps_group, flights_group, barriers_group, GROUPS };
constexpr const char* GROUP_NAMES[GROUPS] = {"warps", "in flight", "barriers"};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

std::string args_of(const Slice& s) {
  std::string args;
  const auto add = [&](const std::string& key, unsigned long long value) {
    args += format("%s\"%s\":%llu", args.empty() ? "" : ",", key.c_str(), value);
  };
  for (std::size_t i = 0; i < COUNTS; ++i)
    if (s.counts[i]) add(COUNT_NAMES[i], s.counts[i]);
  if (s.for_ever) add("for ever", 1);
  return args;
}

}  // namespace

std::string to_json(const Picture& picture, const Head& head) {
  std::string events;
  const auto event = [&](const std::string& text) { events += (events.empty() ? "" : ",\n") + text; };
  const auto pid = [&](std::uint32_t block, Group group) {
    const auto at = std::ranges::find(picture.blocks, block) - picture.blocks.begin();
    return int(at) * GROUPS + group + 1;
  };
  const auto named = [&](const char* what, int process, int thread, const std::string& name) {
    event(format(R"({"ph":"M","pid":%d,"tid":%d,"name":"%s","args":{"name":%s}})", process, thread, what,
                 quoted(name).c_str()));
  };
  for (const std::uint32_t block : picture.blocks) {
    for (int group = 0; group < GROUPS; ++group) {
      const int process = pid(block, Group(group));
      named("process_name", process, 0, format("block %u: %s", unsigned(block), GROUP_NAMES[group]));
      event(format(R"({"ph":"M","pid":%d,"name":"process_sort_index","args":{"sort_index":%d}})", process, process));
    }
    for (int w = 0; w < picture.warps.at(block); ++w)
      named("thread_name", pid(block, warps_group), w, "warp " + std::to_string(w));
  }
  for (std::size_t i = 0; i < picture.barriers.size(); ++i)
    named("thread_name", pid(picture.barriers[i].first, barriers_group), int(i), picture.barriers[i].second);

  const auto slice = [&](const Slice& s, Group group) {
    event(format(R"({"ph":"X","pid":%d,"tid":%d,"ts":%ld,"dur":%ld,"cat":%s,"name":%s,"args":{%s}})",
                 pid(s.block, group), s.track, s.begin, s.end - s.begin, quoted(s.kind).c_str(), quoted(s.name).c_str(),
                 args_of(s).c_str()));
  };
  for (const Slice& s : picture.work) slice(s, warps_group);
  for (const Slice& s : picture.phases) slice(s, barriers_group);
  for (std::size_t i = 0; i < picture.flights.size(); ++i) {
    const Flight& f = picture.flights[i];
    const std::string same = format(R"("pid":%d,"tid":0,"id":%zu,"cat":%s,"name":%s)", pid(f.block, flights_group),
                                    i + 1, quoted(f.kind).c_str(), quoted(f.kind + " " + f.name).c_str());
    event(format(R"({"ph":"b",%s,"ts":%ld,"args":{"place":%s,"issued":%llu,"landed":%llu,"bytes":%llu}})", same.c_str(),
                 f.begin, quoted(f.place).c_str(), (unsigned long long)f.issued, (unsigned long long)f.landed,
                 (unsigned long long)f.bytes));
    event(format(R"({"ph":"e",%s,"ts":%ld})", same.c_str(), f.end));
  }
  return format(R"({"schema":"trace-1","stage":%s,"bug":%s,"shape":%s,"tile":%u,"steps":%ld,)",
                quoted(head.stage).c_str(), quoted(head.bug).c_str(), quoted(head.shape).c_str(), unsigned(head.tile),
                picture.steps) +
         "\n\"unit\":\"steps, not time: 1 us of the format is one step\",\n\"displayTimeUnit\":\"ns\",\n"
         "\"traceEvents\":[\n" +
         events + "\n]}\n";
}

}  // namespace lab::trace
