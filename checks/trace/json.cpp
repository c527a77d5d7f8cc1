#include "checks/trace/json.hpp"

#include <algorithm>

#include "checks/acceptance/format.hpp"

namespace lab::trace {
namespace {

// Processes of the trace, three for each block.
enum Group { warps_group, flights_group, barriers_group, GROUPS };
constexpr const char* GROUP_NAMES[GROUPS] = {"warps", "in flight", "barriers"};

std::string args_of(const Slice& s) {
  std::string args;
  for (std::size_t i = 0; i < COUNTS; ++i)
    if (s.counts[i]) args += format("\"%s\":%llu,", COUNT_NAMES[i], static_cast<unsigned long long>(s.counts[i]));
  if (s.for_ever) args += "\"for ever\":1,";
  return args.substr(0, args.size() - !args.empty());
}

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
                   args_of(s).c_str()));
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

std::vector<std::string> wrong_with(const Picture& picture, const std::map<std::string, long>& counts, bool failed) {
  std::vector<std::string> wrong;
  for (const Flight& f : picture.flights)
    if (!failed && f.issued != f.landed)
      wrong.push_back(format("%s %s of %s: %llu issued, %llu landed", f.kind.c_str(), f.name.c_str(), f.place.c_str(),
                             static_cast<unsigned long long>(f.issued), static_cast<unsigned long long>(f.landed)));
  std::map<std::string, long> seen;
  std::map<std::pair<std::uint32_t, int>, long> ends;  // of each warp's slices so far, which are in order
  for (const Slice& s : picture.work) {
    for (std::size_t i = 0; i < COUNTS; ++i) seen[COUNT_NAMES[i]] += long(s.counts[i]);
    long& end = ends[{s.block, s.track}];
    if (s.begin < end || s.end <= s.begin || s.end > picture.steps)
      wrong.push_back(format("slice %s of steps %ld to %ld overlaps or lies outside the trace's %ld", s.name.c_str(),
                             s.begin, s.end, picture.steps));
    end = s.end;
  }
  for (const Slice& s : picture.phases)
    ++seen[s.name.starts_with("barrier ") ? "barriers" : s.name.starts_with("phase ") ? "phases" : ""];
  for (const auto& [what, count] : counts)
    if (seen[what] != count)
      wrong.push_back(format("%s: %ld in the trace, and %ld counted", what.c_str(), seen[what], count));
  return wrong;
}

}  // namespace lab::trace
