#include "checks/desk/records/bench_json.hpp"
#include "checks/desk/desk.hpp"

#include <algorithm>
#include <cmath>

#include "checks/desk/records/json_text.hpp"
#include "reference/bad_input.hpp"

namespace lab::desk {
namespace {

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json number(const std::string& text) {
  const Json value = Json::parse(text, nullptr, false);
  if (!value.is_number()) throw BadInput("samples: '" + text + "' is no number of JSON");
  return value;
}

Json json(const Spread& s) { return {{"median", s.median}, {"p10", s.p10}, {"p90", s.p90}, {"samples", s.samples}}; }

Json json(const Figure& figure) {
  Json all = json(spread(figure));
  all["rounds"] = Json::array();
  for (const auto& [round, values] : figure.rounds) all["rounds"].push_back(json(spread(values)));
  return all;
}

Json range(const std::vector<double>& v) {
  if (v.empty()) return nullptr;
  return Json::array({*std::ranges::min_element(v), *std::ranges::max_element(v)});
}

// What was asked, what came of it, what was seen, the figures, what follows.
Json json(const BenchRun& run, const BenchCase& c) {
  const Shape s = *shape_of(c.shape);
  Json all = {{"program", c.program},
              {"kind", is_peer(c.program) ? "peer" : "stage"},
              {"shape", c.shape},
              {"B", s.B},
              {"H", s.H},
              {"S", s.S},
              {"D", s.D},
              {"causal", s.causal},
              {"status", c.status},
              {"detail", c.detail},
              {"flop", flop(s)},
              {"bytes", bytes(s)}};
  for (const auto& [name, value] : c.facts) all[name] = number(value);
  if (!graph_time(&c)) return all;
  all["sm_mhz"] = range(c.sm_mhz), all["watts"] = range(c.watts);
  for (const std::string_view figure : FIGURES) {
    const auto found = c.figures.find(std::string(figure));
    all["figures"][std::string(figure)] = found == c.figures.end() ? Json(nullptr) : json(found->second);
  }
  const Ratios r = ratios(run, c);
  all["tflops"] = r.tflops, all["gbs"] = r.gbs;
  all["share_of_matrix"] = number(r.of_matrix), all["share_of_bandwidth"] = number(r.of_bandwidth);
  all["faster_than_previous"] = number(r.vs_previous), all["previous"] = r.previous;
  all["times_pytorch"] = number(r.vs_pytorch), all["pytorch"] = r.pytorch;
  return all;
}

}  // namespace

std::string bench_json(const BenchRun& run) {
  Json all = {{"schema", "bench-1"}};
  for (const auto& [key, value] : run.meta) all[key] = value;
  all["kernels"] = all["ceilings"] = Json::object(), all["cases"] = Json::array();
  for (const auto& [stage, hash] : run.kernels) all["kernels"][stage] = hash;
  for (const auto& [name, figure] : run.ceilings) all["ceilings"][name] = json(figure);
  for (const BenchCase& c : run.cases) all["cases"].push_back(json(run, c));
  return laid_out(all, 4);
}

}  // namespace lab::desk
