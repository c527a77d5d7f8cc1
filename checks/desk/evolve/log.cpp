#include "checks/desk/evolve/log.hpp"
#include "checks/desk/desk.hpp"

#include <algorithm>

#include <map>

#include "checks/acceptance/format.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/desk/records/json_text.hpp"
#include "reference/bad_input.hpp"

namespace lab::desk {
namespace {

const std::string SCHEMA = "evolve-1";
const std::vector<std::string> VERDICTS = {"elite", "slower", "wrong", "too large", "broken"};

Json candidate_json(const Candidate& c) {
  Json j;
  j["id"] = c.id, j["generation"] = c.generation;
  if (!c.parent.empty()) j["parent"] = c.parent, j["changed"] = c.changed;
  j["verdict"] = c.verdict, j["reason"] = c.reason;
  if (c.registers) j["registers"] = *c.registers;
  if (c.smem) j["smem"] = *c.smem;
  if (c.spills) j["spills"] = *c.spills;
  if (c.right) j["right"] = *c.right;
  if (!c.us.empty()) {
    const Spread s = spread(c.us);
    j["us"] = c.us, j["median"] = s.median, j["p10"] = s.p10, j["p90"] = s.p90;
  }
  if (c.again && c.beside) j["again"] = *c.again, j["beside"] = *c.beside;
  j["levers"] = c.levers;
  return j;
}

Candidate candidate_of(const Json& j) {
  Candidate c;
  c.id = j.at("id"), c.generation = j.at("generation");
  if (j.contains("parent")) c.parent = j["parent"], c.changed = j.at("changed").get<std::vector<std::string>>();
  c.verdict = j.at("verdict"), c.reason = j.at("reason");
  if (std::ranges::find(VERDICTS, c.verdict) == VERDICTS.end()) throw BadInput("the verdict '" + c.verdict + "'");
  if (j.contains("registers")) c.registers = j["registers"].get<int>();
  if (j.contains("smem")) c.smem = j["smem"].get<std::size_t>();
  if (j.contains("spills")) c.spills = j["spills"].get<std::size_t>();
  if (j.contains("right")) c.right = j["right"].get<bool>();
  if (j.contains("us")) c.us = j["us"].get<std::vector<double>>();
  if (j.contains("again")) c.again = j["again"].get<double>(), c.beside = j.at("beside").get<double>();
  c.levers = j.at("levers").get<Setting>();
  return c;
}

Json json(const std::vector<std::pair<std::string, std::string>>& facts) {
  Json all = Json::object();
  for (const auto& [key, value] : facts) all[key] = value;
  return all;
}

}  // namespace

std::string log_json(const SearchLog& log) {
  Json all = {{"schema", SCHEMA},           {"stage", log.stage},           {"shape", log.shape},
              {"backend", log.backend},     {"fitness", log.fitness},       {"kernel", log.kernel},
              {"seed", log.seed},           {"machine", json(log.machine)}, {"levers", json(log.levers)},
              {"candidates", Json::array()}};
  for (const Candidate& c : log.candidates) all["candidates"].push_back(candidate_json(c));
  return laid_out(all, 2);
}

SearchLog read_log(const std::string& text, const std::string& path) {
  const Json j = parse_json(text, path);
  try {
    if (!j.is_object() || j.value("schema", "") != SCHEMA) throw BadInput("its schema is not " + SCHEMA);
    SearchLog log;
    log.stage = j.at("stage"), log.shape = j.at("shape"), log.backend = j.at("backend");
    log.fitness = j.at("fitness"), log.kernel = j.at("kernel"), log.seed = j.at("seed");
    if (log.fitness != "time" && log.fitness != "model") throw BadInput("the fitness '" + log.fitness + "'");
    for (const auto& [key, value] : j.at("machine").items()) log.machine.emplace_back(key, value);
    for (const auto& [key, value] : j.at("levers").items()) log.levers.emplace_back(key, value);
    for (const Json& c : j.at("candidates")) log.candidates.push_back(candidate_of(c));
    return log;
  } catch (const std::exception& e) {  // of JSON's types, or as above
    throw BadInput(path + ": no log of a search: " + e.what());
  }
}

std::string difference(const Setting& from, const Setting& to) {
  std::string text;
  for (const auto& [name, value] : to)
    if (const auto old = from.find(name); old == from.end() || old->second != value)
      text += (text.empty() ? "" : " ") + name + "=" + value;
  return text.empty() ? "as it is" : text;
}

Confirmation confirmation(const SearchLog& log, const std::vector<std::pair<std::string, std::string>>& machine,
                          const std::vector<Candidate>& candidates, const std::vector<std::vector<double>>& turns) {
  Json all = {{"schema", "evolve-confirm-1"}, {"stage", log.stage},       {"shape", log.shape},
              {"fitness", log.fitness},       {"machine", json(machine)}, {"candidates", Json::array()}};
  Confirmation c;
  const double start = spread(turns.at(0)).median;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Spread now = spread(turns.at(i));
    all["candidates"].push_back({{"id", candidates[i].id},
                                 {"searched", candidates[i].time()},
                                 {"median", now.median},
                                 {"of_start", now.median / start},
                                 {"turns", turns[i]},
                                 {"levers", candidates[i].levers}});
    c.text +=
        format("  %s  %9.3f %s (%.3f to %.3f), %.3f of the start; in the search %.3f; %s\n", candidates[i].id.c_str(),
               now.median, log.fitness == "time" ? "us" : "us by the model", now.p10, now.p90, now.median / start,
               candidates[i].time(), difference(candidates[0].levers, candidates[i].levers).c_str());
  }
  c.json = laid_out(all, 2);
  return c;
}

std::string log_text(const SearchLog& log) {
  std::map<std::string, int> counts;
  for (const Candidate& c : log.candidates) ++counts[c.verdict];
  std::string tally;
  for (const std::string& verdict : VERDICTS)
    if (counts[verdict] > 0) tally += format("%s%d %s", tally.empty() ? "" : ", ", counts[verdict], verdict.c_str());
  std::string text = format("%s, %s: %zu candidates (%s)\n", log.stage.c_str(), log.shape.c_str(),
                            log.candidates.size(), tally.c_str());
  if (log.candidates.empty()) return text;
  const char* unit = log.fitness == "time" ? "us" : "us by the model, not measured";
  const Candidate& start = log.candidates.front();
  text += format("  start %s  %9.3f %s\n", start.id.c_str(), start.time(), unit);
  const Elite elite = elite_of(log.candidates);
  for (const Candidate& c : elite.members())
    text += format("  elite %s  %9.3f %s, %.3f of the start; %s\n", c.id.c_str(), c.time(), unit,
                   c.time() / start.time(), difference(start.levers, c.levers).c_str());
  return text;
}

}  // namespace lab::desk
