// The rules of a trace, checked on the file and not on the data that it was written from.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "checks/acceptance/format.hpp"
#include "checks/trace/json.hpp"

namespace lab::trace {
namespace {

using Json = nlohmann::json;
using Track = std::pair<int, int>;

// Slices of one track lie one behind the other, or one within the other.
void check_nesting(const std::map<Track, std::vector<std::pair<long, long>>>& tracks, std::vector<std::string>& wrong) {
  for (const auto& [track, all] : tracks) {
    std::vector<std::pair<long, long>> slices = all;
    std::ranges::sort(slices, [](const auto& a, const auto& b) {
      return std::pair(a.first, -a.second) < std::pair(b.first, -b.second);
    });
    std::vector<long> open;  // ends of those around
    for (const auto& [begin, end] : slices) {
      while (!open.empty() && open.back() <= begin) open.pop_back();
      if (!open.empty() && end > open.back())
        wrong.push_back(format("track %d/%d: the slice of steps %ld to %ld overlaps one that ends at %ld", track.first,
                               track.second, begin, end, open.back()));
      open.push_back(end);
    }
  }
}

}  // namespace

std::vector<std::string> wrong_with(const std::string& text, const std::map<std::string, long>& counts, bool failed) {
  std::vector<std::string> wrong;
  const Json file = Json::parse(text, nullptr, false);
  if (file.is_discarded()) return {"it is no JSON"};
  if (!file.contains("traceEvents") || !file["traceEvents"].is_array()) return {"it has no array traceEvents"};
  std::map<Track, std::vector<std::pair<long, long>>> tracks;
  std::map<Track, bool> named;
  std::map<std::tuple<int, std::string, long>, Json> open;
  std::map<std::string, long> seen;
  std::size_t slices = 0;
  const long steps = file.value("steps", 0l);
  const auto within = [&](long at) {
    if (at < 0 || at > steps) wrong.push_back(format("step %ld lies outside the %ld of the trace", at, steps));
  };
  for (const Json& e : file["traceEvents"]) {
    const std::string ph = e.value("ph", "");
    const int pid = e.value("pid", -1);
    if (ph == "M") {
      if (e.value("name", "") == "thread_name") named[{pid, e.value("tid", -1)}] = true;
      continue;
    }
    const long ts = e.value("ts", -1l);
    within(ts);
    const std::string cat = e.value("cat", ""), name = e.value("name", "");
    if (ph == "X") {
      const Track track{pid, e.value("tid", -1)};
      const long end = ts + e.value("dur", -1l);
      if (end < ts) wrong.push_back("slice " + name + " has no end");
      within(end);
      tracks[track].emplace_back(ts, end);
      if (!named.contains(track)) wrong.push_back("slice " + name + " lies on a track without a name");
      if (cat == "phase")
        ++seen[name.starts_with("barrier ") ? "barriers" : name.starts_with("phase ") ? "phases" : ""];
      for (const auto& [key, value] : e["args"].items()) seen[key] += value.get<long>();
      ++slices;
    } else if (ph == "b") {
      if (!open.emplace(std::tuple(pid, cat, e.value("id", -1l)), e).second)
        wrong.push_back("two asynchronous slices have the number " + e["id"].dump());
      const Json& args = e["args"];
      if (!failed && args.value("issued", -1l) != args.value("landed", -2l))
        wrong.push_back(name + " of " + args.value("place", "") + ": " + args["issued"].dump() + " issued, " +
                        args["landed"].dump() + " landed");
    } else if (ph == "e") {
      const auto begun = open.find({pid, cat, e.value("id", -1l)});
      if (begun == open.end() || ts < begun->second.value("ts", 0l))
        wrong.push_back(name + " ends and never began, or before that");
      else
        open.erase(begun);
    } else {
      wrong.push_back("an event of kind '" + ph + "'");
    }
  }
  for (const auto& [key, begun] : open)
    wrong.push_back(begun.value("name", "") + " of " + begun["args"].value("place", "") + " is never closed");
  if (!slices) wrong.push_back("it has no slices");
  check_nesting(tracks, wrong);
  for (const auto& [what, count] : counts)
    if (const long here = seen[what]; here != count)
      wrong.push_back(format("%s: %ld in the trace, and %ld counted", what.c_str(), here, count));
  return wrong;
}

}  // namespace lab::trace
