#include "checks/search/elite.hpp"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <regex>
#include <sstream>

#include "checks/acceptance/format.hpp"
#include "checks/bench/shapes.hpp"
#include "common/number.hpp"
#include "reference/bad_input.hpp"
#include "reference/hash.hpp"

namespace lab::search {
namespace {

constexpr std::size_t ELITE = 3;
constexpr int ATTEMPTS = 2000;  // at a child that has not been tried

// Its id is a hash (FNV-1a) of what is compiled: two settings that come to the same are one candidate.
Candidate candidate(const Tunables& tunables, const Shape& shape, const Setting& setting) {
  Candidate c;
  c.setting = setting, c.source = tunables.source(setting, shape);
  std::uint64_t bits = FNV_START;
  for (const unsigned char byte : tunables.stage() + "\n" + c.source) bits = fnv1a(bits, byte);
  c.id = format("%08x", unsigned(bits ^ bits >> 32));
  return c;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  return '"' + std::regex_replace(text, std::regex("\""), "\"\"") + '"';
}

}  // namespace

double Candidate::time() const { return us.empty() ? INFINITY : median(us); }

void Elite::judge(Candidate& c) {
  if (!c.verdict.empty()) return;
  const auto place = std::ranges::upper_bound(members, c.time(), {}, &Candidate::time);
  const bool joins = members.size() < ELITE || place != members.end();
  c.verdict = joins ? "elite" : "slower";
  if (joins) members.insert(place, c);
  if (members.size() > ELITE) members.pop_back();
}

std::vector<Candidate> beginnings(const Tunables& tunables, const Shape& shape, const Setting& own) {
  std::vector<Candidate> all = {candidate(tunables, shape, own)};
  for (const Setting& row : tunables.rows(shape))
    if (row != own) all.push_back(candidate(tunables, shape, row));
  return all;
}

std::optional<Candidate> propose(const Tunables& tunables, const Shape& shape, const Elite& elite,
                                 std::set<std::string>& known, SplitMix64& random) {
  const std::vector<const Tunable*> some = tunables.for_shape(shape);
  if (some.size() < 2) throw BadInput(tunables.stage() + " has fewer than two tunables for this shape");
  const auto below = [&](std::size_t n) { return std::size_t(random.next() % n); };
  for (int attempt = elite.members.empty() ? ATTEMPTS : 0; attempt < ATTEMPTS; ++attempt) {
    const Candidate& parent = elite.members[below(elite.members.size())];
    const std::size_t first = below(some.size()), other = (first + 1 + below(some.size() - 1)) % some.size();
    Setting setting = parent.setting;
    for (const std::size_t which : {first, other}) {
      std::string& value = setting.at(some[which]->name);
      std::vector<std::string> others = some[which]->values;
      std::erase(others, std::string(value));
      value = others[below(others.size())];
    }
    Candidate c = candidate(tunables, shape, setting);
    if (!known.insert(c.id).second) continue;
    c.parent = parent.id;
    return c;
  }
  return std::nullopt;
}

void read_build_log(Candidate& c, const std::string& log, bool built) {
  std::smatch m;
  if (!built) {
    const bool said = std::regex_search(log, m, std::regex("[^\n]*error[^\n]*"));
    c.verdict = "broken", c.reason = "does not compile: " + (said ? m.str() : "see its kernel.log");
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

void read_validation(Candidate& c, const Forked& ran) {
  c.smem = number_in<int>(ran.verdict.first("smem"));
  c.reason = ran.verdict.first("refused");
  std::istringstream us(ran.verdict.first("us"));
  if (ran.status == 0) return c.us.assign(std::istream_iterator<double>(us), {});
  c.verdict = c.reason.empty() || c.reason.starts_with("launch: ") ? "broken" : "wrong";
  if (ran.status == 128 + SIGALRM)
    c.reason = "did not end in time";
  else if (c.reason.empty())
    c.reason = format("ended with status %d: %s", ran.status, ran.text.c_str());
  std::ranges::replace(c.reason, '\n', ' ');
}

std::string difference(const Setting& start, const Setting& setting) {
  std::string text;
  for (const auto& [name, value] : setting)
    if (const auto old = start.find(name); old == start.end() || old->second != value)
      text += (text.empty() ? "" : " ") + name + "=" + value;
  return text.empty() ? "as it is" : text;
}

std::string row(const Candidate& c, const Setting& start) {
  const auto figure = [](const std::optional<int>& n) { return n ? std::to_string(*n) : ""; };
  return c.id + "," + c.parent + "," + c.verdict + "," + (c.us.empty() ? "" : format("%.6g", c.time())) + "," +
         figure(c.registers) + "," + figure(c.smem) + "," + quoted(c.reason) + "," +
         (c.setting == start ? "" : quoted(difference(start, c.setting)));
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
  for (const Candidate& c : elite.members)
    text += format("  elite %s  %9.3f %s, %.3f of the start; %s\n", c.id.c_str(), c.time(), unit.c_str(),
                   c.time() / start.time(), difference(start.setting, c.setting).c_str());
  return text;
}

}  // namespace lab::search
