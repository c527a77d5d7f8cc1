// runner KERNEL predict: whether a learner's prediction of this build's wrong answer is what comes out, element by element.
// runner KERNEL card: the case that an exercise's card tells of. Of either pass.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/problem.hpp"
#include "checks/acceptance/same_bits.hpp"
#include "checks/acceptance/sampling.hpp"
#include "checks/acceptance/tolerance.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/bugs/hang.hpp"
#include "checks/exercises/formulas.hpp"
#include "checks/exercises/rule.hpp"
#include "checks/runner/commands.hpp"

namespace lab {
namespace {

struct Request {
  std::vector<Shape> shapes;
  Family family = Family::unit;
  ExecOptions options;
  std::string say, seen;
};

Request read_request(const KeyValues& words) {
  Request r;
  r.shapes = bench_shapes(words.get("shape").value_or("1,8,512,64"));
  r.family = family_named(words.get("inputs").value_or("unit"));
  const bool at_issue = words.get("copies") == "at_issue";
  r.options.copies = r.options.products = at_issue ? Copies::at_issue : Copies::at_wait;
  r.seen = words.get("seen").value_or("wrong");
  return r;
}

// Of what is asked, how much is right; and what a wrong rule is answered with, a map behind its first line.
struct Score {
  int right = 0, asked = 1;
  std::vector<std::string> near = {};
};

// measure(), once for each shape: of one launch several predictions are judged, and a process has one request.
template <class Measure>
const auto& once(const Shape& shape, Measure measure) {
  static std::deque<std::pair<Shape, decltype(measure())>> known;
  const auto found = std::ranges::find(known, shape, [](const auto& one) { return one.first; });
  return found != known.end() ? found->second : known.emplace_back(shape, measure()).second;
}

// A launch, and the right answer of it. One that is refused or stops has written nothing that means anything: all is wrong.
struct Launch {
  Trial trial;
  std::vector<Expected> right;  // of each output
};
Launch launch(const Request& r, const Shape& shape) {
  Launch l{run_trial(shape, r.family, r.options), {}};
  const Trial& t = l.trial;
  if (subject().backward)
    l.right = oracle(subject(), {shape, t.scale, t.family, t.in});
  else
    l.right = {loosely(attention(t), shape, t.scale, t.in, subject().half_p)};
  return l;
}
const Launch& told_launch(const Request& r, const Shape& shape) {
  return once(shape, [&] {
    Launch l = launch(r, shape);
    if (!l.trial.ok()) std::printf("%s: the launch fails: %s\n", l.trial.title().c_str(), l.trial.message.c_str());
    return l;
  });
}

// A mark for each element of an output: . right, # wrong, N NaN, ~ never written.
std::string marks_of(const Launch& l, std::size_t output) {
  const std::vector<fp16>& out = l.trial.outputs[output];
  std::string marks = lab::marks_of(l.trial.shape, all_rows(l.trial.shape), out, l.right[output]);
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (marks[i] == '.' && std::isnan(to_float(out[i]))) marks[i] = 'N';  // where the right answer has one, too
  return marks;
}

// A prediction is of elements with one of these marks.
bool is_seen(const std::string& seen, char mark) {
  return seen == "unwritten" ? mark == '~' : seen == "nan" ? mark == 'N' || mark == '~' : mark != '.';
}
const char* in_words(const std::string& seen) {
  return seen == "nan" ? "NaN" : seen == "unwritten" ? "never written" : "wrong";
}

Score mask_score(const Request& r, const Shape& shape) {
  const Rule rule(r.say);
  const Launch& l = told_launch(r, shape);
  std::size_t yours = 0, theirs = 0, both = 0, differing = 0;
  std::vector<std::string> map;  // of the first head where they differ
  std::string of;
  for (std::size_t output = 0; output < l.right.size(); ++output) {
    const std::string name = subject().backward ? subject().outputs[output] : "";
    std::string marks = marks_of(l, output);
    if (r.seen == "rows")  // single elements may be right by chance, a whole row is not
      for (std::size_t row = 0; row < marks.size(); row += shape.D)
        if (marks.find_first_not_of('.', row) < row + shape.D) marks.replace(row, shape.D, shape.D, '#');
    for (char& mark : marks) mark = is_seen(r.seen, mark) ? '#' : '.';
    const std::size_t head = std::size_t(shape.S) * shape.D;
    for (int b = 0; b < shape.B; ++b)
      for (int h = 0; h < shape.H; ++h) {
        std::string said, is = marks.substr((std::size_t(b) * shape.H + h) * head, head);
        for (int row = 0; row < shape.S; ++row)
          said += rule.marks({b, h, row, 0, shape.S, shape.D, shape.causal, name == "dq", name == "dk", name == "dv"});
        for (std::size_t i = 0; i < head; ++i) {
          yours += said[i] == '#', theirs += is[i] == '#', both += said[i] == '#' && is[i] == '#';
          differing += said[i] != is[i];
        }
        if (said == is || !map.empty()) continue;
        map = rule_map(said, is, shape.D, in_words(r.seen));
        of = format("%s%s(b,h) = (%d,%d)", name.c_str(), name.empty() ? "" : " of ", b, h);
      }
  }
  std::printf("%s: your rule marks %zu elements, %s are %zu%s\n", text(shape).c_str(), yours, in_words(r.seen), theirs,
              differing ? "" : ": the same");
  if (differing == 0) return {1};
  map.insert(map.begin(), of + ":");
  map.insert(map.begin(), format("%s: your rule marks %zu elements, %zu of them rightly; it misses %zu.",
                                 text(shape).c_str(), yours, both, theirs - both));
  return {.near = map};
}

Score formula_score(const Request& r, const Shape& shape) {
  const Formula formula = formula_named(r.say);
  const auto& [t, right] = told_launch(r, shape);
  std::size_t outside = 0;
  const std::vector<std::vector<double>> predicted = formula.compute(t);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    Expected held{predicted[i], right[i].allowed, {}};
    if (subject().backward)  // the bound of the right gradient, and the rounding of the one that comes out
      for (std::size_t e = 0; e < held.value.size(); ++e) held.allowed[e] += FP16_ROUNDING * std::abs(held.value[e]);
    else
      held = loosely(std::move(held.value), shape, t.scale, t.in, subject().half_p);
    Comparison seen;
    compare(shape, all_rows(shape), t.outputs[i], held, seen, {.poison_is_nan = true});
    outside += seen.outside;
    std::printf("%s: %s is up to %.2g from that, %zu of %zu elements further than the bound\n", t.title().c_str(),
                subject().outputs[i], seen.largest(), seen.outside, seen.compared);
  }
  if (t.ok() && outside == 0) return {1};
  std::printf("  what comes out is not: %s\n", formula.says);
  return {};
}

long counted_number(const std::string& text) {
  if (const auto value = number_in<long>(text, 0)) return *value;
  throw BadInput("'" + text + "' is no whole number");
}

// The two lines that each finding names, under all schedules and both times of copying.
std::set<std::pair<int, int>> pairs_of(const Request& r, const Shape& shape) {
  if (!can_check()) throw BadInput("this binary is not instrumented");
  std::set<std::pair<int, int>> pairs;
  // As the race check has it: few multiprocessors too where a stage counts them, so that a block has a second piece of
  // work.
  std::vector<int> multiprocessors = {0};
  if (!subject().backward && shape.S < 1024 && grid_of(subject(), shape, 2) != grid_of(subject(), shape))
    multiprocessors.push_back(shape.H > 2 ? 32 : 1);
  for (const Schedule schedule : SCHEDULES)
    for (const Copies copies : COPY_TIMES)
      for (const int counted : multiprocessors) {
        ExecOptions options;
        options.schedule = schedule, options.copies = options.products = copies;
        options.check = options.gaps = true, options.multiprocessors = counted;
        if (subject().backward)
          options.block_order = std::uint64_t(schedule);
        else if (schedule == Schedule::random)
          options.products = Copies::random;
        for (const Finding& f : run_trial(shape, r.family, options).findings)
          pairs.insert(std::minmax(f.first.valid ? f.first.line : f.second.line, f.second.line));
      }
  return pairs;
}

Score count_score(const Request& r, const Shape& shape) {
  const long yours = counted_number(r.say);
  const long seen = once(shape, [&] {
    if (r.seen == "different") return long(count_outputs(subject(), shape).outputs);  // in several orders of blocks
    const Launch& l = told_launch(r, shape);
    long marked = 0;
    for (std::size_t output = 0; output < l.right.size(); ++output)
      for (const char mark : marks_of(l, output)) marked += is_seen(r.seen, mark);
    return marked;
  });
  std::printf("%s: you say %ld, seen %ld%s\n", text(shape).c_str(), yours, seen,
              yours == seen  ? ""
              : yours < seen ? ": too few"
                             : ": too many");
  return {yours == seen};
}

Score lines_score(const Request& r, const Shape& shape) {
  // One number is for a finding that names one line only.
  const std::size_t blank = std::min(r.say.find_first_of(" ,"), r.say.size());
  const std::size_t second = r.say.find_first_not_of(" ,", blank);
  const long a = counted_number(r.say.substr(0, blank)),
             b = second == r.say.npos ? a : counted_number(r.say.substr(second));
  const std::pair<int, int> yours = std::minmax(int(a), int(b));
  const std::set<std::pair<int, int>>& pairs = once(shape, [&] { return pairs_of(r, shape); });
  if (pairs.contains(yours)) {
    std::printf("%s: the checker names line %d and line %d together\n", text(shape).c_str(), yours.first, yours.second);
    return {2, 2};
  }
  const auto in_some = [&](int line) {
    return std::ranges::any_of(pairs, [&](const auto& p) { return p.first == line || p.second == line; });
  };
  std::printf("%s: the checker names %zu pair%s of lines, and %d with %d is none; line %d is %s, line %d is %s\n",
              text(shape).c_str(), pairs.size(), pairs.size() == 1 ? "" : "s", yours.first, yours.second, yours.first,
              in_some(yours.first) ? "in one" : "in none", yours.second, in_some(yours.second) ? "in one" : "in none");
  return {std::min(1, in_some(yours.first) + in_some(yours.second)), 2};
}

}  // namespace

// runner KERNEL card [shape=..] [inputs=..] [copies=..]: the case that an exercise's card tells of, with the first wrong element.
int card_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "inputs", "copies"};
  const Request request = read_request(KeyValues(args, KEYS));
  for (const Shape& shape : request.shapes) {
    const Launch l = launch(request, shape);
    const Trial& t = l.trial;
    const auto red = [&](const std::string& what) {
      record("tells", t.title() + ": " + what);
      print_red("  RED " + t.title() + "\n    " + what);
      return 1;
    };
    if (t.report.hang.deadlock) record("hang", data_of(t.report.hang.waits.at(0)));
    if (!t.ok()) return red("the launch fails: " + t.message);
    for (std::size_t i = 0; i < l.right.size(); ++i) {
      const std::string marks = marks_of(l, i);
      const std::size_t first = marks.find_first_not_of('.'), wrong = marks.size() - std::ranges::count(marks, '.');
      if (wrong == 0) continue;
      const std::string got = marks[first] == '~' ? "nothing (never written)" : number(to_float(t.outputs[i][first]));
      return red(format("%zu of %zu elements%s%s are wrong; the first is %s: got %s, expected %.6g", wrong,
                        marks.size(), subject().backward ? " of " : "", subject().backward ? subject().outputs[i] : "",
                        place_of(shape, first).c_str(), got.c_str(), l.right[i].value[first]));
    }
  }
  return 0;
}

// runner KERNEL predict formulas; runner KERNEL predict kind=mask|formula|count|lines say=TEXT [shape=..] [inputs=..] [copies=..] [seen=..]
// near=: predictions, a line each, judged of the same launches; those that hold are accepted=... of the verdict.
int predict_command(std::span<char*> args) {
  if (args.size() == 1 && std::string_view(args[0]) == "formulas") {
    for (const Formula& formula : formulas()) std::printf("%-22s %s\n", formula.name, formula.says);
    return 0;
  }
  constexpr std::string_view KEYS[] = {"kind", "say", "shape", "inputs", "copies", "seen", "near"};
  const KeyValues words(args, KEYS);
  Request request = read_request(words);
  using Judge = Score (*)(const Request&, const Shape&);
  constexpr std::pair<std::string_view, Judge> KINDS[] = {
      {"mask", mask_score}, {"formula", formula_score}, {"count", count_score}, {"lines", lines_score}};
  const std::string kind = words.require("kind");
  const auto found = std::ranges::find(KINDS, kind, &std::pair<std::string_view, Judge>::first);
  if (found == std::end(KINDS)) throw BadInput("kind=" + kind + ": must be mask, formula, count or lines");
  const auto score_of = [&](const std::string& said) {
    request.say = said;
    Score all{0, 0};
    for (const Shape& shape : request.shapes) {
      const Score one = found->second(request, shape);
      all.right += one.right, all.asked += one.asked;
      // One map is enough: of the first shape that differs.
      const std::size_t lines = all.near.empty() ? one.near.size() : std::min<std::size_t>(one.near.size(), 1);
      all.near.insert(all.near.end(), one.near.begin(), one.near.begin() + std::ptrdiff_t(lines));
    }
    return all;
  };
  const Score all = score_of(words.require("say"));
  for (const std::string& line : all.near) record("near", line);
  std::istringstream nears(words.get("near").value_or(""));
  for (std::string near; std::getline(nears, near);)
    if (const Score one = score_of(near); one.right == one.asked) record("accepted", near);
  record("right", std::to_string(all.right)), record("asked", std::to_string(all.asked));
  return all.right == all.asked ? 0 : 1;
}

}  // namespace lab
