#include "checks/acceptance/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "checks/acceptance/verdict.hpp"
#include "common/backend.hpp"

namespace lab {
namespace {

constexpr std::size_t LINES_PER_FAILURE = 10, MOST_DETAILED = 3;

constexpr const char* TITLES[GROUPS] = {"shapes of the notes", "inputs that tell", "ragged lengths",
                                        "other scales",        "large inputs",     "NaN and infinities",
                                        "past 2^32 elements",  "kernel instances", "overlapping launches"};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Where the worst element stands in its bound: 25% means the bound is four times the error seen.
std::string of_allowed(double ratio) {
  return std::isinf(ratio) ? "NaN" : ratio < 10 ? format("%.0f%%", 100 * ratio) : format("%.0fx", ratio);
}

std::string covered(const Subject& subject, const CaseResult& r) {
  if (r.test.group == Group::overlap) return r.note;
  if (subject.backward) return format("%zu gradients, %d launches", r.compared.compared, r.launches) + r.note;
  std::string text = format("%zu of %zu blocks", r.checked, r.total);
  if (r.launches > 1) text += format("; %zu in %d repeats", r.repeated, r.launches - 1);
  return text + r.note;
}

}  // namespace

Progress::Progress(std::size_t cases, double cost, bool plain_lines)
    : cases_(cases),
      cost_(cost),
      terminal_(isatty(STDERR_FILENO) != 0),
      plain_lines_(plain_lines && !std::getenv(VERDICT_FILE)) {}

void Progress::start(const std::string& what) {
  ++started_;
  const std::size_t tenths = std::size_t(10 * done_ / cost_);
  if (!terminal_ && !(plain_lines_ && seconds() >= 5 && tenths > tenths_)) return;
  tenths_ = tenths;
  std::string left = "?";
  if (done_ > 0) left = format("%.0f", seconds_since(begin_) * (cost_ - done_) / done_);
  const std::string place =
      cases_ ? format("[%zu/%zu] %s, %zu more after it", started_, cases_, what.c_str(), cases_ - started_)
             : format("[%zu] %s", started_, what.c_str());
  std::fprintf(stderr, "%s%s, about %s s left%s", terminal_ ? "\r\033[K" : "", place.c_str(), left.c_str(),
               terminal_ ? "" : "\n");
  std::fflush(stderr);
}

void Progress::finish(double cost) {
  done_ += cost;
  clear();
}

void Progress::clear() {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

double Progress::seconds() const { return seconds_since(begin_); }

Report::Report(const Subject& subject, const AcceptanceOptions& options, std::size_t cases)
    : subject_(subject), options_(options) {
  const std::string_view bug = planted_bug();
  std::printf("%s on %s (%s)%s%s, seed %llu: %zu cases%s\n", stage_name(), backend_name(), device_name().c_str(),
              bug.empty() ? "" : ", planted bug ", bug.data(), (unsigned long long)options.seed, cases,
              options.quick ? ", the cheapest first, until one is red" : "");
  if (!options.quick && options.verbose && !subject.backward && !options.full && can_schedule())
    std::printf("Of large shapes a sample of the blocks runs; full=1 runs them all.\n");
}

void Report::open_group(Group group) {
  close_group();
  group_ = group, green_ = seen_ = not_run_ = 0, worst_ = 0;
  if (options_.verbose)
    std::printf("\n%s\n%-10s %-16s causal  max diff   of allowed  status  checked\n", TITLES[std::size_t(group)],
                "family", "shape");
}

void Report::close_group() {
  if (!group_ || options_.quick) return;
  if (seen_)
    std::printf("  %-22s%4zu of %zu%s%s\n", TITLES[std::size_t(*group_)], green_, seen_,
                worst_ > 0 ? (", the largest error " + of_allowed(worst_) + " of what is allowed").c_str() : "",
                not_run_ ? format(", %zu not run", not_run_).c_str() : "");
  std::fflush(stdout);
  group_.reset();
}

void Report::add(const CaseResult& r) {
  if (!options_.quick && group_ != r.test.group) open_group(r.test.group);
  if (r.skipped) {
    ++skipped_, ++not_run_;
    if (why_not_run_.insert(r.note).second || options_.verbose)
      std::printf("  not run: %s: %s\n", text(r.test).c_str(), r.note.c_str());
    return;
  }
  outcomes_.push_back({r.test, r.green()});
  ++(r.green() ? passed_ : failed_);
  ++seen_, green_ += r.green(), worst_ = std::max(worst_, r.compared.worst_ratio);
  if (options_.verbose && !options_.quick) print_row(r);
  if (!r.green()) print_failure(r);
  std::fflush(stdout);
}

void Report::print_row(const CaseResult& r) {
  // With nothing compared there is no difference to print, and 0 would look like a perfect one.
  const Comparison& c = r.compared;
  const char* const none = c.compared == 0 ? "-" : c.nans > 0 ? "NaN" : nullptr;
  const Shape& s = r.test.shape;
  std::printf("%-10s %-16s %-6s  %-9s  %-10s  %-6s  %s\n", name(r.test.family),
              format("(%d,%d,%d,%d)", s.B, s.H, s.S, s.D).c_str(), s.causal ? "yes" : "no",
              none ? none : format("%.6f", c.max_diff).c_str(), none ? none : of_allowed(c.worst_ratio).c_str(),
              r.green() ? "PASS" : "FAIL", (covered(subject_, r) + beside(r.test)).c_str());
}

// The first ones tell it; of more there is a line each in the table, or a count.
void Report::print_failure(const CaseResult& r) {
  const std::vector<Fault>& problems = r.problems;
  if (!r.hang.empty()) record("hang", r.hang);
  if (!detailed_) record("tells", text(r.test) + ": " + problems[0].what);
  if (detailed_++ >= MOST_DETAILED) {
    const std::string line = format("  RED %s: %s", text(r.test).c_str(), problems[0].what.c_str());
    if (options_.verbose) print_red(line);
    return;
  }
  print_red("  RED " + text(r.test));
  for (std::size_t i = 0; i < problems.size() && i < LINES_PER_FAILURE; ++i)
    if (problems[i].again)
      std::printf("    %s\n", problems[i].what.c_str());
    else
      print_red("    " + problems[i].what);
  if (problems.size() > LINES_PER_FAILURE) print_red(format("    and %zu more", problems.size() - LINES_PER_FAILURE));
  for (const std::string& line : r.map)
    if (detailed_ == 1) std::printf("    %s\n", line.c_str()), record("red", "    " + line);
}

void Report::held(const std::string& what, const std::vector<std::string>& red, bool counts) {
  close_group();
  if (options_.verbose) std::printf("\n%s%s\n", what.c_str(), red.empty() ? "" : ": RED");
  if (!red.empty() && !options_.verbose) std::printf("  %s: RED\n", what.c_str());
  for (const std::string& line : red) print_red("  RED " + line);
  passed_ += red.empty() && counts, failed_ += red.size();
}

void Report::finish() {
  close_group();
  if (detailed_ > MOST_DETAILED && !options_.verbose)
    print_red(format("  and %zu more red cases: verbose=1 shows all", detailed_ - MOST_DETAILED));
  if (const std::string pattern = red_pattern(outcomes_); !pattern.empty()) std::puts(""), print_red("Red: " + pattern);
  std::printf("%.1f s%s\n", seconds_since(begin_),
              options_.quick || options_.verbose ? "" : "; verbose=1 shows each case");
  std::printf("%zu passed, %zu failed%s\n", passed_, failed_,
              skipped_ ? format(", %zu skipped", skipped_).c_str() : "");
  std::fflush(stdout);
}

}  // namespace lab
