// stage=best: the fastest stage for a shape, by the maps that `make bench shape=sweep` writes.
#include <cmath>

#include "checks/desk/records/records.hpp"
#include "checks/key_values.hpp"
#include "common/gpu_fit.hpp"
#include "reference/npy.hpp"

namespace lab::desk {

std::string best_stage(std::vector<std::pair<std::string, Json>> maps, const std::vector<const Stage*>& able,
                       const Shape& shape, const std::string& here) {
  std::ranges::sort(maps, std::greater(), [&](const auto& map) {
    return std::pair(map.second.at("gpu") == here, map.second.at("date").template get<std::string>());
  });
  for (const auto& [file, map] : maps) {
    Shape nearest;
    double least = INFINITY;
    std::vector<std::pair<double, std::string>> times;  // of the stages at `nearest`
    for (const auto& cell : map.at("shapes").items()) {
      const Shape at = one_shape(cell.key());
      const double away =
          std::fabs(std::log(double(at.B) * at.H / shape.B / shape.H)) + std::fabs(std::log(double(at.S) / shape.S));
      std::vector<std::pair<double, std::string>> timed;
      for (const Stage* stage : able)
        if (cell.value().contains(stage->dir)) timed.emplace_back(cell.value()[stage->dir], stage->short_name());
      if (at.D == shape.D && at.causal == shape.causal && away < least && !timed.empty())
        nearest = at, least = away, times = timed;
    }
    if (times.empty()) continue;
    std::vector<std::string> names;
    for (const auto& [us, name] : times) names.push_back(name);
    const std::string gpu = map.at("gpu");
    return std::ranges::min_element(times)->second + ": fastest of " + joined(names, ", ") + " at (" +
           shape_word(nearest) + (nearest == shape ? ") in " : "), the nearest shape in ") + file +
           (gpu == here ? "" : ", times of an " + gpu + "; this is " + here);
  }
  const auto last = std::ranges::find_if_not(able.rbegin(), able.rend(), &Stage::on_side);
  if (last == able.rend()) throw BadInput("stage=best: no stage runs on " + here);
  return (*last)->short_name() + ": the last stage of the main road that runs on " + here +
         "; no sweep-*.json times such a stage at D = " + std::to_string(shape.D) +
         (shape.causal ? ", causal" : ", not causal");
}

// GOAL BACKEND [KEY=VALUE...]: prints that line. On the CPU every stage runs.
int best_command(const Args& args) {
  constexpr std::string_view KEYS[] = {"q", "causal", "shape"};
  const KeyValues given(Args(args.begin() + 2, args.end()), KEYS);
  Shape shape;
  if (args[0] == "run") {
    const auto [B, H, S, D] = read_npy(given.require("q")).shape;
    shape = {B, H, S, D, given.flag("causal")};
  } else {
    if (!given.get("shape")) throw BadInput("stage=best " + args[0] + " needs shape=B,H,S,D[,causal]");
    shape = one_shape(*given.get("shape"));
  }
  std::vector<std::pair<std::string, Json>> maps;
  for (const fs::path& path : files_in("writeups/results", ".json"))
    if (const std::string name = path.filename().string(); name.starts_with("sweep-"))
      maps.emplace_back(name, load_results(path, "sweep-1", "make bench shape=sweep"));
  const bool gpu = args[1] == "gpu";
  const std::string here = gpu ? gpu_field("name") : "backend=cpu";
  const int capability = gpu ? whole_number("compute_cap", replaced(gpu_field("compute_cap"), ".", ""), 0, 999) : 0;
  const Ladder ladder = read_ladder();
  std::vector<const Stage*> able;
  for (const Stage& stage : ladder.stages)
    if (!gpu ||
        why_not({stage.dir, stage.says("target"), stage.says("needs")}, {here, capability / 10, capability % 10})
            .empty())
      able.push_back(&stage);
  std::printf("%s\n", best_stage(maps, able, shape, here).c_str());
  return 0;
}

}  // namespace lab::desk
