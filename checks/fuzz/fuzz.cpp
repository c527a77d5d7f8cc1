// runner KERNEL fuzz: random problems under random schedules, held against the oracle at the harness's bound, until one fails or
// the time is up. A case is a function of (seed, its number) alone, so a failure can be repeated; it is shrunk first.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/sampling.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/runner/commands.hpp"
#include "common/backend.hpp"
#include "common/gpu_access.hpp"
#include "common/stage_names.hpp"
#include "reference/attention.hpp"
#include "reference/inputs.hpp"

namespace lab {
namespace {

constexpr int LONGEST = 700;                      // of most cases
constexpr int THREE_SLOTS = 1024, LONGER = 1200;  // from 1024 keys on the stages keep three K/V blocks: one case in 16
constexpr std::size_t MOST_ELEMENTS = 400'000;    // of a tensor: drawing them must not take longer than the kernel

struct FuzzCase {
  Shape shape;
  std::optional<float> scale;  // 1/sqrt(D) if not given
  Family family = Family::unit;
  std::uint64_t inputs_seed = 1;
  double amplitude = 1;
  ExecOptions exec;
  float scale_used() const { return scale ? *scale : float(default_scale(shape.D)); }
};

std::string words(const FuzzCase& c) {
  std::string text =
      format("B=%d H=%d S=%d D=%d causal=%d", c.shape.B, c.shape.H, c.shape.S, c.shape.D, int(c.shape.causal));
  if (c.scale) text += format(" scale=%.9g", *c.scale);
  text += format(" inputs=%s:%llu", name(c.family), (unsigned long long)c.inputs_seed);
  if (c.amplitude != 1) text += format(" amplitude=%.9g", c.amplitude);
  if (!can_schedule()) return text;
  text += std::string(" schedule=") + name(c.exec.schedule);
  if (c.exec.schedule == Schedule::random) text += format(":%llu", (unsigned long long)c.exec.seed);
  text += std::string(" copies=") + name(c.exec.copies);
  if (c.exec.fragments == Fragments::other) text += " fragments=other";
  if (c.exec.gaps) text += " gaps=1";
  return text;
}

// --- drawing -------------------------------------------------------------------------------------------------

class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t number)
      : state_(seed * 0x9E3779B97F4A7C15ull + number * 0xD1B54A32D192ED03ull) {}
  std::uint64_t next() {  // splitmix64
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
  }
  int from(int first, int last) { return first + int(next() % std::uint64_t(last - first + 1)); }
  bool one_in(int n) { return from(1, n) == 1; }
  template <class T, std::size_t N>
  T of(const T (&values)[N]) {
    return values[from(0, int(N) - 1)];
  }

 private:
  std::uint64_t state_;
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

FuzzCase draw(std::uint64_t seed, std::uint64_t number) {
  Dice dice(seed, number);
  FuzzCase c;
  c.shape.S = draw_length(dice);
  c.shape.D = dice.one_in(3) ? 128 : 64;
  c.shape.causal = dice.one_in(2);
  const int heads = std::max(1, int(MOST_ELEMENTS / (std::size_t(c.shape.S) * c.shape.D)));
  c.shape.H = dice.from(1, std::min(9, heads));
  c.shape.B = dice.from(1, std::min(4, heads / c.shape.H));
  if (dice.one_in(2)) {
    constexpr float ODD[] = {0.01f, 1.0f, 0.001f, 0.5f, 1e-30f, 0.125f, 0.03f, 2.0f, 0.0883883461f, 0.3f};
    c.scale = dice.of(ODD);
  }
  // NaN and infinities have no bound to be held to; the acceptance compares them. `climbing` says nothing at most
  // lengths, and with it every seed would mean another case.
  constexpr Family DRAWN[] = {Family::notes,   Family::unit,       Family::peaked,  Family::offset,
                              Family::swamped, Family::cancelling, Family::special, Family::impulse};
  do c.family = dice.of(DRAWN);
  while (c.family == Family::special);
  c.inputs_seed = dice.next() % 1'000'000;
  c.exec.schedule = dice.of(SCHEDULES);
  const std::uint64_t schedule_seed = 1 + dice.next() % 1'000'000;
  if (c.exec.schedule == Schedule::random) c.exec.seed = schedule_seed;
  c.exec.copies = dice.one_in(2) ? Copies::at_issue : Copies::at_wait;
  c.exec.fragments = dice.one_in(4) ? Fragments::other : Fragments::measured;
  c.exec.gaps = dice.one_in(2);
  // Dice of their own: the cases without an amplitude stay what they were.
  Dice large(~seed, number);
  if (large.one_in(8)) {
    constexpr Family KINDS[] = {Family::unit, Family::matched, Family::constant};
    constexpr double AMPLITUDES[] = {30, 300, 1000, 6000, 12000, 20000, 30000, LARGEST_HALF};
    c.family = large.of(KINDS), c.amplitude = large.of(AMPLITUDES);
  }
  return c;
}

// --- running one case ------------------------------------------------------------------------------------------

struct Outcome {
  std::vector<std::string> problems = {};  // a line each; empty: good
  std::size_t blocks = 0, of_blocks = 0;
  Comparison compared = {};  // with the oracle
};

class CaseRun {
 public:
  CaseRun(const FuzzCase& c, bool check)
      : case_(c),
        check_(check),
        grid_(grid_of(subject(), c.shape)),
        problem_{c.shape, c.scale_used(), c.family, make_inputs(c.family, c.shape, c.inputs_seed, {}, c.amplitude)},
        tensors_(subject(), problem_.in, !check) {}

  Outcome run() {
    const std::vector<std::uint32_t> units = chosen_units();
    outcome_.of_blocks = grid_.units, outcome_.blocks = units.size();
    std::vector<fp16> output, again;
    ExecOptions options = case_.exec;
    if (!launch(options, units, output)) return outcome_;
    const std::vector<RowBlock> rows =
        units.size() < grid_.units ? written_rows(case_.shape, output) : all_rows(case_.shape);
    if (rows.empty()) problem("the blocks that ran wrote nothing");
    if (!rows.empty()) compare(case_.shape, rows, output, oracle(subject(), problem_, rows)[0], outcome_.compared);
    for (const std::string& line : lines_of(outcome_.compared)) problem(line);
    // A different schedule must give the same bits: what the bound would let pass.
    std::vector<std::uint32_t> some(units.end() - std::min<std::ptrdiff_t>(2, std::ssize(units)), units.end());
    if (!grid_.independent) some = units;
    const bool plain = options.schedule == Schedule::ascending && options.copies == Copies::at_wait;
    options = {};
    if (plain) options.schedule = Schedule::round_robin, options.copies = Copies::at_issue;
    if (launch(options, some, again)) compare_bits(output, again, options);
    return outcome_;
  }

 private:
  void problem(const std::string& what) {
    if (std::ranges::find(outcome_.problems, what) == outcome_.problems.end()) outcome_.problems.push_back(what);
  }

  // Of a large problem some, so that many problems fit into a second. The last block of some head is among them, where
  // blocks go head after head.
  std::vector<std::uint32_t> chosen_units() const {
    const std::size_t count =
        std::max<std::size_t>(2, std::size_t((check_ ? 0.15 : 0.6) / unit_cost(case_.shape, grid_)));
    std::set<std::uint32_t> chosen;
    if (count >= grid_.units || !grid_.independent) {
      for (std::uint32_t i = 0; i < grid_.units; ++i) chosen.insert(i);
    } else {
      Dice dice(case_.inputs_seed, 0x71135);
      const int heads = case_.shape.B * case_.shape.H, per_head = std::max(1, int(grid_.units) / heads);
      chosen.insert(std::min(std::uint32_t(dice.from(1, heads) * per_head), grid_.units) - 1);
      while (chosen.size() < count) chosen.insert(std::uint32_t(dice.from(0, int(grid_.units) - 1)));
    }
    return {chosen.begin(), chosen.end()};
  }

  // False if the launch left no output.
  bool launch(ExecOptions options, const std::vector<std::uint32_t>& units, std::vector<fp16>& output) {
    options.check = check_;
    if (units.size() < grid_.units) options.blocks = grid_.blocks(units);
    Ran ran = tensors_.launch(case_.shape, case_.scale_used(), {.options = options});
    if (ran.still_runs()) {  // only the end of the process frees the GPU
      std::printf("%s: the kernel still runs after %.1f s: %s\n0 passed, 1 failed\n", stage_name(),
                  hang_seconds(case_.shape), words(case_).c_str());
      std::fflush(stdout);
      std::_Exit(1);
    }
    const bool first = outcome_.problems.empty();  // a second launch mostly says its findings again
    for (const Fault& fault : faults_of(ran, grid_.independent ? units.size() * grid_.blocks_per_unit : 0))
      if (first || fault.evidence != Evidence::finding) problem(fault.what);
    output = std::move(ran.outputs[0]);
    return ran.ok();
  }

  // `other` is of some of the blocks of `one`.
  void compare_bits(const std::vector<fp16>& one, const std::vector<fp16>& other, const ExecOptions& options) {
    const auto [compared, others, where] = differing(case_.shape, written_rows(case_.shape, other), one, other);
    if (others == 0) return;
    const std::string how =
        can_schedule() ? std::string(" under schedule ") + name(options.schedule) + ", copies " + name(options.copies)
                       : "";
    problem(format("not repeatable%s: %zu elements differ, first at %s: %s, was %s", how.c_str(), others,
                   place_of(case_.shape, where).c_str(), number(to_float(other[where])).c_str(),
                   number(to_float(one[where])).c_str()));
  }

  const FuzzCase& case_;
  bool check_;
  Grid grid_;
  Problem problem_;
  Tensors tensors_;
  Outcome outcome_;
};

Outcome run_case(const FuzzCase& c, bool check) {
  try {
    return CaseRun(c, check).run();
  } catch (const std::exception& e) {  // a lost GPU context, or no memory
    Outcome outcome;
    outcome.problems.push_back(std::string("the harness could not go on: ") + e.what());
    return outcome;
  }
}

// --- shrinking ---------------------------------------------------------------------------------------------------

struct Shrunk {
  FuzzCase smallest;
  Outcome outcome;
  int tries = 0;
};

// Makes the case simpler, one step at a time, as long as something still fails. The shape first: it costs the time.
Shrunk shrink(const FuzzCase& failing, const Outcome& outcome, bool check) {
  constexpr int MOST_TRIES = 400;
  Shrunk s{failing, outcome};
  const auto still_fails = [&](auto change) {
    FuzzCase simpler = s.smallest;
    change(simpler);
    if (words(simpler) == words(s.smallest) || s.tries >= MOST_TRIES) return false;
    ++s.tries;
    Outcome now = run_case(simpler, check);
    if (now.problems.empty()) return false;
    s.smallest = simpler, s.outcome = std::move(now);
    return true;
  };
  for (std::string before; before != words(s.smallest);) {
    before = words(s.smallest);
    still_fails([](FuzzCase& c) { c.shape.B = 1; });
    still_fails([](FuzzCase& c) { c.shape.H = 1; });
    for (const int S : {1, 2, 15, 16, 17, 33, 49, 65, 100, 129, 200, 300, 400, 500, 600, THREE_SLOTS})
      if (S < s.smallest.shape.S && still_fails([&](FuzzCase& c) { c.shape.S = S; })) break;
    for (const int step : {32, 16, 8, 4, 2, 1})
      while (s.smallest.shape.S > step && still_fails([&](FuzzCase& c) { c.shape.S -= step; })) {
      }
    still_fails([](FuzzCase& c) { c.shape.D = 64; });
    still_fails([](FuzzCase& c) { c.shape.causal = false; });
    still_fails([](FuzzCase& c) { c.scale.reset(); });
    still_fails([](FuzzCase& c) { c.amplitude = 1; });
    still_fails([](FuzzCase& c) { c.family = Family::unit, c.amplitude = 1; });
    still_fails([](FuzzCase& c) { c.inputs_seed = 1; });
    still_fails([](FuzzCase& c) { c.exec.schedule = Schedule::ascending, c.exec.seed = 1; });
    still_fails([](FuzzCase& c) { c.exec.seed = 1; });
    still_fails([](FuzzCase& c) { c.exec.copies = Copies::at_wait; });
    still_fails([](FuzzCase& c) { c.exec.fragments = Fragments::measured; });
    still_fails([](FuzzCase& c) { c.exec.gaps = false; });
  }
  return s;
}

void print_problems(const Outcome& outcome) {
  constexpr std::size_t MOST = 6;
  for (std::size_t i = 0; i < outcome.problems.size() && i < MOST; ++i) print_red("    " + outcome.problems[i]);
  if (outcome.problems.size() > MOST) print_red(format("    and %zu more", outcome.problems.size() - MOST));
}

std::string title() {
  return std::string(stage_name()) + (*planted_bug() ? std::string(" with ") + planted_bug() : "");
}

std::string make_command(const FuzzCase& c, bool check) {
  return "make stage=" + short_stage_name(stage_name()) + (*planted_bug() ? std::string(" bug=") + planted_bug() : "") +
         " fuzz" + (check ? " check=1" : "") + " only='" + words(c) + "'";
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
  c.shape.B = whole_number("B", values.require("B"), 1, 65535),
  c.shape.H = whole_number("H", values.require("H"), 1, 65535);
  c.shape.S = whole_number("S", values.require("S"), 1, 1 << 20),
  c.shape.D = whole_number("D", values.require("D"), 64, 128);
  if (c.shape.D != 64 && c.shape.D != 128) throw BadInput(format("D=%d: the stages take 64 and 128", c.shape.D));
  if (c.shape.elements() > 1u << 28) throw BadInput("B, H, S, D: more than 2^28 elements a tensor");
  c.shape.causal = values.flag("causal");
  if (const auto scale = values.number("scale")) c.scale = *scale;
  const auto [family, inputs_seed] = with_seed("inputs", values.get("inputs").value_or("unit"));
  c.family = family_named(family), c.inputs_seed = inputs_seed;
  if (const auto amplitude = values.number("amplitude")) {
    if (!takes_amplitude(c.family) || !(*amplitude > 0 && *amplitude <= LARGEST_HALF))
      throw BadInput("amplitude=" + *values.get("amplitude") +
                     format(": must be above 0 and at most %g, with inputs= unit, matched or constant", LARGEST_HALF));
    c.amplitude = *amplitude;
  }
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
  constexpr std::string_view keys[] = {"B",         "H",        "S",      "D",         "causal", "scale", "inputs",
                                       "amplitude", "schedule", "copies", "fragments", "gaps",   "check"};
  const KeyValues values(args, keys);
  const FuzzCase c = only_case(values);
  const bool check = wants_check(values);
  const Outcome outcome = run_case(c, check);
  std::printf("%s: %s: %s, %zu of %zu blocks\n", title().c_str(), words(c).c_str(),
              outcome.problems.empty() ? "good" : "FAILS", outcome.blocks, outcome.of_blocks);
  print_problems(outcome);
  return outcome.problems.empty() ? 0 : 1;
}

}  // namespace

// runner KERNEL fuzz [seconds=N] [seed=K] [cases=N] [case=I] [check=1]
// runner KERNEL fuzz only B= H= S= D= [causal=] [scale=] [inputs=] [amplitude=] [schedule=] [copies=] [fragments=] [gaps=]
// [check=]
int fuzz_command(std::span<char*> args) {
  if (!args.empty() && std::string_view(args[0]) == "only") return run_only(args.subspan(1));
  constexpr std::string_view keys[] = {"seconds", "seed", "cases", "case", "check"};
  const KeyValues values(args, keys);
  const double seconds = double(values.whole("seconds", 1'000'000, 1, 60));
  const std::uint64_t seed = values.whole("seed", ~0ull, 0, 1);
  const auto one = values.get("case");
  std::uint64_t number = values.whole("case", ~0ull - 1);
  const std::uint64_t most = one ? 1 : values.whole("cases", ~0ull, 1, 1'000'000'000);
  const bool check = wants_check(values);

  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  std::uint64_t done = 0;
  std::size_t blocks = 0, elements = 0;
  double worst = 0, shown = -1;
  for (; done < most && (one || elapsed() < seconds); ++number) {
    const FuzzCase c = draw(seed, number);
    if (terminal && elapsed() - shown > 0.1) {
      shown = elapsed();
      std::fprintf(stderr, "\r\033[K%s: %llu cases good, %.0f s left; now %s", title().c_str(),
                   (unsigned long long)done, std::max(0.0, seconds - shown), words(c).substr(0, 70).c_str());
      std::fflush(stderr);
    }
    const Outcome outcome = run_case(c, check);
    ++done, blocks += outcome.blocks, elements += outcome.compared.compared;
    worst = std::max(worst, outcome.compared.worst_ratio);
    if (outcome.problems.empty()) continue;
    if (terminal) std::fputs("\r\033[K", stderr);
    record("tells", words(c) + ": " + outcome.problems.front());
    print_red(format("%s: case %llu of seed %llu fails: %s", title().c_str(), (unsigned long long)number,
                     (unsigned long long)seed, words(c).c_str()));
    print_problems(outcome);
    std::fflush(stdout);
    const Shrunk s = shrink(c, outcome, check);
    print_red(format("  shrunk in %d tries to: %s", s.tries, words(s.smallest).c_str()));
    print_problems(s.outcome);
    print_red("  again: " + make_command(s.smallest, check));
    std::printf("%llu passed, 1 failed\n", (unsigned long long)done - 1);
    return 1;
  }
  if (terminal) std::fputs("\r\033[K", stderr);
  std::printf(
      "%s: %llu random cases%s, seed %llu, %zu blocks, %zu elements, worst error %.0f%% of allowed, %.0f s\n%llu "
      "passed, 0 failed\n",
      title().c_str(), (unsigned long long)done, check ? " under the checker" : "", (unsigned long long)seed, blocks,
      elements, 100 * worst, elapsed(), (unsigned long long)done);
  return 0;
}

}  // namespace lab
