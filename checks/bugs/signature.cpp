#include "checks/bugs/signature.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/overlap.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/tolerance.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/bugs/find_source_line.hpp"
#include "checks/bugs/gpu_child_process.hpp"
#include "checks/bugs/hang.hpp"
#include "checks/bugs/patch.hpp"
#include "checks/runner/commands.hpp"
#include "checks/runner/library.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

bool is_nan(fp16 h) { return std::isnan(to_float(h)); }

Expected held_to(const Trial& t, std::vector<double> values) {
  return loosely(std::move(values), t.shape, t.scale, t.in, subject().half_p);
}

Comparison compare(const Trial& t, const std::vector<double>& with, const Where& where) {
  Comparison sum;
  compare(t.shape, all_rows(t.shape), t.out, held_to(t, with), sum, {where, true});
  return sum;
}

bool has_all(const std::string& text, const std::vector<std::string>& pieces) {
  return std::ranges::all_of(pieces, [&](const std::string& piece) { return text.find(piece) != text.npos; });
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += (text.empty() ? "\"" : ", \"") + piece + "\"";
  return text;
}

std::vector<Signature>& registry() {
  static std::vector<Signature> all;
  return all;
}

}  // namespace

const std::vector<Signature>& signatures() {
  load_signatures();
  std::ranges::sort(registry(), {}, &Signature::bug);
  return registry();
}

RegisteredSignature::RegisteredSignature(const char* bug, std::vector<Part> (*look)()) {
  registry().push_back({bug, look});
}

std::string marks_of(const Trial& t, const std::vector<double>& right) {
  std::string marks = marks_of(t.shape, all_rows(t.shape), t.out, held_to(t, right));
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (marks[i] == '.' && is_nan(t.out[i])) marks[i] = 'N';  // where the right answer has one, too
  return marks;
}

std::string marks_of(const Trial& t) { return marks_of(t, attention(t)); }

Part equals_prediction(const Trial& t, const std::vector<double>& predicted, const std::string& formula,
                       const Where& where) {
  const std::vector<double> right = attention(t);
  double apart = 0;
  for_elements(t.shape, all_rows(t.shape), [&](std::size_t i, int row, int col) {
    if (where(row, col))
      apart = std::max(apart, std::isnan(predicted[i]) ? INFINITY : std::abs(predicted[i] - right[i]));
  });
  const Comparison with_prediction = compare(t, predicted, where), with_right = compare(t, right, where);
  return {.expected = "the output equals " + formula,
          // Far apart on this input, or matching the prediction would prove nothing.
          .shown = t.ok() && with_prediction.outside == 0 && apart >= 100 * NOTES_TOLERANCE,
          .seen = format("%s: |out - predicted| <= %.1e (%zu of %zu elements are not as predicted), |out - right| <= "
                         "%.2g; predicted and right are up to %.2f apart",
                         t.title().c_str(), with_prediction.largest(), with_prediction.outside,
                         with_prediction.compared, with_right.largest(), apart) +
                  state(t),
          .lines = map_of(t.shape, marks_of(t, right), "'#' wrong, 'N' NaN, '~' never written, '.' right")};
}

// Elements of a kind are exactly those of `where`. `kind` and `key` say it of the numbers and of the map's characters.
static Part exactly(const Trial& t, bool (*is)(fp16), const Where& where, const std::string& expected, const char* kind,
                    char mark, const char* key) {
  std::size_t there = 0, wrong_place = 0, predicted = 0;
  std::string marks(t.out.size(), '.');
  for_elements(t.shape, all_rows(t.shape), [&](std::size_t i, int row, int col) {
    const bool found = is(t.out[i]);
    if (found) marks[i] = mark;
    there += found, predicted += where(row, col), wrong_place += found != where(row, col);
  });
  return {.expected = expected,
          .shown = t.ok() && predicted > 0 && wrong_place == 0,
          .seen = format("%s: %zu of %zu elements %s, %zu predicted, %zu disagree", t.title().c_str(), there,
                         t.out.size(), kind, predicted, wrong_place) +
                  state(t),
          .lines = map_of(t.shape, marks, key)};
}

Part nan_exactly(const Trial& t, const Where& where, const std::string& rule) {
  return exactly(t, is_nan, where, "NaN if and only if " + rule, "are NaN", 'N', "'N' NaN, '.' a number");
}

Part unwritten_exactly(const Trial& t, const Where& where, const std::string& rule) {
  return exactly(
      t, [](fp16 h) { return h == FP16_NAN; }, where, "never written: " + rule,
      "still hold the NaN of before the launch", '~', "'~' never written, '.' written");
}

Part wrong_somewhere(const Trial& t) {
  const std::vector<double> right = attention(t);
  const Comparison c = compare(t, right, everywhere);
  Part part;
  part.expected = "the output is wrong";
  part.shown = t.ok() && c.outside > 0;
  part.seen = format("%s: %zu of %zu elements are wrong, |out - right| <= %.2g", t.title().c_str(), c.outside,
                     c.compared, c.largest()) +
              state(t);
  std::string marks = marks_of(t, right);
  for (char& mark : marks) mark = mark == '.' ? '.' : '#';
  part.lines = map_of(t.shape, marks, "'#' wrong, '.' right");
  return part;
}

Part right_by_luck(const Trial& t, const std::string& why, const std::vector<double>& predicted) {
  const std::vector<double> right = attention(t);
  const Comparison with_prediction = compare(t, predicted.empty() ? right : predicted, everywhere),
                   with_right = compare(t, right, everywhere);
  return {.expected = "the output is right " + why,
          .shown = t.ok() && with_prediction.outside == 0 && with_right.outside == 0,
          .seen = format("%s: |out - predicted| <= %.1e, |out - right| <= %.1e", t.title().c_str(),
                         with_prediction.largest(), with_right.largest()) +
                  state(t),
          .always = true};
}

Part refused(const Trial& t, const std::vector<std::string>& pieces) {
  return {.expected = "the launch is refused, and the message says " + joined(pieces),
          .shown = t.launched != cudaSuccess && has_all(t.message, pieces),
          .seen = t.launched == cudaSuccess ? t.title() + ": launched"
                                            : std::string(cudaGetErrorName(t.launched)) + ": " + t.message};
}

Part fails(const Trial& t, cudaError_t error, const std::vector<std::string>& pieces) {
  Part part;
  part.expected =
      std::string("the kernel stops with ") + cudaGetErrorName(error) + ", and the message says " + joined(pieces);
  part.shown = t.launched == cudaSuccess && t.finished == error && has_all(t.message, pieces);
  part.seen = t.ok() ? t.title() + ": ran to its end" : state(t).substr(1);
  if (std::string_view(backend_name()) == "gpu" && t.finished == error) {
    part.shown = true;  // the hardware gives the code and no place
    part.seen = std::string(cudaGetErrorName(error)) + " (the GPU names no thread)";
  }
  return std::string_view(backend_name()) == "gpu" ? may_hide(part, ": undefined, and harmless this time") : part;
}

Part overlapping_launches_wrong(const Shape& one, const Shape& other) {
  Part part;
  part.expected = "wrong beside another launch, or after it";
  part.lines = overlapping_launches(subject(), one, other);
  part.shown = !part.lines.empty();
  part.seen = format("%s beside %s: %s", text(one).c_str(), text(other).c_str(),
                     part.shown ? part.lines.front().c_str() : "right, and right alone afterwards");
  return part.shown || can_schedule() ? part : may_hide(part, ": the launches did not draw at the same time here");
}

Part schedules_differ(const Shape& shape, Family family) {
  Part part;
  std::map<std::vector<std::uint16_t>, std::string> outputs;
  const auto add = [&](const Trial& t, const std::string& how) {
    std::vector<std::uint16_t> bits(t.out.size());
    std::ranges::transform(t.out, bits.begin(), [](fp16 h) { return h.bits; });
    std::string& group = outputs[bits];
    group += (group.empty() ? "" : " ") + how;
  };
  if (!can_schedule()) {
    part.expected = "repeated launches differ, or an output is wrong";
    bool wrong = false;
    for (int i = 0; i < 20; ++i) {
      const Trial t = run_trial(shape, family);
      add(t, "launch" + std::to_string(i));
      wrong |= compare(t, attention(t), everywhere).outside > 0;
    }
    part.shown = outputs.size() > 1 || wrong;
    part.seen = format("20 launches gave %zu different output%s%s", outputs.size(), outputs.size() == 1 ? "" : "s",
                       wrong ? ", some of them wrong" : "");
    return may_hide(part, ": hidden by the order in which this GPU happens to run");
  }
  part.expected = "different schedules give different outputs";
  for (const Copies copies : COPY_TIMES)
    for (const Schedule schedule : SCHEDULES) {
      ExecOptions options;
      options.schedule = schedule, options.copies = copies;
      options.products = schedule == Schedule::random ? Copies::random : copies;
      add(run_trial(shape, family, options), std::string(name(schedule)) + "/" + name(copies));
    }
  part.shown = outputs.size() > 1;
  part.seen =
      std::string(name(family)) + " inputs, " + text(shape) +
      format(": 8 schedules gave %zu different output%s", outputs.size(), outputs.size() == 1 ? ", bit for bit" : "s");
  int letter = 0;
  std::map<std::string, std::string> by_members;
  for (const auto& [bits, members] : outputs) by_members[members] = "";
  for (const auto& [members, unused] : by_members)
    part.lines.push_back(format("  output %c: ", 'A' + letter++ % 26) + members);
  return part;
}

constexpr std::size_t HANG_BLOCKS = 24;

Part hangs(const Shape& shape, const ExpectedHang& wanted) {
  const Place place = wanted.line.empty() ? Place{} : line_with(wanted.line);
  Part part;
  if (!can_schedule()) return hangs_elsewhere(shape, wanted.or_stops);
  part.expected = std::string(wanted.under == Under::every ? "every" : "some") +
                  " schedule ends in a deadlock that is named: a wait for " + awaited(wanted.hang.wait) +
                  (place.line ? ", at " + place.text() : "") + also_text(wanted.hang);
  NamedHang here = wanted.hang;
  here.wait.file = place.file, here.wait.line = place.line;
  if (wanted.copies.size() == 1) part.expected += format(", with copies %s", name(wanted.copies[0]));
  // A grid for a whole GPU is not worth its minutes where nothing hangs: the first blocks of it stand for the rest.
  unsigned all = 0;
  for (const Launched& launched : launches_of(subject(), shape))
    all += launched.grid.x * launched.grid.y * launched.grid.z;
  std::vector<std::uint32_t> blocks(all > 2 * HANG_BLOCKS ? HANG_BLOCKS : 0);
  std::iota(blocks.begin(), blocks.end(), 0u);
  int under = 0, tried = 0;
  for (const Copies copies : wanted.copies)
    for (const Schedule schedule : SCHEDULES) {
      ExecOptions options;
      options.blocks = blocks;
      options.schedule = schedule, options.copies = options.products = copies;
      const Trial t = run_trial(shape, Family::unit, options);
      ++tried;
      const Wait* const wait = found(t.report.hang, here);
      if (wait && ++under == 1) part.lines = {sentence(*wait)};
    }
  part.shown = under == tried || (wanted.under == Under::some && under > 0);
  part.seen = format("so under %d of %d schedules and times of copying, %s", under, tried, text(shape).c_str()) +
              (blocks.empty() ? "" : format(", %zu of %u blocks", blocks.size(), all));
  return part;
}

Part checker_reports(const Shape& shape, const ExpectedReport& wanted, Under where) {
  Part part;
  const Place first = wanted.first.empty() ? Place{} : line_with(wanted.first);
  const Place second = wanted.second.empty() ? Place{} : line_with(wanted.second);
  part.expected = std::string("the checker reports: ") + name(wanted.kind);
  if (first.line) part.expected += " at " + first.text();
  if (second.line)
    part.expected += !first.line                 ? " at " + second.text()
                     : first.file == second.file ? " and line " + std::to_string(second.line)
                                                 : " and " + second.text();
  if (where == Under::some) part.expected += ", under some schedule";
  if (std::string_view(backend_name()) == "gpu") return sanitizer_reports(shape, wanted.kind);
  if (!can_check()) throw BadInput("this binary is not instrumented; make stage=S reproduce-bug builds one that is");
  int under = 0;
  for (const Schedule schedule : SCHEDULES) {
    ExecOptions options;
    options.schedule = schedule, options.check = true, options.gaps = true;
    options.multiprocessors = wanted.multiprocessors;
    const Trial t = run_trial(shape, Family::unit, options);
    const auto found = std::ranges::find_if(t.findings, [&](const Finding& f) {
      const auto is = [&](const Finding::Access& side, const Place& place) {
        return place.line == 0 || (side.line == place.line && side.file == place.file);
      };
      return f.is(wanted.kind) &&
             ((is(f.first, first) && is(f.second, second)) || (is(f.second, first) && is(f.first, second)));
    });
    if (found == t.findings.end()) continue;
    if (++under == 1) part.lines = {found->text};
  }
  part.shown = under == 4 || (where == Under::some && under > 0);
  part.seen = format("reported under %d of 4 schedules, %s", under, text(shape).c_str());
  return part;
}

Part counted(const Shape& shape, const ExpectedCount& wanted) {
  const Place place = line_with(wanted.piece);
  const auto enough = [&](const Tally& tally) {
    const double mean = double(tally.*wanted.figure) / double(std::max<std::uint64_t>(tally.instructions, 1));
    return tally.instructions > 0 && (wanted.at_least ? mean >= wanted.mean : mean == wanted.mean);
  };
  Part part;
  part.expected = format("%s at %s: %s%g %s each", name(wanted.what), place.text().c_str(),
                         wanted.at_least ? "at least " : "", wanted.mean, wanted.unit);
  if (std::string_view(backend_name()) == "gpu") return cannot_look(part, "a GPU counts them for a profiler only");
  if (!can_check()) throw BadInput("this binary is not instrumented; make stage=S reproduce-bug builds one that is");
  ExecOptions options;
  options.count = true;
  const Trial t = run_trial(shape, Family::unit, options);
  Tally there;
  for (const CountedLine& line : t.report.counts) {
    if (line.what != wanted.what) continue;
    if (place.line == NO_LINE) {  // where the line is not known, one such line anywhere is enough
      if (!enough(there)) there = line.tally;
    } else if (line.line == place.line && line.file == place.file) {
      there += line.tally;
    }
  }
  part.shown = t.ok() && enough(there);
  part.seen = text(shape) + ": " +
              (there.instructions
                   ? format("%llu instructions, %.4g %s each", static_cast<unsigned long long>(there.instructions),
                            double(there.*wanted.figure) / double(there.instructions), wanted.unit)
                   : "none") +
              state(t);
  return part;
}

Part bank_turns(const Shape& shape, const std::string& piece, int turns) {
  return counted(shape, {Counted::ldmatrix, piece, &Tally::wavefronts, double(turns), "cycles at the banks"});
}

std::vector<Part> nothing_wrong(const Shape& shape) {
  std::vector<Part> parts = {schedules_differ(shape)};
  Part checker{
      "the checker reports anything at all", false, "silent under all 4 schedules, " + text(shape), {}, can_check()};
  if (!can_check()) checker.seen = "only the CPU backend checks";
  for (const Schedule schedule : SCHEDULES) {
    if (!can_check()) break;
    ExecOptions options;
    options.schedule = schedule, options.check = true, options.gaps = true;
    const Trial t = run_trial(shape, Family::unit, options);
    if (t.findings.empty()) continue;
    checker.shown = true;
    checker.seen = std::to_string(t.findings.size()) + " findings";
    checker.lines = {t.findings.front().text};
  }
  parts.push_back(checker);
  parts.push_back(wrong_somewhere(run_trial(shape)));
  return parts;
}

// signature BUG [source=FILE]: looks for the bug in this build, whose kernel is FILE, if it is not the stage's.
// 0: as it should be (all parts show and the bug is planted, or none shows and it is not).
int signature_command(std::span<char*> args) {
  const std::vector<Signature>& known = signatures();
  std::string names;
  for (const Signature& f : known) names += " " + f.bug;
  constexpr std::string_view SOURCE = "source=";
  std::string own_source;
  if (args.size() == 2 && std::string_view(args[1]).starts_with(SOURCE)) {
    own_source = std::string_view(args[1]).substr(SOURCE.size());
    args = args.first(1);
  }
  if (args.size() != 1) throw BadInput("signature takes the name of one bug:" + names);
  const auto found = std::ranges::find(known, std::string(args[0]), &Signature::bug);
  if (found == known.end()) throw BadInput("no signature of '" + std::string(args[0]) + "'; there are:" + names);
  const std::string planted = planted_bug();
  if (!planted.empty() && planted != found->bug) throw BadInput("this build has the bug " + planted);
  const bool with_bug = !planted.empty();
  const Patch patch = read_patch(stage_name(), found->bug);
  look_for(patch, own_source);
  const bool harmless = !patch.harmless.empty();
  if (with_bug) {
    std::printf("%s in %s, on %s (%s)\n  planted:   %s\n  predicted: %s\n", found->bug.c_str(), stage_name(),
                backend_name(), device_name().c_str(), patch.plants.c_str(), patch.predicted.c_str());
  } else {
    std::printf("  the fixed build, same inputs; the prediction must not come out:\n");
  }
  bool good = true, mapped = false;  // one map says enough
  int looked = 0;
  for (const Part& part : found->look()) {
    const bool wanted = part.always || (with_bug && !harmless);
    const bool hidden = wanted && !part.shown && !part.excuse.empty();
    const bool looked_here = part.possible && !hidden, as_it_should = !looked_here || part.shown == wanted;
    looked += looked_here && !part.always;  // what shows in either build tells nothing
    good &= as_it_should;
    const char* mark = !looked_here  ? "skip"
                       : part.always ? (part.shown ? "holds" : "does not hold")
                       : part.shown  ? "the bug shows"
                                     : "the bug does not show";
    // A harmless patch has nothing to show: say which finding would count, and that there is none.
    const char* label = harmless && !part.always ? "if a bug: " : "expected: ";
    if (with_bug) std::printf("  %s %s\n", label, part.expected.c_str());
    const std::string seen = part.seen + (hidden ? part.excuse : ""),
                      judged = format("%s [%s%s]", seen.c_str(), mark,
                                      as_it_should ? ""
                                      : wanted     ? ", but it should be"
                                                   : ", but it should not be");
    std::printf("  %s %s\n", with_bug ? "seen:     " : "          ", judged.c_str());
    if (!as_it_should && !wanted) record("tells", "what was reported still shows: " + seen), record("red", judged);
    const bool is_map = !part.lines.empty() && part.lines[0].starts_with("head ");
    if (with_bug && part.shown && !(is_map && mapped))
      for (const std::string& line : part.lines) std::printf("    %s\n", line.c_str());
    mapped |= is_map;
  }
  if (!good) return 1;
  if (looked) return 0;
  std::printf("  nothing of it shows on this backend\n");
  return 3;
}

}  // namespace lab
