#include "checks/search/elite.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <regex>
#include <sstream>

#include "checks/acceptance/format.hpp"
#include "checks/bench/bench_samples.hpp"
#include "common/number.hpp"

namespace lab::search {
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

// A short name of what is compiled, so that two settings that come to the same are one.
Proposal proposal(const Tunables& tunables, const Shape& shape, const Setting& setting) {
  Proposal p;
  p.candidate.setting = setting;
  p.source = tunables.source(setting, shape);
  std::uint64_t bits = 0xCBF29CE484222325ull;  // FNV-1a
  for (const char c : tunables.stage() + "\n" + p.source)
    bits = (bits ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  p.candidate.id = format("%08x", unsigned(bits ^ bits >> 32));
  return p;
}

// Refuses what cannot be built or run.
Proposal weighed(Proposal p, const Tunables& tunables, const Shape& shape) {
  p.candidate.reason = tunables.objection(p.candidate.setting, shape);
  if (!p.candidate.reason.empty()) p.candidate.verdict = "too large";
  return p;
}

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
  if (!c.right || c.us.empty()) {
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

std::optional<Proposal> propose(const Tunables& tunables, const Shape& shape, const Elite& elite,
                                std::set<std::string>& known, std::uint64_t seed, int generation, int place) {
  const std::vector<const Tunable*> some = tunables.for_shape(shape);
  if (some.size() < 2) throw BadInput(tunables.stage() + " has fewer than two tunables for this shape");
  if (elite.members().empty()) return std::nullopt;
  Draw draw((seed * 1000003 + std::uint64_t(generation)) * 1000003 + std::uint64_t(place));
  for (int attempt = 0; attempt < ATTEMPTS; ++attempt) {
    const Candidate& parent = elite.members()[draw.below(elite.members().size())];
    const std::size_t first = draw.below(some.size()), other = (first + 1 + draw.below(some.size() - 1)) % some.size();
    Setting setting = parent.setting;
    for (const std::size_t which : {first, other}) {
      std::string& value = setting.at(some[which]->name);
      std::vector<std::string> others;
      for (const std::string& v : some[which]->values)
        if (v != value) others.push_back(v);
      value = others[draw.below(others.size())];
    }
    Proposal p = proposal(tunables, shape, setting);
    if (!known.insert(p.candidate.id).second) continue;
    p.candidate.parent = parent.id, p.candidate.generation = generation;
    return weighed(std::move(p), tunables, shape);
  }
  return std::nullopt;
}

std::vector<Proposal> beginnings(const Tunables& tunables, const Shape& shape, const Setting& own) {
  std::vector<Proposal> all = {weighed(proposal(tunables, shape, own), tunables, shape)};
  for (const Setting& row : tunables.rows(shape))
    if (row != own) all.push_back(weighed(proposal(tunables, shape, row), tunables, shape));
  return all;
}

void read_build_log(Candidate& c, const std::string& log, bool built) {
  std::smatch m;
  if (!built) {
    c.verdict = "broken";
    c.reason = "does not compile: " +
               (std::regex_search(log, m, std::regex("[^\n]*error[^\n]*")) ? m.str() : "see its kernel.log");
    return;
  }
  const std::regex used("Used (\\d+) registers"), spilled("(\\d+) bytes spill");
  long spills = 0;
  for (std::sregex_iterator i(log.begin(), log.end(), used), end; i != end; ++i)
    c.registers = std::max(c.registers.value_or(0), std::stoi((*i)[1]));
  for (std::sregex_iterator i(log.begin(), log.end(), spilled), end; i != end; ++i) spills += std::stol((*i)[1]);
  if (std::regex_search(log, m, std::regex("[^\n]*Potential Performance Loss[^\n]*")))
    c.verdict = "broken", c.reason = "ptxas: " + m.str();
  else if (spills > 0)
    c.verdict = "too large", c.reason = format("spills %ld bytes; the lab allows none", spills);
}

void read_validation(Candidate& c, const std::string& printed, int status) {
  std::istringstream lines(printed);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "smem") c.smem = std::stoull(line.substr(5));
    if (key == "us") c.us.assign(std::istream_iterator<double>(words), {});
    if (key == "refused") c.reason = line.substr(8);
    last = line;
  }
  c.right = status == 0;
  if (c.right) return;
  c.us.clear();
  c.verdict = c.reason.empty() || c.reason.starts_with("launch: ") ? "broken" : "wrong";
  if (c.reason.empty())
    c.reason = status == 124 ? "did not end in time" : format("ended with status %d: %s", status, last.c_str());
}

std::string candidate_row(const Candidate& c, const Setting& start) {
  std::string row = c.id + "," + std::to_string(c.generation) + "," + c.parent + "," + c.verdict + ",";
  const Spread s = spread(c.us);
  row += c.us.empty() ? ",," : format("%.6g,%.6g,%.6g", s.median, s.p10, s.p90);
  row += "," + figure(c.again) + "," + figure(c.registers) + "," + figure(c.smem) + "," + quoted(c.reason) + ",";
  return row + (c.setting == start ? "" : quoted(difference(start, c.setting)));
}

std::string difference(const Setting& from, const Setting& to) {
  std::string text;
  for (const auto& [name, value] : to)
    if (const auto old = from.find(name); old == from.end() || old->second != value)
      text += (text.empty() ? "" : " ") + name + "=" + value;
  return text.empty() ? "as it is" : text;
}

std::string summary(const std::vector<Candidate>& candidates, const Elite& elite, const std::string& unit) {
  std::string tally;
  for (const char* verdict : {"elite", "slower", "wrong", "too large", "broken"})
    if (const auto n = std::ranges::count(candidates, verdict, &Candidate::verdict); n > 0)
      tally += format("%s%td %s", tally.empty() ? "" : ", ", n, verdict);
  std::string text = format("%zu candidates (%s)\n", candidates.size(), tally.c_str());
  if (candidates.empty()) return text;
  const Candidate& start = candidates.front();
  text += format("  start %s  %9.3f %s\n", start.id.c_str(), start.time(), unit.c_str());
  for (const Candidate& c : elite.members())
    text += format("  elite %s  %9.3f %s, %.3f of the start; %s\n", c.id.c_str(), c.time(), unit.c_str(),
                   c.time() / start.time(), difference(start.setting, c.setting).c_str());
  return text;
}

}  // namespace lab::search
