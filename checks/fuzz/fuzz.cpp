// runner KERNEL fuzz: random problems under random schedules, as cases of the acceptance, until one is red or the time is up. A case
// is a function of (seed, its number) alone, so a red one can be repeated; it is shrunk first.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "checks/acceptance/case_run.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/runner/commands.hpp"
#include "common/stage_names.hpp"
#include "reference/hash.hpp"

namespace lab {
namespace {

constexpr int LONGEST = 700;                      // of most cases
constexpr int THREE_SLOTS = 1024, LONGER = 1200;  // from 1024 keys on the stages keep three K/V blocks: one case in 16
constexpr std::size_t MOST_ELEMENTS = 400'000;    // of a tensor: drawing them must not take longer than the kernel

struct FuzzCase {
  Case test{Group::ragged, {}, Family::unit, 1};
  ExecOptions exec;
};

std::string words(const FuzzCase& c) {
  std::string text = "shape=" + shape_word(c.test.shape);
  if (c.test.scale) text += format(" scale=%.9g", *c.test.scale);
  text += format(" inputs=%s:%llu", name(c.test.family), (unsigned long long)c.test.seed);
  if (c.test.amplitude != 1) text += format(" amplitude=%.9g", c.test.amplitude);
  if (!can_schedule() || subject().backward) return text;
  text += std::string(" schedule=") + name(c.exec.schedule);
  if (c.exec.schedule == Schedule::random) text += format(":%llu", (unsigned long long)c.exec.seed);
  text += std::string(" copies=") + name(c.exec.copies);
  if (c.exec.fragments == Fragments::other) text += " fragments=other";
  return text + (c.exec.gaps ? " gaps=1" : "");
}

// --- drawing -------------------------------------------------------------------------------------------------

struct Dice : SplitMix64 {
  Dice(std::uint64_t seed, std::uint64_t number) : SplitMix64(seed * GOLDEN + number * 0xD1B54A32D192ED03ull) {}
  int from(int first, int last) { return first + int(next() % std::uint64_t(last - first + 1)); }
  bool one_in(int n) { return from(1, n) == 1; }
  template <class T, std::size_t N>
  T of(const T (&values)[N]) {
    return values[from(0, int(N) - 1)];
  }
};

int draw_length(Dice& dice) {
  if (dice.one_in(16)) return dice.from(THREE_SLOTS, LONGER);
  switch (dice.from(0, 3)) {
    case 0:
      return dice.from(1, 130);
    case 1: {  // just at a tile's or a stripe's end
      constexpr int STEPS[] = {16, 32, 48, 64};
      const int step = dice.of(STEPS);
      return std::clamp(step * dice.from(1, LONGEST / step) + dice.from(-1, 1), 1, LONGEST);
    }
    default:
      return dice.from(1, LONGEST);
  }
}

// Of a backward stage every block runs, and an oracle takes every pair: fewer heads, shorter, at the usual scale.
FuzzCase draw(std::uint64_t seed, std::uint64_t number) {
  Dice dice(seed, number);
  const bool backward = subject().backward;
  FuzzCase c;
  Shape& shape = c.test.shape;
  shape.S = backward ? dice.from(1, 200) : draw_length(dice);
  shape.D = dice.one_in(3) ? 128 : 64;
  shape.causal = dice.one_in(2);
  const int heads = std::max(1, int(MOST_ELEMENTS / (std::size_t(shape.S) * shape.D)));
  shape.H = dice.from(1, std::min(backward ? 3 : 9, heads));
  shape.B = dice.from(1, std::min(backward ? 2 : 4, heads / shape.H));
  if (!backward && dice.one_in(2)) {
    constexpr float ODD[] = {0.01f, 1.0f, 0.001f, 0.5f, 1e-30f, 0.125f, 0.03f, 2.0f, 0.0883883461f, 0.3f};
    c.test.scale = dice.of(ODD);
  }
  // NaN and infinities have no bound to be held to, and `climbing` says nothing at most lengths.
  constexpr Family DRAWN[] = {Family::notes,      Family::unit,    Family::peaked,  Family::offset,  Family::swamped,
                              Family::cancelling, Family::impulse, Family::matched, Family::constant};
  c.test.family = dice.of(DRAWN);
  c.test.seed = dice.next() % 1'000'000;
  c.exec.schedule = dice.of(SCHEDULES);
  c.exec.seed = 1 + dice.next() % 1'000'000;
  c.exec.copies = dice.one_in(2) ? Copies::at_issue : Copies::at_wait;
  c.exec.fragments = dice.one_in(4) ? Fragments::other : Fragments::measured;
  c.exec.gaps = dice.one_in(2);
  if (!backward && dice.one_in(8)) {
    constexpr Family KINDS[] = {Family::unit, Family::matched, Family::constant};
    constexpr double AMPLITUDES[] = {30, 300, 1000, 6000, 12000, 20000, 30000, LARGEST_HALF};
    c.test.family = dice.of(KINDS), c.test.amplitude = dice.of(AMPLITUDES);
  }
  return c;
}

// --- running and shrinking -------------------------------------------------------------------------------------

CaseResult run(const FuzzCase& c) {
  AcceptanceOptions options;
  options.quick = true;
  if (!subject().backward) options.first = c.exec;
  try {
    return run_case(subject(), c.test, 0, options);
  } catch (const StillRuns&) {  // only the end of the process frees the GPU
    std::printf("%s: the kernel still runs: %s\n0 passed, 1 failed\n", stage_name(), words(c).c_str());
    std::fflush(stdout);
    std::_Exit(1);
  }
}

// Makes the case simpler, one step at a time, as long as something is still red. The shape first: it costs the time.
int shrink(FuzzCase& smallest, CaseResult& result) {
  constexpr int MOST_TRIES = 400;
  int tries = 0;
  const auto still_fails = [&](auto change) {
    FuzzCase simpler = smallest;
    change(simpler);
    if (words(simpler) == words(smallest) || tries >= MOST_TRIES) return false;
    ++tries;
    CaseResult now = run(simpler);
    if (now.green()) return false;
    smallest = simpler, result = std::move(now);
    return true;
  };
  for (std::string before; before != words(smallest);) {
    before = words(smallest);
    still_fails([](FuzzCase& c) { c.test.shape.B = 1; });
    still_fails([](FuzzCase& c) { c.test.shape.H = 1; });
    for (const int S : {1, 2, 15, 16, 17, 33, 49, 65, 100, 129, 200, 300, 400, 500, 600, THREE_SLOTS})
      if (S < smallest.test.shape.S && still_fails([&](FuzzCase& c) { c.test.shape.S = S; })) break;
    for (const int step : {32, 16, 8, 4, 2, 1})
      while (smallest.test.shape.S > step && still_fails([&](FuzzCase& c) { c.test.shape.S -= step; })) {
      }
    still_fails([](FuzzCase& c) { c.test.shape.D = 64; });
    still_fails([](FuzzCase& c) { c.test.shape.causal = false; });
    still_fails([](FuzzCase& c) { c.test.scale.reset(); });
    still_fails([](FuzzCase& c) { c.test.family = Family::unit, c.test.amplitude = 1; });
    still_fails([](FuzzCase& c) { c.test.seed = 1; });
    still_fails([](FuzzCase& c) { c.exec.schedule = Schedule::ascending; });
    still_fails([](FuzzCase& c) { c.exec.seed = 1; });
    still_fails([](FuzzCase& c) { c.exec.copies = Copies::at_wait; });
    still_fails([](FuzzCase& c) { c.exec.fragments = Fragments::measured, c.exec.gaps = false; });
  }
  return tries;
}

void print_problems(const CaseResult& result) {
  constexpr std::size_t MOST = 6;
  for (std::size_t i = 0; i < std::min(result.problems.size(), MOST); ++i) print_red("    " + result.problems[i].what);
  if (result.problems.size() > MOST) print_red(format("    and %zu more", result.problems.size() - MOST));
}

std::string title() {
  return std::string(stage_name()) + (*planted_bug() ? std::string(" with ") + planted_bug() : "");
}

// --- the command -------------------------------------------------------------------------------------------------

// "random:7" -> ("random", 7)
std::pair<std::string, std::uint64_t> with_seed(const std::string& key, const std::string& text) {
  const auto colon = text.find(':');
  if (colon == text.npos) return {text, 1};
  return {text.substr(0, colon), whole_number(key, text.substr(colon + 1), 0ul, ~0ul)};
}

template <class T, std::size_t N>
T named(const std::string& key, const std::string& text, const T (&values)[N]) {
  std::string names;
  for (const T value : values) {
    if (text == name(value)) return value;
    names += std::string(" ") + name(value);
  }
  throw BadInput("unknown " + key + "=" + text + "; there are" + names);
}

FuzzCase only_case(const KeyValues& values) {
  FuzzCase c;
  c.test.shape = one_shape(values.require("shape"));
  if (c.test.shape.elements() > 1u << 28) throw BadInput("shape=: more than 2^28 elements a tensor");
  c.test.scale = values.number("scale");
  const auto [family, inputs_seed] = with_seed("inputs", values.get("inputs").value_or("unit"));
  c.test.family = family_named(family), c.test.seed = inputs_seed;
  c.test.amplitude = double(values.number("amplitude").value_or(1));
  if (c.test.amplitude != 1 &&
      !(takes_amplitude(c.test.family) && c.test.amplitude > 0 && c.test.amplitude <= LARGEST_HALF))
    throw BadInput("amplitude=" + *values.get("amplitude") +
                   format(": must be above 0 and at most %g, with inputs= unit, matched or constant", LARGEST_HALF));
  const auto [schedule, schedule_seed] = with_seed("schedule", values.get("schedule").value_or("ascending"));
  if (can_schedule()) {
    c.exec.schedule = named("schedule", schedule, SCHEDULES), c.exec.seed = schedule_seed;
    c.exec.copies = named("copies", values.get("copies").value_or("at_wait"), COPY_TIMES);
  }
  const std::string fragments = values.get("fragments").value_or("measured");
  if (fragments != "measured" && fragments != "other")
    throw BadInput("unknown fragments=" + fragments + "; there are measured other");
  c.exec.fragments = fragments == "other" ? Fragments::other : Fragments::measured;
  c.exec.gaps = values.flag("gaps");
  return c;
}

bool wants_check(const KeyValues& values) {
  if (!values.flag("check")) return false;
  if (!can_check())
    throw BadInput("check=1 needs an instrumented kernel: make stage=S fuzz check=1 builds one (CPU only)");
  return true;
}

int run_only(std::span<char*> args) {
  constexpr std::string_view keys[] = {"shape",  "scale",     "inputs", "amplitude", "schedule",
                                       "copies", "fragments", "gaps",   "check"};
  const KeyValues values(args, keys);
  FuzzCase c = only_case(values);
  c.exec.check = wants_check(values);
  const CaseResult result = run(c);
  std::printf("%s: %s: %s, %zu of %zu blocks\n", title().c_str(), words(c).c_str(), result.green() ? "good" : "FAILS",
              result.checked, result.total);
  print_problems(result);
  return result.green() ? 0 : 1;
}

}  // namespace

// runner KERNEL fuzz [seconds=N] [seed=K] [cases=N] [check=1]
// runner KERNEL fuzz only shape= [scale=] [inputs=] [amplitude=] [schedule=] [copies=] [fragments=] [gaps=] [check=]
int fuzz_command(std::span<char*> args) {
  if (!args.empty() && std::string_view(args[0]) == "only") return run_only(args.subspan(1));
  constexpr std::string_view keys[] = {"seconds", "seed", "cases", "check"};
  const KeyValues values(args, keys);
  const double seconds = double(values.whole("seconds", 1'000'000, 1, 60));
  const std::uint64_t seed = values.whole("seed", ~0ull, 0, 1);
  const std::size_t most = values.whole("cases", 1'000'000'000, 1, 1'000'000'000);
  const bool check = wants_check(values);

  Progress progress(values.get("cases") ? most : 0, seconds, false);
  std::size_t done = 0, blocks = 0, elements = 0;
  double worst = 0, before = 0;
  for (; done < most && progress.seconds() < seconds; ++done) {
    FuzzCase c = draw(seed, done);
    c.exec.check = check;
    progress.start(title() + " " + words(c).substr(0, 70));
    CaseResult result = run(c);
    progress.finish(progress.seconds() - before), before = progress.seconds();
    blocks += result.checked, elements += result.compared.compared;
    worst = std::max(worst, result.compared.worst_ratio);
    if (result.green()) continue;
    progress.clear();
    record("tells", words(c) + ": " + result.problems.front().what);
    print_red(format("%s: case %zu of seed %llu fails: %s", title().c_str(), done, (unsigned long long)seed,
                     words(c).c_str()));
    print_problems(result);
    std::fflush(stdout);
    const int tries = shrink(c, result);
    print_red(format("  shrunk in %d tries to: %s", tries, words(c).c_str()));
    print_problems(result);
    print_red("  again: make stage=" + short_stage_name(stage_name()) +
              (*planted_bug() ? std::string(" bug=") + planted_bug() : "") + " fuzz" + (check ? " check=1" : "") +
              " only='" + words(c) + "'");
    std::printf("%zu passed, 1 failed\n", done);
    return 1;
  }
  progress.clear();
  std::printf(
      "%s: %zu random cases%s, seed %llu, %zu blocks, %zu elements, worst error %.0f%% of allowed, %.0f s\n%zu passed, "
      "0 failed\n",
      title().c_str(), done, check ? " under the checker" : "", (unsigned long long)seed, blocks, elements, 100 * worst,
      progress.seconds(), done);
  return 0;
}

}  // namespace lab
