#include "checks/desk/evolve/elite.hpp"
#include "checks/desk/desk.hpp"

#include <algorithm>
#include <cmath>

#include "checks/acceptance/format.hpp"
#include "reference/bad_input.hpp"

namespace lab::desk {
namespace {

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

}  // namespace

double Candidate::time() const {
  if (us.empty()) return INFINITY;
  std::vector<double> sorted = us;
  std::ranges::sort(sorted);
  const std::size_t n = sorted.size();
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

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

}  // namespace lab::desk
