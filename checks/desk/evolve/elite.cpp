#include <cmath>

#include "checks/acceptance/format.hpp"
#include "checks/desk/evolve/evolve.hpp"

namespace lab::desk {
namespace {

constexpr std::size_t ELITE = 3;
constexpr int ATTEMPTS = 2000;  // at a child that has not been tried

// The same numbers on every machine (SplitMix64), unlike those of <random>.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t n) { return std::size_t(next() % n); }

 private:
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15ull;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull, x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
  }
  std::uint64_t state_;
};

Proposal proposal(const Levers& levers, const Shape& shape, const Setting& setting) {
  Proposal p;
  p.candidate.levers = setting;
  p.source = levers.narrowed(setting, shape);
  p.candidate.id = candidate_id(levers.stage(), p.source);
  if (const std::string why = levers.objection(setting, shape); !why.empty())
    p.candidate.verdict = "too large", p.candidate.reason = why;
  return p;
}

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

double Candidate::time() const { return us.empty() ? INFINITY : spread(us).median; }

const Candidate* Elite::would_replace(const Candidate& c) const {
  if (members_.size() < ELITE || c.time() > members_.back().time() * (1 - MUST_GAIN)) return nullptr;
  return &members_.back();
}

void Elite::judge(Candidate& c) {
  if (!c.verdict.empty() && c.verdict != "elite") return;
  if (!c.right.value_or(false) || c.us.empty()) {
    if (c.verdict.empty()) c.verdict = "wrong";
    return;
  }
  if (members_.size() < ELITE) {
    c.reason = c.parent.empty() ? "where the search starts" : "there were fewer than three";
  } else {
    const Candidate* last = would_replace(c);
    const double gain = 1 - c.time() / members_.back().time();
    if (!last) {
      c.verdict = "slower";
      c.reason = gain < 0 ? format("%.1f %% slower than the third, %s", -100 * gain, members_.back().id.c_str())
                          : format("%.1f %% faster than the third, %s, and 3 %% are asked for", 100 * gain,
                                   members_.back().id.c_str());
      return;
    }
    if (c.again && c.beside && *c.again > *c.beside * (1 - MUST_GAIN)) {
      c.verdict = "slower";
      c.reason = format("measured again in turns with %s: %.1f %% faster, not 3 %%", last->id.c_str(),
                        100 * (1 - *c.again / *c.beside));
      return;
    }
    c.reason = format("%.1f %% faster than %s, whose place it takes", 100 * gain, last->id.c_str());
    members_.pop_back();
  }
  c.verdict = "elite";
  members_.insert(std::ranges::upper_bound(members_, c.time(), {}, &Candidate::time), c);
}

Elite elite_of(const std::vector<Candidate>& candidates) {
  Elite elite;
  for (Candidate c : candidates) elite.judge(c);
  return elite;
}

std::optional<Proposal> propose(const Levers& levers, const Shape& shape, const Elite& elite,
                                std::set<std::string>& known, std::uint64_t seed, int generation, int place) {
  const std::vector<const Lever*> some = levers.for_shape(shape);
  if (some.size() < 2) throw BadInput(levers.stage() + " has fewer than two levers for this shape");
  if (elite.members().empty()) return std::nullopt;
  Draw draw((seed * 1000003 + std::uint64_t(generation)) * 1000003 + std::uint64_t(place));
  for (int attempt = 0; attempt < ATTEMPTS; ++attempt) {
    const Candidate& parent = elite.members()[draw.below(elite.members().size())];
    const std::size_t first = draw.below(some.size()), other = (first + 1 + draw.below(some.size() - 1)) % some.size();
    Setting setting = parent.levers;
    for (const std::size_t which : {first, other}) {
      std::string& value = setting.at(some[which]->name);
      std::vector<std::string> others;
      for (const std::string& v : some[which]->values)
        if (v != value) others.push_back(v);
      value = others[draw.below(others.size())];
    }
    Proposal p = proposal(levers, shape, setting);
    if (!known.insert(p.candidate.id).second) continue;
    p.candidate.parent = parent.id;
    p.candidate.changed = {some[first]->name, some[other]->name};
    std::ranges::sort(p.candidate.changed);
    p.candidate.generation = generation;
    return p;
  }
  return std::nullopt;
}

std::vector<Proposal> beginnings(const Levers& levers, const Shape& shape, const Setting& own) {
  std::vector<Proposal> all = {proposal(levers, shape, own)};
  for (const Setting& row : levers.rows(shape))
    if (row != own) all.push_back(proposal(levers, shape, row));
  return all;
}

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
