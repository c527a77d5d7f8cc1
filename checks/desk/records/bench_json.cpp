#include "checks/desk/records/bench_json.hpp"

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

// A case is one object on several lines: what was asked, what came of it, what was seen, the figures, what follows.
std::string json(const BenchRun& run, const BenchCase& c) {
  const Shape s = *shape_of(c.shape);
  const Json asked = {{"program", c.program},
                      {"kind", is_peer(c.program) ? "peer" : "stage"},
                      {"shape", c.shape},
                      {"B", s.B},
                      {"H", s.H},
                      {"S", s.S},
                      {"D", s.D},
                      {"causal", s.causal}};
  Json came = {{"status", c.status}, {"detail", c.detail}, {"flop", flop(s)}, {"bytes", bytes(s)}};
  for (const auto& [name, value] : c.facts) came[name] = number(value);
  std::string out = "    {" + members(asked) + ",\n     " + members(came);
  if (!graph_time(&c)) return out + "}";
  out += ",\n     " + members({{"sm_mhz", range(c.sm_mhz)}, {"watts", range(c.watts)}}) + ",\n     \"figures\": {";
  std::string separator = "\n       ";
  for (const std::string_view figure : FIGURES) {
    const std::string name(figure);
    const auto found = c.figures.find(name);
    out += separator + members({{name, found == c.figures.end() ? Json(nullptr) : json(found->second)}});
    separator = ",\n       ";
  }
  const Ratios r = ratios(run, c);
  const Json follows = {{"tflops", r.tflops},
                        {"gbs", r.gbs},
                        {"share_of_matrix", number(r.of_matrix)},
                        {"share_of_bandwidth", number(r.of_bandwidth)},
                        {"faster_than_previous", number(r.vs_previous)},
                        {"previous", r.previous},
                        {"times_pytorch", r.vs_pytorch ? Json(r.vs_pytorch->median) : Json(nullptr)},
                        {"times_pytorch_p10", r.vs_pytorch ? Json(r.vs_pytorch->p10) : Json(nullptr)},
                        {"times_pytorch_p90", r.vs_pytorch ? Json(r.vs_pytorch->p90) : Json(nullptr)},
                        {"pytorch", r.pytorch}};
  return out + "},\n     " + members(follows) + "}";
}

// "NAME": {one member a line}
std::string object(const std::string& name, const Json& value) {
  std::string out, separator = "\n    ";
  for (const auto& [key, member] : value.items()) {
    out += separator + members({{key, member}});
    separator = ",\n    ";
  }
  return "  \"" + name + "\": {" + out + (out.empty() ? "" : "\n  ") + "},\n";
}

}  // namespace

std::string bench_json(const BenchRun& run) {
  std::string out = "{\n  \"schema\": \"bench-1\",\n";
  for (const auto& [key, value] : run.meta) out += "  " + members({{key, value}}) + ",\n";
  Json kernels = Json::object(), ceilings = Json::object();
  for (const auto& [stage, hash] : run.kernels) kernels[stage] = hash;
  for (const auto& [name, figure] : run.ceilings) ceilings[name] = json(figure);
  out += object("kernels", kernels) + object("ceilings", ceilings) + "  \"cases\": [\n";
  for (std::size_t i = 0; i < run.cases.size(); ++i)
    out += json(run, run.cases[i]) + (i + 1 < run.cases.size() ? ",\n" : "\n");
  return out + "  ]\n}\n";
}

std::string sweep_json(const BenchRun& run) {
  std::string out = "{\n  \"schema\": \"sweep-1\",\n";
  for (const auto& [key, value] : run.meta) out += "  " + members({{key, value}}) + ",\n";
  Json kernels = Json::object();
  for (const auto& [stage, hash] : run.kernels) kernels[stage] = hash;
  out += object("kernels", kernels) + "  \"shapes\": {";
  std::string separator = "\n    ";
  for (const std::string& shape : shapes_of(run)) {
    Json times = Json::object();
    for (const BenchCase& c : run.cases)
      if (const auto us = c.shape == shape ? graph_time(&c) : std::nullopt) times[c.program] = *us;
    out += separator + members({{shape, times}}, 4);
    separator = ",\n    ";
  }
  return out + "\n  }\n}\n";
}

}  // namespace lab::desk
