// runner KERNEL predict: whether a learner's prediction of this build's wrong answer is what comes out, element by element.
// runner KERNEL card: the case that an exercise's card tells of. Of either pass.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/same_bits.hpp"
#include "checks/acceptance/sampling.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/bugs/signature.hpp"
#include "checks/exercises/formulas.hpp"
#include "checks/exercises/rule.hpp"
#include "checks/runner/commands.hpp"

namespace lab {
namespace {

struct Request {
  std::vector<Shape> shapes;
  Family family;
  std::string seen;
  explicit Request(const KeyValues& words)
      : shapes(bench_shapes(words.get("shape").value_or("1,8,512,64"))),
        family(family_named(words.get("inputs").value_or("unit"))),
        seen(words.get("seen").value_or("wrong")) {}
};

// Of what is asked, how much is right; and what a wrong rule is answered with, a map behind its first line.
struct Score {
  int right = 0, asked = 1;
  std::vector<std::string> near = {};
};

// Judges predictions of one launch: what it measures does not depend on what is said.
using Judge = std::function<Score(const std::string& say)>;

// One that is refused or stops has written nothing that means anything: all is wrong.
Trial launch(const Request& r, const Shape& shape) {
  const Trial t = run_trial(shape, r.family);
  if (!t.ok()) std::printf("%s: the launch fails: %s\n", t.title().c_str(), t.message.c_str());
  return t;
}

// The marks of the elements that a prediction is of.
const char* marks_in(const std::string& seen) { return seen == "unwritten" ? "~" : seen == "nan" ? "N~" : "#N~"; }
const char* in_words(const std::string& seen) {
  return seen == "nan" ? "NaN" : seen == "unwritten" ? "never written" : "wrong";
}

Judge mask_judge(const Request& r, const Shape& shape) {
  const Trial t = launch(r, shape);
  std::string seen;  // of all outputs, one after the other
  for (std::size_t output = 0; output < t.outputs.size(); ++output) seen += marks_of({t, output});
  if (r.seen == "rows")  // single elements may be right by chance, a whole row is not
    for (std::size_t row = 0; row < seen.size(); row += shape.D)
      if (seen.find_first_not_of('.', row) < row + shape.D) seen.replace(row, shape.D, shape.D, '#');
  for (char& mark : seen) mark = std::strchr(marks_in(r.seen), mark) ? '#' : '.';
  return [=](const std::string& say) -> Score {
    const std::string said = rule_marks(say, shape, t.outputs.size());
    const auto yours = std::ranges::count(said, '#'), theirs = std::ranges::count(seen, '#');
    const std::size_t first = std::size_t(std::ranges::mismatch(said, seen).in1 - said.begin());
    std::printf("%s: your rule marks %td elements, %s are %td%s\n", text(shape).c_str(), yours, in_words(r.seen),
                theirs, first < said.size() ? "" : ": the same");
    if (first == said.size()) return {1};
    std::ptrdiff_t both = 0;
    for (std::size_t i = 0; i < said.size(); ++i) both += said[i] == '#' && seen[i] == '#';
    const std::size_t head = std::size_t(shape.S) * shape.D, heads = std::size_t(shape.B) * shape.H, at = first / head;
    Score score{.near =
                    rule_map(said.substr(at * head, head), seen.substr(at * head, head), shape.D, in_words(r.seen))};
    const std::string gradient = subject().backward ? subject().outputs[at / heads] + std::string(" of ") : "";
    score.near.insert(score.near.begin(),
                      {format("%s: your rule marks %td elements, %td of them rightly; it misses %td.",
                              text(shape).c_str(), yours, both, theirs - both),
                       format("%s(b,h) = (%zu,%zu):", gradient.c_str(), at % heads / shape.H, at % heads % shape.H)});
    return score;
  };
}

Judge formula_judge(const Request& r, const Shape& shape) {
  const Trial t = launch(r, shape);
  return [t](const std::string& say) -> Score {
    const std::vector<Formula> known = formulas();
    const auto formula = std::ranges::find(known, say, &Formula::name);
    if (formula == known.end()) throw BadInput("no formula is called '" + say + "'");
    std::size_t outside = 0;
    const std::vector<std::vector<double>> predicted = formula->compute(t);
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      const Comparison seen = compare_with_prediction({t, i}, predicted[i]);
      outside += seen.outside;
      std::printf("%s: %s is up to %.2g from that, %zu of %zu elements further than the bound\n", t.title().c_str(),
                  subject().outputs[i], seen.largest(), seen.outside, seen.compared);
    }
    if (t.ok() && outside == 0) return {1};
    std::printf("  what comes out is not: %s\n", formula->says);
    return {};
  };
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
        ExecOptions options{.schedule = schedule, .copies = copies, .products = copies, .check = true};
        options.gaps = true, options.multiprocessors = counted;
        if (subject().backward)
          options.block_order = std::uint64_t(schedule);
        else if (schedule == Schedule::random)
          options.products = Copies::random;
        for (const Finding& f : run_trial(shape, r.family, options).findings)
          pairs.insert(std::minmax(f.first.valid ? f.first.line : f.second.line, f.second.line));
      }
  return pairs;
}

// How many different outputs several orders of blocks give.
Judge count_judge(const Request&, const Shape& shape) {
  const long seen = long(count_outputs(subject(), shape).outputs);
  return [=](const std::string& say) -> Score {
    const long yours = counted_number(say);
    std::printf("%s: you say %ld, seen %ld%s\n", text(shape).c_str(), yours, seen,
                yours == seen  ? ""
                : yours < seen ? ": too few"
                               : ": too many");
    return {yours == seen};
  };
}

Judge lines_judge(const Request& r, const Shape& shape) {
  const std::set<std::pair<int, int>> pairs = pairs_of(r, shape);
  return [=](const std::string& say) -> Score {
    // One number is for a finding that names one line only.
    const std::size_t blank = std::min(say.find_first_of(" ,"), say.size());
    const std::size_t second = say.find_first_not_of(" ,", blank);
    const long a = counted_number(say.substr(0, blank)),
               b = second == say.npos ? a : counted_number(say.substr(second));
    const std::pair<int, int> yours = std::minmax(int(a), int(b));
    if (pairs.contains(yours)) {
      std::printf("%s: the checker names line %d and line %d together\n", text(shape).c_str(), yours.first,
                  yours.second);
      return {2, 2};
    }
    const auto in_some = [&](int line) {
      return std::ranges::any_of(pairs, [&](const auto& p) { return p.first == line || p.second == line; });
    };
    std::printf("%s: the checker names %zu pair%s of lines, and %d with %d is none; line %d is %s, line %d is %s\n",
                text(shape).c_str(), pairs.size(), pairs.size() == 1 ? "" : "s", yours.first, yours.second, yours.first,
                in_some(yours.first) ? "in one" : "in none", yours.second,
                in_some(yours.second) ? "in one" : "in none");
    return {std::min(1, in_some(yours.first) + in_some(yours.second)), 2};
  };
}

}  // namespace

// runner KERNEL card [shape=..] [inputs=..]: the case that an exercise's card tells of, with the first wrong element.
int card_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "inputs"};
  const Request request(KeyValues(args, KEYS));
  for (const Shape& shape : request.shapes) {
    const Trial t = run_trial(shape, request.family);
    const auto red = [&](const std::string& what) {
      record("tells", t.title() + ": " + what);
      print_red("  RED " + t.title() + "\n    " + what);
      return 1;
    };
    if (t.report.hang.deadlock) record("hang", data_of(t.report.hang.waits.at(0)));
    if (!t.ok()) return red("the launch fails: " + t.message);
    for (std::size_t i = 0; i < t.outputs.size(); ++i) {
      const std::string marks = marks_of({t, i});
      const std::size_t first = marks.find_first_not_of('.'), wrong = marks.size() - std::ranges::count(marks, '.');
      if (wrong == 0) continue;
      const std::string got = marks[first] == '~' ? "nothing (never written)" : number(to_float(t.outputs[i][first]));
      return red(format("%zu of %zu elements%s%s are wrong; the first is %s: got %s, expected %.6g", wrong,
                        marks.size(), subject().backward ? " of " : "", subject().backward ? subject().outputs[i] : "",
                        place_of(shape, first).c_str(), got.c_str(), t.right()[i].value[first]));
    }
  }
  return 0;
}

// runner KERNEL predict formulas; runner KERNEL predict kind=mask|formula|count|lines say=TEXT [shape=..] [inputs=..] [seen=..]
// near=: predictions, a line each, judged of the same launches; those that hold are accepted=... of the verdict.
int predict_command(std::span<char*> args) {
  if (args.size() == 1 && std::string_view(args[0]) == "formulas") {
    for (const Formula& formula : formulas()) std::printf("%-22s %s\n", formula.name, formula.says);
    return 0;
  }
  constexpr std::string_view KEYS[] = {"kind", "say", "shape", "inputs", "seen", "near"};
  const KeyValues words(args, KEYS);
  const Request request(words);
  using Kind = std::pair<std::string_view, Judge (*)(const Request&, const Shape&)>;
  constexpr Kind KINDS[] = {
      {"mask", mask_judge}, {"formula", formula_judge}, {"count", count_judge}, {"lines", lines_judge}};
  const std::string kind = words.require("kind");
  const auto found = std::ranges::find(KINDS, kind, &Kind::first);
  if (found == std::end(KINDS)) throw BadInput("kind=" + kind + ": must be mask, formula, count or lines");
  std::vector<Judge> judges;
  for (const Shape& shape : request.shapes) judges.push_back(found->second(request, shape));
  const auto score_of = [&](const std::string& said) {
    Score all{0, 0};
    for (const Judge& judge : judges) {
      const Score one = judge(said);
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
