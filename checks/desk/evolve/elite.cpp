#include <cmath>

#include "checks/acceptance/format.hpp"
#include "checks/desk/evolve/evolve.hpp"
#include "common/number.hpp"

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

const std::vector<std::string> VERDICTS = {"elite", "slower", "wrong", "too large", "broken"};

std::string quoted(const std::string& text) { return text.find(',') == text.npos ? text : '"' + text + '"'; }

template <class Number>
std::string figure(const std::optional<Number>& value) {
  return value ? format("%.10g", double(*value)) : "";
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

std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool inside = false;
  for (const char c : line)
    if (c == '"')
      inside = !inside;
    else if (c == ',' && !inside)
      fields.emplace_back();
    else
      fields.back() += c;
  return fields;
}

std::string candidate_row(const Candidate& c, const Setting& start) {
  std::string row = c.id + "," + std::to_string(c.generation) + "," + c.parent + "," + c.verdict + ",";
  const Spread s = spread(c.us);
  row += c.us.empty() ? ",," : format("%.6g,%.6g,%.6g", s.median, s.p10, s.p90);
  row += "," + figure(c.again) + "," + figure(c.registers) + "," + figure(c.smem) + "," + quoted(c.reason) + ",";
  return row + (c.levers == start ? "" : quoted(difference(start, c.levers)));
}

void read_row(Candidate& c, const std::string& row, const std::string& where) {
  const std::vector<std::string> f = csv_fields(row);
  if (f.size() != 12 || f[0] != c.id || std::ranges::find(VERDICTS, f[3]) == VERDICTS.end())
    throw BadInput(where + ": no row of a search's log: " + row);
  c.verdict = f[3], c.reason = f[10];
  if (const auto us = number_in<double>(f[4])) c.us = {*us}, c.right = true;
  c.again = number_in<double>(f[7]), c.registers = number_in<int>(f[8]), c.smem = number_in<std::size_t>(f[9]);
}

std::string difference(const Setting& from, const Setting& to) {
  std::string text;
  for (const auto& [name, value] : to)
    if (const auto old = from.find(name); old == from.end() || old->second != value)
      text += (text.empty() ? "" : " ") + name + "=" + value;
  return text.empty() ? "as it is" : text;
}

std::string summary(const std::vector<Candidate>& candidates, const Elite& elite, bool timed) {
  std::string tally;
  for (const std::string& verdict : VERDICTS)
    if (const auto n = std::ranges::count(candidates, verdict, &Candidate::verdict); n > 0)
      tally += format("%s%td %s", tally.empty() ? "" : ", ", n, verdict.c_str());
  std::string text = format("%zu candidates (%s)\n", candidates.size(), tally.c_str());
  if (candidates.empty()) return text;
  const char* unit = timed ? "us" : "us by the model, not measured";
  const Candidate& start = candidates.front();
  text += format("  start %s  %9.3f %s\n", start.id.c_str(), start.time(), unit);
  for (const Candidate& c : elite.members())
    text += format("  elite %s  %9.3f %s, %.3f of the start; %s\n", c.id.c_str(), c.time(), unit,
                   c.time() / start.time(), difference(start.levers, c.levers).c_str());
  return text;
}

}  // namespace lab::desk
