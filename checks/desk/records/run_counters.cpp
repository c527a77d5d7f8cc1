// desk-records counters LABS [JSON]: all stages, counted by the CPU execution, as they were committed; or a new file of
// it, which takes minutes. desk-records counters-table [SHAPE], floors-table: for the pages.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "checks/desk/desk.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/process.hpp"
#include "checks/desk/records/counts.hpp"
#include "checks/desk/records/labs.hpp"

namespace lab::desk {
namespace {

const std::string COMMITTED_COUNTS = "writeups/results/counters.json", COUNTS = "build/counters/";
// The first is what `make test` counts again.
const std::vector<std::string> SHAPES = {"1,1,512,64", "1,8,512,64", "2,8,2048,64"};
constexpr const char *PROFILED = "1,8,512,64", *LARGE_SHAPE = "2,8,2048,64";
// The large shape asks for 32 times as much as the profiled one: not counted where that takes minutes.
constexpr double MOST_INSTRUCTIONS = 3e6;

Json count(const std::string& lab, const std::string& shape) {
  std::filesystem::create_directories(COUNTS);
  const std::string file = COUNTS + stage_of(lab) + ".json";
  const Ran ran = capture({lab, "counters", "shape=" + shape, "json=" + file});
  if (ran.status != 0) throw BadInput("no counts from " + lab + ": " + ran.out + ran.err);
  return load_results(file, "counters-1", "lab counters");
}

double instructions(const Json& counters) {
  double sum = 0;
  for (const auto& [kind, tally] : counters.at("totals").items()) sum += tally.at("instructions").get<double>();
  return sum;
}

Json committed() { return load_results(COMMITTED_COUNTS, "counted-1", "make counters json=" + COMMITTED_COUNTS); }

std::vector<Measured> profiles(const std::string& shape) {
  std::vector<Measured> all;
  for (const Stage& stage : read_ladder().stages) {
    std::string path = "writeups/results/profile-" + stage.dir + "-" + shape + ".json";
    std::ranges::replace(path, ',', '-');
    if (!std::filesystem::exists(path)) continue;
    all.push_back({stage.dir, stage.short_name(), load_results(path, "profile-1", "make profile")});
  }
  return all;
}

}  // namespace

int counters_command(const Args& args) {
  const std::string json = args.size() > 1 ? args[1] : "";
  std::vector<Json> all;
  for (const Stage& stage : read_ladder().stages)
    for (const std::string& shape : json.empty() ? std::vector{SHAPES[0]} : SHAPES) {
      if (shape == LARGE_SHAPE && instructions(all.back()) > MOST_INSTRUCTIONS) {
        std::printf("%-20s %-13s not counted: it would take minutes\n", stage.dir.c_str(), shape.c_str());
        continue;
      }
      all.push_back(count(lab_path(args[0], stage.dir, "checked"), shape));
      std::printf("%-20s %-13s no less than %8.2f us, by %s\n", stage.dir.c_str(), shape.c_str(),
                  all.back().at("floor").at("us").get<double>(),
                  all.back().at("floor").at("binds").get<std::string>().c_str());
      std::fflush(stdout);
    }
  const std::string text = counted_json(all);
  if (!json.empty()) {
    write_text(json, text);
    std::printf("kept as %s\n", json.c_str());
    return 0;
  }
  const Json now = parse_json(text, "what was counted");
  const auto changed = differences(committed(), now, SHAPES[0]),
             without_reason = unexplained(committed(), profiles(PROFILED), PROFILED);
  for (const std::string& line : changed) std::printf("%s\n", line.c_str());
  if (!changed.empty()) std::printf("make counters json=%s renews what is committed\n", COMMITTED_COUNTS.c_str());
  for (const std::string& line : without_reason) std::printf("%s\n", line.c_str());
  const std::size_t failed = changed.size() + without_reason.size();
  std::printf("%zu passed, %zu failed\n", all.size() + compared().size(), failed);
  return failed ? 1 : 0;
}

int counters_table_command(const Args& args) {
  const std::string shape = args.empty() ? PROFILED : args[0];
  std::fputs(validation_table(committed(), profiles(shape), shape).c_str(), stdout);
  return 0;
}

int floors_table_command(const Args& args) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("writeups/results")) {
    const std::string name = entry.path().filename().string();
    if ((name.starts_with("bench-") || name.starts_with("small-")) && name.ends_with(".json"))
      files.push_back(entry.path());
  }
  // By date, whatever they are called.
  std::ranges::sort(files, {}, [](const auto& path) { return path.filename().string().substr(6); });
  std::vector<Json> benches;
  for (const auto& path : files) benches.push_back(load_results(path, "bench-1", "make bench"));
  std::vector<std::pair<std::string, std::string>> stages;
  for (const Stage& stage : read_ladder().stages) stages.emplace_back(stage.dir, stage.short_name());
  std::fputs(floors_table(committed(), stages, benches, args.empty() ? PROFILED : args[0]).c_str(), stdout);
  return 0;
}

}  // namespace lab::desk
