#include "checks/desk/records/records.hpp"

namespace lab::desk {
namespace {

const std::string COMMITTED_COUNTS = "writeups/results/counters.json", COUNTS = "build/counters/";
// The first is what `make test` counts again.
const std::vector<std::string> SHAPES = {"1,1,512,64", "1,8,512,64", "2,8,2048,64"};
// The last asks for 32 times as much as the second: not counted where that takes minutes.
constexpr double MOST_INSTRUCTIONS = 3e6;

Json count(const std::string& lab, const std::string& shape) {
  fs::create_directories(COUNTS);
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

}  // namespace

std::vector<std::string> differences(const Json& counted, const Json& now, const std::string& shape) {
  std::vector<std::string> lines;
  for (const auto& [stage, shapes] : now.at("stages").items()) {
    if (!counted.at("stages").contains(stage) || !counted.at("stages").at(stage).contains(shape)) {
      lines.push_back(stage + ": nothing is committed");
      continue;
    }
    const Json &before = counted.at("stages").at(stage).at(shape).at("totals"), &after = shapes.at(shape).at("totals");
    for (const auto& [kind, tally] : after.items())
      for (const auto& [member, value] : tally.items()) {
        const Json was = before.contains(kind) ? before.at(kind).at(member) : Json(0);
        if (was != value)
          lines.push_back(stage + ", " + kind + ": " + member + " " + was.dump() + " committed, " + value.dump() +
                          " now");
      }
    for (const auto& [kind, tally] : before.items())
      if (!after.contains(kind)) lines.push_back(stage + ", " + kind + ": committed, and not counted now");
  }
  return lines;
}

std::string counted_json(const std::vector<Json>& counters) {
  Json all = {{"schema", "counted-1"},
              {"command", "make counters json=writeups/results/counters.json"},
              {"stages", Json::object()}};
  for (const Json& c : counters)
    all["stages"][c.at("stage").get<std::string>()][c.at("shape").get<std::string>()] = {
        {"blocks", c.at("blocks")}, {"floor", c.at("floor")}, {"totals", c.at("totals")}};
  return laid_out(all, 5);
}

// desk-records counters LABS [JSON]: all stages, counted by the CPU execution, as they were committed; or a new file of
// it, which takes minutes.
int counters_command(const Args& args) {
  const std::string json = args.size() > 1 ? args[1] : "";
  std::vector<Json> all;
  for (const Stage& stage : read_ladder().stages)
    for (const std::string& shape : json.empty() ? std::vector{SHAPES[0]} : SHAPES) {
      if (shape == SHAPES.back() && instructions(all.back()) > MOST_INSTRUCTIONS) {
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
  const auto changed = differences(committed(), now, SHAPES[0]);
  for (const std::string& line : changed) std::printf("%s\n", line.c_str());
  if (!changed.empty()) std::printf("make counters json=%s renews what is committed\n", COMMITTED_COUNTS.c_str());
  return told({int(all.size()), int(changed.size())});
}

}  // namespace lab::desk
