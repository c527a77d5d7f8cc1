// runner KERNEL predict: whether a learner's prediction of this build's wrong answer is what comes out, element by element.
#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/sampling.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/bugs/signature.hpp"
#include "checks/exercises/predict.hpp"
#include "checks/exercises/rule.hpp"
#include "checks/runner/commands.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

// A prediction is of elements with one of these marks of marks_of().
enum class Seen { wrong, nan, unwritten };

bool is_seen(Seen seen, char mark) {
  return seen == Seen::wrong ? mark != '.' : seen == Seen::unwritten ? mark == '~' : mark == 'N' || mark == '~';
}

Seen seen_of(const Request& r) {
  return r.seen == "nan" ? Seen::nan : r.seen == "unwritten" ? Seen::unwritten : Seen::wrong;
}

const char* in_words(Seen seen) {
  return seen == Seen::nan ? "NaN" : seen == Seen::unwritten ? "never written" : "wrong";
}

// A launch that is refused or stops has written nothing that means anything.
Trial trial_of(const Request& r, const Shape& shape) {
  Trial t = run_trial(shape, r.family, r.options);
  if (!t.ok()) std::printf("%s: the launch fails: %s\n", t.title().c_str(), t.message.c_str());
  return t;
}

Score mask_score(const Sight& sight, const Request& r, const Shape& shape) {
  const Rule rule(r.say);
  const Seen seen = seen_of(r);
  std::size_t yours = 0, theirs = 0, both = 0, differing = 0;
  std::vector<std::string> map;  // of the first head where they differ
  std::string of;
  for (auto [name, marks] : once(shape, [&] { return sight.outputs(r, shape); })) {
    if (r.seen == "rows")  // single elements may be right by chance, a whole row is not
      for (std::size_t row = 0; row < marks.size(); row += shape.D)
        if (marks.find_first_not_of('.', row) < row + shape.D) marks.replace(row, shape.D, shape.D, '#');
    for (char& mark : marks) mark = is_seen(seen, mark) ? '#' : '.';
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
        map = rule_map(said, is, shape.D, in_words(seen));
        of = format("%s%s(b,h) = (%d,%d)", name.c_str(), name.empty() ? "" : " of ", b, h);
      }
  }
  std::printf("%s: your rule marks %zu elements, %s are %zu%s\n", text(shape).c_str(), yours, in_words(seen), theirs,
              differing ? "" : ": the same");
  if (differing == 0) return {1};
  map.insert(map.begin(), of + ":");
  map.insert(map.begin(), format("%s: your rule marks %zu elements, %zu of them rightly; it misses %zu.",
                                 text(shape).c_str(), yours, both, theirs - both));
  return {.near = map};
}

Score formula_score(const Request& r, const Shape& shape) {
  const Formula& formula = formula_named(r.say);
  const Trial& t = once(shape, [&] { return trial_of(r, shape); });
  const Part part = equals_prediction(t, formula.compute(t), formula.says);
  std::printf("%s\n", part.seen.c_str());
  if (part.shown) return {1};
  std::printf("  what comes out is not: %s\n", formula.says);
  return {};
}

long counted_number(const std::string& text) {
  if (const auto value = number_in<long>(text, 0)) return *value;
  throw BadInput("'" + text + "' is no whole number");
}

std::vector<Finding> findings_of(const Request& r, const Shape& shape) {
  if (!can_check()) throw BadInput("this binary is not instrumented");
  std::vector<Finding> all;
  // As the race check has it: few multiprocessors too where a stage counts them, so that a block has a second piece of
  // work.
  std::vector<int> multiprocessors = {0};
  if (shape.S < 1024 && grid_of(subject(), shape, 2) != grid_of(subject(), shape))
    multiprocessors.push_back(shape.H > 2 ? 32 : 1);
  for (const Schedule schedule : SCHEDULES)
    for (const Copies copies : COPY_TIMES)
      for (const int counted : multiprocessors) {
        ExecOptions options;
        options.schedule = schedule, options.copies = copies, options.check = true, options.gaps = true;
        options.products = schedule == Schedule::random ? Copies::random : copies;
        options.multiprocessors = counted;
        const Trial t = run_trial(shape, r.family, options);
        all.insert(all.end(), t.findings.begin(), t.findings.end());
      }
  return all;
}

// The two lines that each finding names.
std::set<std::pair<int, int>> pairs_of(const Sight& sight, const Request& r, const Shape& shape) {
  std::set<std::pair<int, int>> pairs;
  for (const Finding& f : sight.findings(r, shape))
    pairs.insert(std::minmax(f.first.valid ? f.first.line : f.second.line, f.second.line));
  return pairs;
}

Score count_score(const Sight& sight, const Request& r, const Shape& shape) {
  const long yours = counted_number(r.say);
  const long seen = once(shape, [&] {
    if (r.seen == "findings") return long(pairs_of(sight, r, shape).size());
    if (r.seen == "different") return sight.different(r, shape);
    long marked = 0;
    for (const Marked& output : sight.outputs(r, shape))
      for (const char mark : output.marks) marked += is_seen(seen_of(r), mark);
    return marked;
  });
  std::printf("%s: you say %ld, seen %ld%s\n", text(shape).c_str(), yours, seen,
              yours == seen  ? ""
              : yours < seen ? ": too few"
                             : ": too many");
  return {yours == seen};
}

Score lines_score(const Sight& sight, const Request& r, const Shape& shape) {
  // One number is for a finding that names one line only.
  const std::size_t blank = std::min(r.say.find_first_of(" ,"), r.say.size());
  const std::size_t second = r.say.find_first_not_of(" ,", blank);
  const long a = counted_number(r.say.substr(0, blank)),
             b = second == r.say.npos ? a : counted_number(r.say.substr(second));
  const std::pair<int, int> yours = std::minmax(int(a), int(b));
  const std::set<std::pair<int, int>>& pairs = once(shape, [&] { return pairs_of(sight, r, shape); });
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

long no_difference(const Request&, const Shape&) { throw BadInput("seen=different is for backward stages"); }

constexpr Sight FORWARD = {[](const Request& r, const Shape& shape) {
                             return std::vector<Marked>{{"", marks_of(trial_of(r, shape))}};
                           },
                           findings_of, no_difference, formula_score,
                           [] {
                             for (const Formula& formula : formulas())
                               std::printf("%-22s %s\n", formula.name, formula.says);
                           }};

}  // namespace

Request read_request(const KeyValues& words) {
  Request r;
  r.shapes = bench_shapes(words.get("shape").value_or("1,8,512,64"));
  r.family = family_named(words.get("inputs").value_or("unit"));
  const std::string copies = words.get("copies").value_or("at_wait");
  if (copies != "at_wait" && copies != "at_issue") throw BadInput("copies=" + copies + ": must be at_wait or at_issue");
  r.options.copies = r.options.products = copies == "at_wait" ? Copies::at_wait : Copies::at_issue;
  r.seen = words.get("seen").value_or("wrong");
  constexpr std::string_view SEEN[] = {"wrong", "rows", "nan", "unwritten", "findings", "different"};
  if (std::ranges::find(SEEN, r.seen) == std::end(SEEN))
    throw BadInput("seen=" + r.seen + ": must be wrong, rows, nan, unwritten, findings or different");
  return r;
}

// runner KERNEL card [shape=..] [inputs=..] [copies=..]: the case that an exercise's card tells of, with the first wrong element.
int card_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "inputs", "copies"};
  const Request request = read_request(KeyValues(args, KEYS));
  for (const Shape& shape : request.shapes) {
    const Trial t = run_trial(shape, request.family, request.options);
    const std::vector<double> right = attention(t);
    const std::string marks = marks_of(t, right);
    const std::size_t first = marks.find_first_not_of('.'), wrong = marks.size() - std::ranges::count(marks, '.');
    if (t.ok() && wrong == 0) continue;
    const auto red = [&](const std::string& what) {
      record("tells", t.title() + ": " + what);
      print_red("  RED " + t.title() + "\n    " + what);
      return 1;
    };
    if (t.report.hang.deadlock) record("hang", data_of(t.report.hang.waits.at(0)));
    if (!t.ok()) return red("the launch fails: " + t.message);
    const std::string got = marks[first] == '~' ? "nothing (never written)" : number(to_float(t.out[first]));
    return red(format("%zu of %zu elements are wrong; the first is %s: got %s, expected %.6g", wrong, marks.size(),
                      place_of(shape, first).c_str(), got.c_str(), right[first]));
  }
  return 0;
}

// runner KERNEL predict formulas; runner KERNEL predict kind=mask|formula|count|lines say=TEXT [shape=..] [inputs=..] [copies=..] [seen=..]
// near=: predictions, a line each, judged of the same launches; those that hold are accepted=... of the verdict.
int predict_command(std::span<char*> args) { return predict_with(FORWARD, args); }

int predict_with(const Sight& sight, std::span<char*> args) {
  if (args.size() == 1 && std::string_view(args[0]) == "formulas") {
    sight.print_formulas();
    return 0;
  }
  constexpr std::string_view KEYS[] = {"kind", "say", "shape", "inputs", "copies", "seen", "near"};
  const KeyValues words(args, KEYS);
  Request request = read_request(words);
  using Judge = Score (*)(const Sight&, const Request&, const Shape&);
  constexpr Judge by_formula = [](const Sight& s, const Request& r, const Shape& shape) { return s.formula(r, shape); };
  constexpr std::pair<std::string_view, Judge> KINDS[] = {
      {"mask", mask_score}, {"formula", by_formula}, {"count", count_score}, {"lines", lines_score}};
  const std::string kind = words.require("kind");
  const auto found = std::ranges::find(KINDS, kind, &std::pair<std::string_view, Judge>::first);
  if (found == std::end(KINDS)) throw BadInput("kind=" + kind + ": must be mask, formula, count or lines");
  const auto score_of = [&](const std::string& said) {
    request.say = said;
    Score all{0, 0};
    for (const Shape& shape : request.shapes) {
      const Score one = found->second(sight, request, shape);
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
