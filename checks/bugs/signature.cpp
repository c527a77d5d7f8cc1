#include "checks/bugs/signature.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/overlap.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/tolerance.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/bugs/gpu_child_process.hpp"
#include "checks/bugs/hang.hpp"
#include "checks/bugs/patch.hpp"
#include "checks/runner/commands.hpp"
#include "checks/runner/library.hpp"

namespace lab {
namespace {

bool is_nan(fp16 h) { return std::isnan(to_float(h)); }

Comparison compare(const Output& out, const Expected& with, const Where& where = everywhere) {
  Comparison sum;
  compare(out.trial.shape, all_rows(out.trial.shape), out.values(), with, sum, {where, true});
  return sum;
}

bool has_all(const std::string& text, const std::vector<std::string>& pieces) {
  return std::ranges::all_of(pieces, [&](const std::string& piece) { return text.find(piece) != text.npos; });
}

std::string joined(const std::vector<std::string>& pieces, const char* between = ", ") {
  std::string text;
  for (const std::string& piece : pieces)
    if (!piece.empty()) text += (text.empty() ? "\"" : between + std::string("\"")) + piece + "\"";
  return text;
}

}  // namespace

std::string Output::name() const {
  constexpr const char* NAMES[] = {"dQ", "dK", "dV"};
  return subject().backward ? NAMES[index] : "the output";
}

Comparison compare_with_prediction(const Output& out, const std::vector<double>& predicted, const Where& where) {
  const Trial& t = out.trial;
  if (!subject().backward) return compare(out, loosely(predicted, t.shape, t.scale, t.in, subject().half_p), where);
  // The bound of the right gradient, and the rounding of the one that comes out.
  Expected held{predicted, out.right().allowed, {}};
  for (std::size_t i = 0; i < predicted.size(); ++i) held.allowed[i] += FP16_ROUNDING * std::abs(predicted[i]);
  return compare(out, held, where);
}

Gradients backward_after(const Trial& t, const ChangePairs& change) {
  const auto& [q, k, v, dout] = t.in;
  return backward(t.shape, t.scale, q, k, v, dout, Hidden::left_out, change);
}

std::string marks_of(const Output& out) {
  std::string marks = marks_of(out.trial.shape, all_rows(out.trial.shape), out.values(), out.right());
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (marks[i] == '.' && is_nan(out.values()[i])) marks[i] = 'N';  // where the right answer has one, too
  return marks;
}

Part equals_prediction(const Output& out, const std::vector<double>& predicted, const std::string& formula,
                       const Where& where) {
  const Trial& t = out.trial;
  double apart = 0;
  for_elements(t.shape, all_rows(t.shape), [&](std::size_t i, int row, int col) {
    if (where(row, col))
      apart = std::max(apart, std::isnan(predicted[i]) ? INFINITY : std::abs(predicted[i] - out.right().value[i]));
  });
  const Comparison with_prediction = compare_with_prediction(out, predicted, where),
                   with_right = compare(out, out.right(), where);
  return {.expected = out.name() + " equals " + formula,
          // Far apart on this input, or matching the prediction would prove nothing.
          .shown = t.ok() && with_prediction.outside == 0 && apart >= 100 * NOTES_TOLERANCE,
          .seen = format("%s: |out - predicted| <= %.1e (%zu of %zu elements are not as predicted), |out - right| <= "
                         "%.2g; predicted and right are up to %.2f apart",
                         t.title().c_str(), with_prediction.largest(), with_prediction.outside,
                         with_prediction.compared, with_right.largest(), apart) +
                  state(t),
          .lines = map_of(t.shape, marks_of(out), "'#' wrong, 'N' NaN, '~' never written, '.' right")};
}

// Elements of a kind are exactly those of `where`. `kind` and `key` say it of the numbers and of the map's characters.
static Part exactly(const Output& out, bool (*is)(fp16), const Where& where, const std::string& expected,
                    const char* kind, char mark, const char* key) {
  const Trial& t = out.trial;
  std::size_t there = 0, wrong_place = 0, predicted = 0;
  std::string marks(out.values().size(), '.');
  for_elements(t.shape, all_rows(t.shape), [&](std::size_t i, int row, int col) {
    const bool found = is(out.values()[i]);
    if (found) marks[i] = mark;
    there += found, predicted += where(row, col), wrong_place += found != where(row, col);
  });
  return {.expected = out.name() + " is " + expected,
          .shown = t.ok() && predicted > 0 && wrong_place == 0,
          .seen = format("%s: %zu of %zu elements %s, %zu predicted, %zu disagree", t.title().c_str(), there,
                         marks.size(), kind, predicted, wrong_place) +
                  state(t),
          .lines = map_of(t.shape, marks, key)};
}

Part nan_exactly(const Output& out, const Where& where, const std::string& rule) {
  return exactly(out, is_nan, where, "NaN here and nowhere else: " + rule, "are NaN", 'N', "'N' NaN, '.' a number");
}

Part unwritten_exactly(const Output& out, const Where& where, const std::string& rule) {
  return exactly(
      out, [](fp16 h) { return h == FP16_NAN; }, where, "never written here, and everywhere else: " + rule,
      "still hold the NaN of before the launch", '~', "'~' never written, '.' written");
}

Part wrong_somewhere(const Trial& t) {
  const Comparison c = compare(t, t.right()[0]);
  std::string marks = marks_of(t);
  for (char& mark : marks) mark = mark == '.' ? '.' : '#';
  return {.expected = "the output is wrong",
          .shown = t.ok() && c.outside > 0,
          .seen = format("%s: %zu of %zu elements are wrong, |out - right| <= %.2g", t.title().c_str(), c.outside,
                         c.compared, c.largest()) +
                  state(t),
          .lines = map_of(t.shape, marks, "'#' wrong, '.' right")};
}

Part still_right(const Output& out, const std::string& why, const std::vector<double>& predicted) {
  const Comparison with_right = compare(out, out.right()),
                   with_prediction = predicted.empty() ? with_right : compare_with_prediction(out, predicted);
  return {.expected = out.name() + " is right " + why,
          .shown = out.trial.ok() && with_prediction.outside == 0 && with_right.outside == 0,
          .seen = format("%s: |out - predicted| <= %.1e, |out - right| <= %.1e", out.trial.title().c_str(),
                         with_prediction.largest(), with_right.largest()) +
                  state(out.trial),
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
  std::vector<std::pair<std::string, ExecOptions>> ways;
  if (can_schedule()) {
    for (const Copies copies : COPY_TIMES)
      for (const Schedule schedule : SCHEDULES) {
        const Copies products = schedule == Schedule::random ? Copies::random : copies;
        const ExecOptions options{.schedule = schedule, .copies = copies, .products = products};
        ways.emplace_back(std::string(name(schedule)) + "/" + name(copies), options);
      }
  } else {
    for (int i = 0; i < 20; ++i) ways.emplace_back("launch" + std::to_string(i), ExecOptions{});
  }
  std::map<std::vector<std::uint16_t>, std::string> outputs;  // and which of the ways give it
  bool wrong = false;
  for (const auto& [way, options] : ways) {
    const Trial t = run_trial(shape, family, options);
    std::vector<std::uint16_t> bits(t.outputs[0].size());
    std::ranges::transform(t.outputs[0], bits.begin(), [](fp16 h) { return h.bits; });
    outputs[bits] += " " + way;
    wrong |= !can_schedule() && compare(t, t.right()[0]).outside > 0;
  }
  Part part;
  part.expected =
      can_schedule() ? "different schedules give different outputs" : "repeated launches differ, or an output is wrong";
  part.shown = outputs.size() > 1 || wrong;
  part.seen = std::string(name(family)) + " inputs, " + text(shape) +
              format(": %zu %s gave %zu different output%s%s", ways.size(), can_schedule() ? "schedules" : "launches",
                     outputs.size(), outputs.size() == 1 ? ", bit for bit" : "s", wrong ? ", some of them wrong" : "");
  if (!can_schedule()) return may_hide(part, ": hidden by the order in which this GPU happens to run");
  for (const auto& [bits, members] : outputs)
    part.lines.push_back(format("  output %c:", 'A' + int(part.lines.size())) + members);
  return part;
}

constexpr std::size_t HANG_BLOCKS = 24;

Part hangs(const Shape& shape, const ExpectedHang& wanted) {
  Part part;
  if (!can_schedule()) return hangs_elsewhere(shape, wanted.or_stops);
  part.expected = std::string(wanted.under == Under::every ? "every" : "some") +
                  " schedule ends in a deadlock that is named: a wait for " + awaited(wanted.hang.wait) +
                  (wanted.line.empty() ? "" : ", at " + joined({wanted.line})) + also_text(wanted.hang);
  NamedHang here = wanted.hang;
  here.wait.text = wanted.line;
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
      const ExecOptions options{.schedule = schedule, .copies = copies, .products = copies, .blocks = blocks};
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
  const std::string lines = joined({wanted.first, wanted.second}, " and ");
  part.expected = std::string("the checker reports") + (wanted.kind ? ": " : " anything at all") +
                  (wanted.kind ? name(*wanted.kind) : "") + (lines.empty() ? "" : " at " + lines);
  if (where == Under::some) part.expected += ", under some schedule";
  if (!can_schedule() && !wanted.kind) return cannot_look(part, "only the CPU backend checks");
  if (!can_schedule() && subject().backward) return cannot_look(part, "a GPU has no checker of global memory");
  if (!can_schedule()) return sanitizer_reports(shape, *wanted.kind);
  if (!can_check()) throw BadInput("this binary is not instrumented; make stage=S reproduce-bug builds one that is");
  const auto is = [&](const Finding& f) {
    return (!wanted.kind || f.is(*wanted.kind)) && has_all(f.text, {wanted.first, wanted.second});
  };
  int under = 0;  // of the launches, one for each schedule, that end with such a finding
  for (const Schedule schedule : SCHEDULES) {
    ExecOptions options{.schedule = schedule, .check = true, .multiprocessors = wanted.multiprocessors, .gaps = true};
    if (subject().backward) options.block_order = std::uint64_t(schedule);
    const Trial t = run_trial(shape, Family::unit, options);
    const auto found = std::ranges::find_if(t.findings, is);
    if (found != t.findings.end() && ++under == 1) part.lines = {found->text};
  }
  part.shown = under == 4 || ((where == Under::some || !wanted.kind) && under > 0);
  part.seen = format("reported under %d of 4 schedules, %s", under, text(shape).c_str());
  return part;
}

Part counted(const Shape& shape, const ExpectedCount& wanted) {
  const auto enough = [&](const Tally& tally) {
    const double mean = double(tally.*wanted.figure) / double(std::max<std::uint64_t>(tally.instructions, 1));
    return tally.instructions > 0 && (wanted.at_least ? mean >= wanted.mean : mean == wanted.mean);
  };
  Part part;
  part.expected = format("%s at \"%s\": %s%g %s each", name(wanted.what), wanted.piece.c_str(),
                         wanted.at_least ? "at least " : "", wanted.mean, wanted.unit);
  if (std::string_view(backend_name()) == "gpu") return cannot_look(part, "a GPU counts them for a profiler only");
  if (!can_check()) throw BadInput("this binary is not instrumented; make stage=S reproduce-bug builds one that is");
  const Trial t = run_trial(shape, Family::unit, {.count = true});
  const auto here = [&](const CountedLine& line) {
    return line.what == wanted.what && line.text.find(wanted.piece) != line.text.npos;
  };
  const bool rewritten = std::ranges::none_of(t.report.counts, here);  // by a learner: then any such line is enough
  Tally there;
  for (const CountedLine& line : t.report.counts)
    if ((here(line) || (rewritten && line.what == wanted.what)) && !enough(there)) there = line.tally;
  part.shown = t.ok() && enough(there);
  part.seen = text(shape) + ": " +
              (there.instructions
                   ? format("%llu instructions, %.4g %s each", static_cast<unsigned long long>(there.instructions),
                            double(there.*wanted.figure) / double(there.instructions), wanted.unit)
                   : "none") +
              state(t);
  return part;
}

std::vector<Part> nothing_wrong(const Shape& shape) {
  return {schedules_differ(shape), checker_reports(shape, {}), wrong_somewhere(run_trial(shape))};
}

// signature BUG: looks for the bug in this build.
// 0: as it should be (all parts show and the bug is planted, or none shows and it is not).
int signature_command(std::span<char*> args) {
  if (args.size() != 1) throw BadInput("signature takes the name of one bug");
  const std::string bug = args[0], planted = planted_bug();
  const auto look = reinterpret_cast<std::vector<Part> (*)()>(beside_variants("signatures.so", "look_" + bug));
  if (!look) throw BadInput("no signature of '" + bug + "'");
  if (!planted.empty() && planted != bug) throw BadInput("this build has the bug " + planted);
  const bool with_bug = !planted.empty();
  const PatchHead head = read_patch_head(stage_name(), bug);
  const bool harmless = head.contains("harmless");
  if (with_bug) {
    std::printf("%s in %s, on %s (%s)\n  planted:   %s\n  predicted: %s\n", bug.c_str(), stage_name(), backend_name(),
                device_name().c_str(), head.at("plants").c_str(), head.at("predicted").c_str());
  } else {
    std::printf("  the fixed build, same inputs; the prediction must not come out:\n");
  }
  bool good = true, mapped = false;  // one map says enough
  int looked = 0;
  for (const Part& part : look()) {
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
