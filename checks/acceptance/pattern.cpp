#include "checks/acceptance/pattern.hpp"

#include <algorithm>

#include "checks/acceptance/format.hpp"

namespace lab {
namespace {

struct Property {
  const char* words;
  bool (*holds)(const Case& c);
};
// From the narrow to the wide: of two that fit equally well, the first is said.
constexpr Property PROPERTIES[] = {
    {"addresses past 2^32 elements", [](const Case& c) { return c.group == Group::far; }},
    {"NaN and infinities in the inputs", [](const Case& c) { return c.group == Group::special; }},
    {"large q and k", [](const Case& c) { return c.group == Group::amplitudes; }},
    {"constant q and k", [](const Case& c) { return c.family == Family::constant; }},
    {"k = q", [](const Case& c) { return c.family == Family::matched; }},
    {"a scale other than 1/sqrt(D)", [](const Case& c) { return c.scale.has_value(); }},
    {"swamped inputs", [](const Case& c) { return c.family == Family::swamped; }},
    {"climbing inputs", [](const Case& c) { return c.family == Family::climbing; }},
    {"cancelling inputs", [](const Case& c) { return c.family == Family::cancelling; }},
    {"offset inputs", [](const Case& c) { return c.family == Family::offset; }},
    {"peaked inputs", [](const Case& c) { return c.family == Family::peaked; }},
    {"the notes' inputs", [](const Case& c) { return c.family == Family::notes; }},
    {"causal, D = 128", [](const Case& c) { return c.shape.causal && c.shape.D == 128; }},
    {"causal, D = 64", [](const Case& c) { return c.shape.causal && c.shape.D == 64; }},
    {"S >= 1024, D = 128", [](const Case& c) { return c.shape.S >= 1024 && c.shape.D == 128; }},
    {"S >= 1024, D = 64", [](const Case& c) { return c.shape.S >= 1024 && c.shape.D == 64; }},
    {"more than one batch", [](const Case& c) { return c.shape.B > 1; }},
    {"more than one head", [](const Case& c) { return c.shape.H > 1; }},
    {"S >= 1024", [](const Case& c) { return c.shape.S >= 1024; }},
    {"S that 16 does not divide", [](const Case& c) { return c.shape.S % 16 != 0; }},
    {"S that 64 does not divide", [](const Case& c) { return c.shape.S % 64 != 0; }},
    {"S > 64", [](const Case& c) { return c.shape.S > 64; }},
    {"causal", [](const Case& c) { return c.shape.causal; }},
    {"not causal", [](const Case& c) { return !c.shape.causal; }},
    {"D = 128", [](const Case& c) { return c.shape.D == 128; }},
    {"D = 64", [](const Case& c) { return c.shape.D == 64; }},
};

}  // namespace

std::string red_pattern(const std::vector<CaseOutcome>& outcomes) {
  const auto is_red = [](const CaseOutcome& o) { return !o.green; };
  const auto red = std::ranges::count_if(outcomes, is_red);
  if (red == 0) return "";
  if (std::size_t(red) == outcomes.size()) return format("all %zu cases that ran", outcomes.size());
  if (red < 2) return "";
  // All red cases have it; the fewer green ones have it too, the better it fits.
  const Property* best = nullptr;
  std::ptrdiff_t of_best = 0;
  for (const Property& p : PROPERTIES) {
    const auto has = [&](const CaseOutcome& o) { return p.holds(o.test); };
    if (!std::ranges::all_of(outcomes, [&](const CaseOutcome& o) { return o.green || has(o); })) continue;
    const auto with = std::ranges::count_if(outcomes, has);
    if (std::size_t(with) == outcomes.size()) continue;  // every case has it: that tells nothing
    if (!best || with < of_best) best = &p, of_best = with;
  }
  if (!best) return "";
  return of_best == red ? format("only %s, and all %td such cases", best->words, red)
                        : format("only %s (%td of %td such cases)", best->words, red, of_best);
}

}  // namespace lab
