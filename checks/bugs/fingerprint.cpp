#include "checks/bugs/fingerprint.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "checks/acceptance/device_tensors.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/tolerance.hpp"
#include "checks/bugs/hang.hpp"
#include "checks/commands.hpp"
#include "checks/desk/patch.hpp"
#include "common/gpu_access.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

constexpr Schedule SCHEDULES[] = {Schedule::ascending, Schedule::descending, Schedule::round_robin, Schedule::random};
constexpr Copies COPIES[] = {Copies::at_wait, Copies::at_issue};

std::vector<double> right_answer(const Trial& t) { return attention(t.shape, t.scale, t.in.q, t.in.k, t.in.v); }

bool is_nan(fp16 h) { return std::isnan(to_float(h)); }

// Calls each(flat index, row, col).
template <class Each>
void for_elements(const Shape& shape, Each each) {
  std::size_t i = 0;
  for (int bh = 0; bh < shape.B * shape.H; ++bh)
    for (int row = 0; row < shape.S; ++row)
      for (int col = 0; col < shape.D; ++col, ++i) each(i, row, col);
}

// The first head that has marks, from the first 128 rows that do: each character is the worst of its rows and columns.
std::vector<std::string> map_of(const Shape& shape, const std::function<char(std::size_t)>& mark,
                                const std::string& key) {
  const std::size_t head = std::size_t(shape.S) * shape.D;
  std::size_t begin = 0;
  for (std::size_t bh = 0; bh < std::size_t(shape.B) * shape.H; ++bh) {
    bool any = false;
    for (std::size_t i = 0; i < head && !any; ++i) any = mark(bh * head + i) != '.';
    if (any) {
      begin = bh * head;
      break;
    }
  }
  constexpr int ROWS = 8, LINES = 16;  // a line is what one warp of eight owns of a 64-row tile
  int first = 0;
  const auto marked = [&](int row) {
    for (int c = 0; c < shape.D; ++c)
      if (mark(begin + std::size_t(row) * shape.D + c) != '.') return true;
    return false;
  };
  while (first + 1 < shape.S && !marked(first)) ++first;
  first = first / (ROWS * LINES) * (ROWS * LINES);
  const int cols = std::max(2, shape.D / 32), last = std::min(shape.S, first + ROWS * LINES);
  std::vector<std::string> lines = {format("head %zu, rows %d..%d of %d, a character is %d rows x %d columns: ",
                                           begin / head, first, last - 1, shape.S, ROWS, cols) +
                                    key};
  for (int r0 = first; r0 < last; r0 += ROWS) {
    std::string line = format("  row %4d  ", r0);
    for (int c0 = 0; c0 < shape.D; c0 += cols) {
      char worst = '.';
      for (int r = r0; r < std::min(shape.S, r0 + ROWS); ++r)
        for (int c = c0; c < c0 + cols; ++c)
          if (const char m = mark(begin + std::size_t(r) * shape.D + c); m != '.') worst = m;
      line += worst;
    }
    lines.push_back(line);
  }
  return lines;
}

// The bound of tolerance.hpp with the largest norms of the whole tensors: the same for every element, and no tighter.
struct Bound {
  RowError row;
  double max_v = 0;
  double allowed(double reference) const { return allowed_error(row, std::abs(reference), max_v, max_v); }
};

double largest_row_norm(const std::vector<fp16>& tensor, int D) {
  double largest = 0;
  for (std::size_t row = 0; row < tensor.size(); row += D) {
    double sum = 0;
    for (int c = 0; c < D; ++c) sum += double(to_float(tensor[row + c])) * to_float(tensor[row + c]);
    largest = std::max(largest, sum);
  }
  return std::sqrt(largest);
}

Bound bound_of(const Trial& t) {
  Bound bound;
  const double largest_score =
      std::abs(t.scale) * largest_row_norm(t.in.q, t.shape.D) * largest_row_norm(t.in.k, t.shape.D);
  bound.row = row_error(t.shape.D, t.shape.S, largest_score, t.plan.half_p);
  for (const fp16 v : t.in.v) bound.max_v = std::max(bound.max_v, std::abs(double(to_float(v))));
  return bound;
}

struct Comparison {
  std::size_t compared = 0, outside = 0;
  double max_diff = 0;  // NaN counts as infinite
};
Comparison compare(const Trial& t, const std::vector<double>& with, const Where& where) {
  Comparison c;
  const Bound bound = bound_of(t);
  for_elements(t.shape, [&](std::size_t i, int row, int col) {
    if (!where(row, col)) return;
    const double out = to_float(t.out[i]);
    ++c.compared;
    if (!std::isfinite(with[i])) {
      if (out == with[i] || (std::isnan(out) && std::isnan(with[i]))) return;
      ++c.outside, c.max_diff = INFINITY;
      return;
    }
    const double diff = std::abs(out - with[i]);
    if (!(diff <= bound.allowed(with[i]))) ++c.outside;
    c.max_diff = std::max(c.max_diff, std::isnan(diff) ? INFINITY : diff);
  });
  return c;
}

std::string state(const Trial& t) {
  return t.ok() ? ""
                : std::string(" (") +
                      cudaGetErrorName(t.ok()                      ? cudaSuccess
                                       : t.launched != cudaSuccess ? t.launched
                                                                   : t.finished) +
                      ": " + t.message + ")";
}

// A GPU has no schedules to choose and no checker of ours: what the bug does not happen to show there is hidden, not
// gone.
Part may_hide(Part part, const std::string& why) {
  part.excuse = why;
  return part;
}

Part cannot_look(Part part, const std::string& why) {
  part.possible = false, part.seen = why;
  return part;
}

// One launch of this same binary in a process of its own.
std::string once_words(const Shape& shape) {
  return format("/proc/%d/exe once %d %d %d %d %d", int(getpid()), shape.B, shape.H, shape.S, shape.D,
                int(shape.causal));
}

// Under compute-sanitizer a launch takes a hundred times as long and more: about a second on an H200.
constexpr int SANITIZED_SECONDS = 20;

// hangs() has seen this process's launch hang on a GPU. Under a tool, which waits for the launch to end, it would too.
bool hung_on_gpu = false;

// The compute-sanitizer tool that looks for such findings, on one launch of this same binary (`lab once`).
Part sanitizer_reports(const Shape& shape, Finding::Kind kind) {
  const bool init = kind == Finding::Kind::uninitialised,
             barrier = kind == Finding::Kind::barrier || kind == Finding::Kind::mbarrier;
  const bool race = kind == Finding::Kind::race_inter_warp || kind == Finding::Kind::race_intra_warp ||
                    kind == Finding::Kind::before_wait || kind == Finding::Kind::before_phase;
  const std::string tool = race ? "racecheck" : init ? "initcheck" : barrier ? "synccheck" : "memcheck";
  Part part;
  part.expected = "compute-sanitizer --tool " + tool + " reports it";
  if (hung_on_gpu) return cannot_look(part, tool + ": not asked, for the launch does not end");
  const std::string command = "compute-sanitizer --tool " + tool + (init ? " --initcheck-address-space shared" : "") +
                              (race ? " --racecheck-report all" : "") + " " + once_words(shape) +
                              format(" %d 2>&1", SANITIZED_SECONDS);
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return cannot_look(part, "compute-sanitizer cannot be run");
  std::string summary;
  char line[1024];
  while (std::fgets(line, sizeof line, pipe)) {
    std::string text(line);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.find("SUMMARY") != text.npos) summary = text;
    if (part.lines.size() < 4 && text.find("stages/") != text.npos) part.lines.push_back(text);
  }
  pclose(pipe);
  if (summary.empty())
    return cannot_look(part, tool + (init ? ": this version cannot watch shared memory" : ": it gave no summary"));
  part.shown = summary.find("SUMMARY: 0 ") == summary.npos;
  part.seen = tool + ": " + summary;
  return may_hide(part, "; this tool does not see it");
}

bool has_all(const std::string& text, const std::vector<std::string>& pieces) {
  return std::ranges::all_of(pieces, [&](const std::string& piece) { return text.find(piece) != text.npos; });
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += (text.empty() ? "\"" : ", \"") + piece + "\"";
  return text;
}

// What `lab fingerprint` is looking for.
const desk::Patch* patch_at_hand = nullptr;
// The kernel that this build was made of, if it is not the stage's: an exercise's, whose lines are its writer's.
std::string own_source;

constexpr int NO_LINE = -1;  // of a learner's kernel, which may have lost the line or have it twice
struct Place {
  std::string file;
  int line = 0;
  std::string text() const { return file + ":" + std::to_string(line); }
};

// The only line with `piece`, of the kernel as this build has it. In the fixed build a line that only the patch would
// add is sought there. A fingerprint that cannot find its line is a mistake in its .cpp.
Place line_with(const std::string& piece) {
  const std::string path = own_source.empty() ? std::string("stages/") + stage().name + "/kernel.cu" : own_source;
  std::ifstream file(path);
  std::ostringstream source;
  if (!file || !(source << file.rdbuf())) throw BadInput("cannot read " + path + "; run from the repository's root");
  std::vector<Place> plain, patched;
  std::istringstream lines(source.str());
  int number = 0;
  for (std::string line; std::getline(lines, line);)
    if (++number; line.find(piece) != line.npos) plain.push_back({path, number});
  if (!own_source.empty()) return plain.size() == 1 ? plain[0] : Place{path, NO_LINE};
  for (const desk::SourceLine& line : desk::patched_lines(*patch_at_hand, source.str()))
    if (line.text.find(piece) != line.text.npos)
      patched.push_back({line.added ? patch_at_hand->path : path, line.number});
  const std::vector<Place>& found = *planted_bug() || plain.empty() ? patched : plain;
  if (found.size() != 1)
    throw std::runtime_error(path + " with " + patch_at_hand->path + " has " + std::to_string(found.size()) +
                             " lines with '" + piece + "', where a fingerprint needs one");
  return found[0];
}

std::vector<Fingerprint>& registry() {
  static std::vector<Fingerprint> all;
  return all;
}

}  // namespace

const std::vector<Fingerprint>& fingerprints() {
  std::ranges::sort(registry(), {}, &Fingerprint::bug);
  return registry();
}

RegisteredFingerprint::RegisteredFingerprint(std::vector<Part> (*look)(), const char* file) {
  std::string name(file);
  name.erase(0, name.rfind('/') + 1);
  registry().push_back({name.substr(0, name.rfind('.')), look});
}

std::string marks_of(const Trial& t, const std::vector<double>& right) {
  const Bound bound = bound_of(t);
  std::string marks(t.out.size(), '.');
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (is_nan(t.out[i]))
      marks[i] = t.out[i] == FP16_NAN ? '~' : 'N';
    else if (!(std::abs(to_float(t.out[i]) - right[i]) <= bound.allowed(right[i])))
      marks[i] = '#';
  return marks;
}

std::string marks_of(const Trial& t) { return marks_of(t, right_answer(t)); }

Part equals_prediction(const Trial& t, const std::vector<double>& predicted, const std::string& formula,
                       const Where& where) {
  const std::vector<double> right = right_answer(t);
  double apart = 0;
  for_elements(t.shape, [&](std::size_t i, int row, int col) {
    if (where(row, col))
      apart = std::max(apart, std::isnan(predicted[i]) ? INFINITY : std::abs(predicted[i] - right[i]));
  });
  const Comparison with_prediction = compare(t, predicted, where), with_right = compare(t, right, where);
  Part part;
  part.expected = "the output equals " + formula;
  // Far apart on this input, or matching the prediction would prove nothing.
  part.shown = t.ok() && with_prediction.outside == 0 && apart >= 100 * NOTES_TOLERANCE;
  part.seen =
      format(
          "%s: |out - predicted| <= %.1e (%zu of %zu elements outside the bound), |out - right| <= %.2g; predicted and "
          "right are up to %.2f apart",
          t.title().c_str(), with_prediction.max_diff, with_prediction.outside, with_prediction.compared,
          with_right.max_diff, apart) +
      state(t);
  const std::string marks = marks_of(t, right);
  part.lines = map_of(
      t.shape, [&](std::size_t i) { return marks[i]; }, "'#' wrong, 'N' NaN, '~' never written, '.' right");
  return part;
}

Part nan_exactly(const Trial& t, const Where& where, const std::string& rule) {
  std::size_t nans = 0, wrong_place = 0, predicted = 0;
  for_elements(t.shape, [&](std::size_t i, int row, int col) {
    nans += is_nan(t.out[i]), predicted += where(row, col), wrong_place += is_nan(t.out[i]) != where(row, col);
  });
  Part part;
  part.expected = "NaN if and only if " + rule;
  part.shown = t.ok() && predicted > 0 && wrong_place == 0;
  part.seen = format("%s: %zu of %zu elements are NaN, %zu predicted, %zu disagree", t.title().c_str(), nans,
                     t.out.size(), predicted, wrong_place) +
              state(t);
  part.lines = map_of(
      t.shape, [&](std::size_t i) { return is_nan(t.out[i]) ? 'N' : '.'; }, "'N' NaN, '.' a number");
  return part;
}

Part unwritten_exactly(const Trial& t, const Where& where, const std::string& rule) {
  std::size_t unwritten = 0, wrong_place = 0, predicted = 0;
  for_elements(t.shape, [&](std::size_t i, int row, int col) {
    const bool poison = t.out[i] == FP16_NAN;
    unwritten += poison, predicted += where(row, col), wrong_place += poison != where(row, col);
  });
  Part part;
  part.expected = "never written: " + rule;
  part.shown = t.ok() && predicted > 0 && wrong_place == 0;
  part.seen = format("%s: %zu of %zu elements keep the poison, %zu predicted, %zu disagree", t.title().c_str(),
                     unwritten, t.out.size(), predicted, wrong_place) +
              state(t);
  part.lines = map_of(
      t.shape, [&](std::size_t i) { return t.out[i] == FP16_NAN ? '~' : '.'; }, "'~' never written, '.' written");
  return part;
}

Part wrong_somewhere(const Trial& t) {
  const std::vector<double> right = right_answer(t);
  const Comparison c = compare(t, right, everywhere);
  const Bound bound = bound_of(t);
  Part part;
  part.expected = "the output is wrong";
  part.shown = t.ok() && c.outside > 0;
  part.seen = format("%s: %zu of %zu elements outside the bound, |out - right| <= %.2g", t.title().c_str(), c.outside,
                     c.compared, c.max_diff) +
              state(t);
  part.lines = map_of(
      t.shape,
      [&](std::size_t i) { return std::abs(to_float(t.out[i]) - right[i]) <= bound.allowed(right[i]) ? '.' : '#'; },
      "'#' wrong, '.' right");
  return part;
}

Part right_by_luck(const Trial& t, const std::vector<double>& predicted, const std::string& why) {
  const Comparison with_prediction = compare(t, predicted, everywhere),
                   with_right = compare(t, right_answer(t), everywhere);
  Part part;
  part.always = true;
  part.expected = "the output is right " + why;
  part.shown = t.ok() && with_prediction.outside == 0 && with_right.outside == 0;
  part.seen = format("%s: |out - predicted| <= %.1e, |out - right| <= %.1e", t.title().c_str(),
                     with_prediction.max_diff, with_right.max_diff) +
              state(t);
  return part;
}

Part refused(const Trial& t, const std::vector<std::string>& pieces) {
  Part part;
  part.expected = "the launch is refused, and the message says " + joined(pieces);
  part.shown = t.launched != cudaSuccess && has_all(t.message, pieces);
  part.seen = t.launched == cudaSuccess ? t.title() + ": launched"
                                        : std::string(cudaGetErrorName(t.launched)) + ": " + t.message;
  return part;
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

Part schedules_differ(const Shape& shape, Family family) {
  Part part;
  std::map<std::vector<std::uint16_t>, std::string> outputs;
  std::vector<fp16> first;
  std::size_t differing = 0;
  const auto add = [&](const Trial& t, const std::string& how) {
    std::vector<std::uint16_t> bits(t.out.size());
    std::ranges::transform(t.out, bits.begin(), [](fp16 h) { return h.bits; });
    std::string& group = outputs[bits];
    group += (group.empty() ? "" : " ") + how;
    if (first.empty()) first = t.out;
    for (std::size_t i = 0; i < first.size(); ++i) differing = std::max<std::size_t>(differing, first[i] != t.out[i]);
  };
  if (!can_schedule()) {
    part.expected = "repeated launches differ, or an output is wrong";
    bool wrong = false;
    for (int i = 0; i < 20; ++i) {
      const Trial t = run_trial(shape, family);
      add(t, "launch" + std::to_string(i));
      wrong |= compare(t, right_answer(t), everywhere).outside > 0;
    }
    part.shown = outputs.size() > 1 || wrong;
    part.seen = format("20 launches gave %zu different output%s%s", outputs.size(), outputs.size() == 1 ? "" : "s",
                       wrong ? ", some of them wrong" : "");
    return may_hide(part, ": hidden by the order in which this GPU happens to run");
  }
  part.expected = "different schedules give different outputs";
  for (const Copies copies : COPIES)
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
  if (!can_schedule()) {
    part.expected = format("the kernel does not end: it still runs after %.1f s", hang_seconds(shape));
    if (wanted.or_stops) part.expected += ", or is stopped with an error";
    std::FILE* pipe = popen((once_words(shape) + " 2>&1").c_str(), "r");
    if (!pipe) return cannot_look(part, "a launch in a process of its own did not come about");
    std::string printed;
    char line[1024];
    while (std::fgets(line, sizeof line, pipe)) printed += line;
    const Ended ended = how_it_ended(pclose(pipe));
    if (ended == Ended::otherwise) return cannot_look(part, "a launch in a process of its own did not come about");
    const bool hung = ended == Ended::hung;
    hung_on_gpu |= hung;
    const std::string stop = hung ? "" : stopped_by(printed);
    part.shown = hung || (wanted.or_stops && !stop.empty());
    part.seen = text(shape) + (hung           ? ": it did not, and its process was ended"
                               : stop.empty() ? ": it came to its end"
                                              : ": it stopped: " + stop);
    return stop.empty() ? may_hide(part, ": the GPU's order did not bring the hang about") : part;
  }
  part.expected = std::string(wanted.under == Under::every ? "every" : "some") +
                  " schedule ends in a deadlock that is named: a wait for " + wanted.waits_for +
                  (place.line ? ", at " + place.text() : "") + (wanted.story.empty() ? "" : "; " + wanted.story);
  if (wanted.copies.size() == 1) part.expected += format(", with copies %s", name(wanted.copies[0]));
  // A grid for a whole GPU is not worth its minutes where nothing hangs: the first blocks of it stand for the rest.
  const dim3 grid = stage().plan(shape).grid;
  const unsigned all = grid.x * grid.y * grid.z;
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
      const std::string sentence =
          hang_sentence(t.message, {wanted.waits_for, place.line ? place.text() : "", wanted.story});
      if (t.finished != cudaErrorLaunchTimeout || sentence.empty()) continue;
      if (++under == 1) part.lines = {sentence};
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
    const Trial t = run_trial(shape, Family::unit, options, 1, wanted.scale);
    const auto found = std::ranges::find_if(t.findings, [&](const Finding& f) {
      const auto is = [&](const Finding::Access& side, const Place& place) {
        return place.line == 0 || (side.line == place.line && side.file == place.file);
      };
      return f.kind == wanted.kind &&
             ((is(f.first, first) && is(f.second, second)) || (is(f.second, first) && is(f.first, second)));
    });
    if (found == t.findings.end()) continue;
    if (++under == 1) part.lines = {found->text};
  }
  part.shown = under == 4 || (where == Under::some && under > 0);
  part.seen = format("reported under %d of 4 schedules, %s%s", under, text(shape).c_str(),
                     wanted.scale < 0 ? ", with a negative scale" : "");
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

// lab fingerprint BUG [source=FILE]: looks for the bug in this build, whose kernel is FILE, if it is not the stage's.
// 0: as it should be (all parts show and the bug is planted, or none shows and it is not).
int fingerprint_command(std::span<char*> args) {
  const std::vector<Fingerprint>& known = fingerprints();
  std::string names;
  for (const Fingerprint& f : known) names += " " + f.bug;
  constexpr std::string_view SOURCE = "source=";
  own_source.clear();
  if (args.size() == 2 && std::string_view(args[1]).starts_with(SOURCE)) {
    own_source = std::string_view(args[1]).substr(SOURCE.size());
    args = args.first(1);
  }
  if (args.size() != 1) throw BadInput("fingerprint takes the name of one bug:" + names);
  const auto found = std::ranges::find(known, std::string(args[0]), &Fingerprint::bug);
  if (found == known.end()) throw BadInput("no fingerprint of '" + std::string(args[0]) + "'; there are:" + names);
  const std::string planted = planted_bug();
  if (!planted.empty() && planted != found->bug) throw BadInput("this build has the bug " + planted);
  const bool with_bug = !planted.empty();
  const desk::Patch patch = desk::read_patch(desk::patch_path(stage().name, found->bug));
  patch_at_hand = &patch;
  const bool harmless = !patch.harmless.empty();
  if (with_bug) {
    std::printf("%s in %s, on %s (%s)\n  planted:   %s\n  predicted: %s\n", found->bug.c_str(), stage().name,
                backend_name(), device_name().c_str(), patch.plants.c_str(), patch.predicted.c_str());
  } else {
    std::printf("  the fixed build, same inputs:\n");
  }
  bool good = true;
  int looked = 0;
  for (const Part& part : found->look()) {
    const bool wanted = part.always || (with_bug && !harmless);
    const bool hidden = wanted && !part.shown && !part.excuse.empty();
    const bool looked_here = part.possible && !hidden, as_it_should = !looked_here || part.shown == wanted;
    looked += looked_here && !part.always;  // what shows in either build tells nothing
    good &= as_it_should;
    const char* mark = !looked_here ? "skip" : part.shown ? "shown" : "not shown";
    // A harmless patch has nothing to show: say which finding would count, and that there is none.
    const char* label = harmless && !part.always ? "if a bug: " : "expected: ";
    if (with_bug) std::printf("  %s %s\n", label, part.expected.c_str());
    std::printf("  %s %s[%s%s]\n", with_bug ? "seen:     " : "          ",
                (part.seen + (hidden ? part.excuse : "") + " ").c_str(), mark,
                as_it_should ? ""
                : wanted     ? ", but it should be"
                             : ", but it should not be");
    if (with_bug && part.shown)
      for (const std::string& line : part.lines) std::printf("    %s\n", line.c_str());
  }
  if (!good) return 1;
  if (looked) return 0;
  std::printf("  nothing of it shows on this backend\n");
  return 3;
}

// lab once B H S D [causal]: one launch on unit inputs, for compute-sanitizer to watch. 0 even if the launch fails: the
// tool has its own verdict.
int once_command(std::span<char*> args) {
  if (args.size() < 4 || args.size() > 6) throw BadInput("once takes B H S D [causal [seconds]]");
  const auto number = [&](std::size_t i) { return i < args.size() ? std::atoi(args[i]) : 0; };
  const Shape shape{number(0), number(1), number(2), number(3), number(4) != 0};
  if (shape.B < 1 || shape.H < 1 || shape.S < 1 || (shape.D != 64 && shape.D != 128))
    throw BadInput("once needs B, H, S of at least 1 and D of 64 or 128");
  const Trial t = run_trial(shape, Family::unit, {}, 1, 0, number(5));
  std::printf("%s, %s: %s\n", stage().name, t.title().c_str(), t.ok() ? "ran" : state(t).c_str());
  return 0;
}

}  // namespace lab
