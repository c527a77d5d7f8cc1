#include "checks/acceptance/report.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/tolerance.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/runner/commands.hpp"
#include "common/backend.hpp"
#include "common/target.hpp"

namespace lab {
namespace {

constexpr std::size_t LINES_PER_FAILURE = 10;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string text(dim3 d) { return format("(%u,%u,%u)", d.x, d.y, d.z); }

std::string covered(const CaseResult& r) {
  std::string text = format("%zu of %zu tiles", r.tiles_checked, r.tiles_total);
  if (r.launches > 1) text += format("; %zu in %d repeats", r.tiles_repeated, r.launches - 1);
  return text;
}

std::string amplitude_text(const Case& test) {
  return test.amplitude == 1 ? "" : format(" amplitude %g", test.amplitude);
}

std::string extents(const Case& c) { return format("(%d,%d,%d,%d)", c.shape.B, c.shape.H, c.shape.S, c.shape.D); }
const char* yes_no(const Case& c) { return c.shape.causal ? "yes" : "no"; }
const char* status(const CaseResult& r) { return r.green() ? "PASS" : "FAIL"; }

// Where the worst element stands in its bound: 25% means the bound is four times the error seen.
std::string of_allowed(double ratio) { return ratio < 10 ? format("%.0f%%", 100 * ratio) : format("%.0fx", ratio); }

std::string counted(const Case& test) {
  if (!test.multiprocessors) return "";
  return format("; %d multiprocessor%s", test.multiprocessors, test.multiprocessors == 1 ? "" : "s");
}

// Registers are nvcc's to say: from the committed table of `make resources`, "-" where it has no such kernel.
std::string registers_of(const Shape& shape, const LaunchPlan& plan) {
  std::ifstream table("writeups/results/resources.csv");
  const std::string fixed = format("%s,,%s,", stage().name, stage_conf().target.c_str());
  const std::string kernels[] = {format("<%d>", shape.D), format("<%d,%d>", shape.D, plan.slots)};
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with(fixed)) continue;
    std::string rest = line.substr(fixed.size());  // the kernel, quoted where it has a comma, and the registers
    const bool quoted = rest.starts_with('"');
    rest.erase(0, quoted);
    const std::string kernel = rest.substr(0, rest.find(quoted ? '"' : ','));
    if (plan.kernel.empty() ? kernel.ends_with(kernels[0]) || kernel.ends_with(kernels[1]) : kernel == plan.kernel)
      return std::to_string(std::atoi(rest.c_str() + kernel.size() + quoted + 1)) + " (" + stage_conf().target + ")";
  }
  return "-";
}

void print_resources(const Shape& shape) {
  const LaunchPlan plan = stage().plan(shape);
  std::printf("%-16s registers %s, shared memory %zu B (%.1f KiB), grid %s, block %s, tile %dx%d, %d slot%s\n",
              text(shape).c_str(), registers_of(shape, plan).c_str(), plan.smem(), double(plan.smem()) / 1024,
              text(plan.grid).c_str(), text(plan.block).c_str(), plan.tile_m, plan.tile_n, plan.slots,
              plan.slots == 1 ? "" : "s");
}

}  // namespace

std::string text(const Shape& s) { return format("(%d,%d,%d,%d)%s", s.B, s.H, s.S, s.D, s.causal ? " causal" : ""); }

std::string text(const Case& test) {
  return format("%s %s%s%s%s, seed %llu", name(test.family), text(test.shape).c_str(), amplitude_text(test).c_str(),
                test.scale ? format(" scale %g", *test.scale).c_str() : "", counted(test).c_str(),
                (unsigned long long)test.seed);
}

std::string plan_text(const Shape& shape, const LaunchPlan& plan) {
  const auto triple = [](dim3 d) { return format("%u,%u,%u", d.x, d.y, d.z); };
  std::string out =
      (plan.kernel.empty() ? "" : "kernel " + plan.kernel + "\n") +
      format("D %d\ntile_m %d\ntile_n %d\nrows_per_warp %d\nslots %d\nparts %u\ngrid %s\nblock %s\n", shape.D,
             plan.tile_m, plan.tile_n, plan.rows_per_warp, plan.slots, plan.parts, triple(plan.grid).c_str(),
             triple(plan.block).c_str()) +
      format("static_smem %zu\ndynamic_smem %zu\nsmem %zu\n", plan.static_smem, plan.dynamic_smem, plan.smem());
  for (const SharedArray& a : plan.arrays)
    out += format("array %s %s, %d rows of %d, %zu bytes\n", a.name.c_str(), a.type.c_str(), a.rows, a.pitch, a.bytes);
  return out;
}

// lab plan B H S D [causal]
int plan_command(std::span<char*> args) {
  const bool causal = args.size() == 5 && std::string_view(args[4]) == "causal";
  if (args.size() != 4 && !causal) throw BadInput("usage: lab plan B H S D [causal]");
  int extents[4];
  for (int i = 0; i < 4; ++i) {
    char* end = nullptr;
    const long value = std::strtol(args[std::size_t(i)], &end, 10);
    if (*end != '\0' || end == args[std::size_t(i)] || value < 1 || value > (1 << 24))
      throw BadInput(format("%c=%s: must be a whole number from 1 to 2^24", "BHSD"[i], args[std::size_t(i)]));
    extents[i] = int(value);
  }
  const Shape shape{extents[0], extents[1], extents[2], extents[3], causal};
  if (shape.D != 64 && shape.D != 128)
    throw BadInput(format("D=%d: the stages take head dimensions 64 and 128", shape.D));
  std::fputs(plan_text(shape, stage().plan(shape)).c_str(), stdout);
  return 0;
}

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
  std::fprintf(stderr, "%s[%zu/%zu] %s, %zu more after it, about %s s left%s", terminal_ ? "\r\033[K" : "", started_,
               cases_, what.c_str(), cases_ - started_, left.c_str(), terminal_ ? "" : "\n");
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

// --- either pass --------------------------------------------------------------------------------------------

Report::Report(const AcceptanceOptions& options, const Looks& how) : options_(options), how_(how) {
  const std::string_view bug = planted_bug();
  std::printf("%s on %s (%s), planted bug: %s, seed %llu%s%s\n", stage().name, backend_name(), device_name().c_str(),
              bug.empty() ? "none" : bug.data(), (unsigned long long)options.seed, options.full ? ", full=1" : "",
              options.quick ? how.if_quick : "");
}

void Report::add(const CaseResult& r) {
  const Group group = r.test.group;
  if (!options_.quick && group_ != group) {
    if (group_) close_group(*group_);
    open_group(group);
  }
  group_ = group;
  if (r.skipped) {
    ++skipped_;
    std::printf("%-8s %-16s not run: %s\n", name(r.test.family), text(r.test.shape).c_str(), r.note.c_str());
    return;
  }
  outcomes_.push_back({r.test, r.green()});
  ++(r.green() ? passed_ : failed_);
  ++seen_[std::size_t(group)];
  green_[std::size_t(group)] += r.green();
  print_case(r);
  if (!r.green()) print_failure(r);
  std::fflush(stdout);
}

void Report::open_group(Group group) {
  std::printf("\n%s\n%-10s %-*s causal  max diff   of allowed  status  checked\n", how_.titles[std::size_t(group)],
              "family", how_.shape_width, "shape");
}

void Report::print_row(const CaseResult& r, const std::string& diff, const std::string& ratio,
                       const std::string& rest) {
  std::printf("%-10s %-*s %-6s  %-9s  %-10s  %-6s  %s\n", name(r.test.family), how_.shape_width,
              extents(r.test).c_str(), yes_no(r.test), diff.c_str(), ratio.c_str(), status(r), rest.c_str());
}

void Report::print_failure(const CaseResult& r) {
  const std::vector<Fault>& problems = r.problems;
  if (!r.hang.empty()) say("hang", r.hang);
  if (!detailed_) say("tells", text(r.test) + ": " + problems.front().what), say("why", problems.front().what);
  if (detailed_++ >= how_.most_detailed) {
    print_red(format("  RED %s: %s", text(r.test).c_str(), problems.front().what.c_str()));
    return;
  }
  print_red("  RED " + text(r.test));
  for (std::size_t i = 0; i < problems.size() && i < LINES_PER_FAILURE; ++i)
    if (problems[i].again)
      std::printf("    %s\n", problems[i].what.c_str());
    else
      print_red("    " + problems[i].what);
  if (problems.size() > LINES_PER_FAILURE) print_red(format("    and %zu more", problems.size() - LINES_PER_FAILURE));
}

void Report::finish() {
  if (group_ && !options_.quick) close_group(*group_), after_groups();
  if (const std::string pattern = red_pattern(outcomes_); !pattern.empty()) std::puts(""), print_red("Red: " + pattern);
  const std::string line = summary() + format(", %.1f s", seconds_since(begin_));
  std::printf("\n%s\n", line.c_str());
  say("remark", line);
  std::printf("%zu passed, %zu failed%s\n", passed_, failed_,
              skipped_ ? format(", %zu skipped", skipped_).c_str() : "");
  std::fflush(stdout);
}

// --- the forward pass ---------------------------------------------------------------------------------------

ForwardReport::ForwardReport(const AcceptanceOptions& options)
    : Report(options,
             {.if_quick = ", quick=1: cheapest cases first, stop at the first red one",
              .shape_width = 16,
              .titles = {"",
                         "Inputs that tell a wrong kernel: pass at |out - ref| <= atol + rtol*|ref| "
                         "(checks/acceptance/tolerance.hpp)",
                         "Ragged lengths, odd B and H: the same bound", "Other scales than 1/sqrt(D): the same bound",
                         "Large q and k, up to the largest half: finite, and the same bound",
                         "One NaN or infinity in q, k or v of each head: NaN and infinity exactly where attention has "
                         "them, the same bound elsewhere",
                         "Addresses past 2^32 elements: the last head alone has memory",
                         "Tiles of the launcher that no shape above uses like this: the same bound",
                         "Launches that overlap: each right beside the other, and alone afterwards"}}) {
  if (options.cheapest) std::printf("Of all cases the %zu cheapest.\n", options.cheapest);
  if (!options.full)
    std::printf("Of large shapes a sample of the query tiles is %s; full=1 takes them all.\n",
                can_schedule() ? "run" : "compared with the oracle");
  if (options.once)
    std::printf("Each case is launched once against the oracle, and no more.\n");
  else if (options.turns && can_schedule())
    std::printf(
        "Each case is launched once against the oracle, then repeated, bit-equal, on some of these tiles: the notes' "
        "five under five schedules, of the others each under one of them by turns. Of the lengths and amplitudes every "
        "second is taken; other stages take the others. make stage=S test takes all.\n");
  else
    std::printf("Each case is launched once against the oracle, then repeated, bit-equal%s.\n",
                can_schedule()
                    ? ": with the signs of q and scale turned, and under four more schedules, on some of these tiles"
                    : "");
}

void ForwardReport::print_case(const CaseResult& r) {
  const Group group = r.test.group;
  if (const auto use = use_of(r.test.shape, plan_for(r.test));
      use && r.launches > 0 && group != Group::far && group != Group::overlap)
    ran_.insert(*use);
  if (group == Group::notes) notes_max_diff_ = std::max(notes_max_diff_, r.compared.max_diff);
  if (options_.quick) return;
  // With nothing compared there is no difference to print, and 0 would look like a perfect one.
  const Comparison& c = r.compared;
  const char* const none = c.compared == 0 ? "-" : c.nans > 0 ? "NaN" : nullptr;
  const std::string diff = none ? none : format("%.6f", c.max_diff);
  if (group == Group::notes)
    std::printf("%-16s %-6s  %-12s  %-10s  %-9s  %-6s  %s\n", extents(r.test).c_str(), yes_no(r.test),
                r.microseconds < 0 ? "-" : format("%.2f", r.microseconds).c_str(), "-", diff.c_str(), status(r),
                covered(r).c_str());
  else
    print_row(r, diff, none ? none : of_allowed(c.worst_ratio),
              (group == Group::overlap ? r.note : covered(r)) + counted(r.test) +
                  (r.test.amplitude == 1 ? "" : ";" + amplitude_text(r.test)) +
                  (r.test.scale ? format("; scale %g", *r.test.scale) : ""));
}

void ForwardReport::open_group(Group group) {
  if (group != Group::notes) return Report::open_group(group);
  std::printf("\nThe shapes of the notes, their inputs 0.1*N(0,1): pass at max diff <= %g\n", NOTES_TOLERANCE);
  std::printf("%-16s causal  latency (us)  vs PyTorch  max diff   status  checked\n", "shape");
}

void ForwardReport::close_group(Group group) {
  if (group != Group::notes) return;
  print_resources({1, 8, 512, 64});
  print_resources({2, 8, 2048, 128});
}

// A tile that no case uses would be a kernel that nothing tests.
void ForwardReport::after_groups() {
  const std::vector<std::string> missing = left_out(stage(), ran_);
  std::set<int> tiles;
  for (const TileUse& use : ran_) tiles.insert(use.tile);
  std::printf("\nThe launcher's tiles: %zu of %d ran, %s\n", tiles.size(), stage().tiles,
              missing.empty() ? "each on whole and on ragged lengths, causal and not where it is chosen" : "not all");
  for (const std::string& line : missing) print_red("  RED " + line);
  failed_ += missing.size();
}

std::string ForwardReport::summary() const {
  const auto kib = [](const Shape& shape) { return double(stage().plan(shape).smem()) / 1024; };
  std::string groups;
  for (const auto& [group, word] : {std::pair{Group::families, "families"},
                                    {Group::ragged, "ragged"},
                                    {Group::scales, "scales"},
                                    {Group::amplitudes, "amplitudes"},
                                    {Group::special, "NaN and infinities"},
                                    {Group::far, "far"},
                                    {Group::tiles, "tiles"},
                                    {Group::overlap, "overlapping"}})
    if (seen_[std::size_t(group)])
      groups += format(", %s %zu/%zu", word, green_[std::size_t(group)], seen_[std::size_t(group)]);
  return format("%s %s: %zu/%zu shapes, max diff %.6f, smem %.1f KiB (d=64) %.1f KiB (d=128)%s", stage().name,
                backend_name(), green_[0], seen_[0], notes_max_diff_, kib({1, 8, 512, 64}), kib({2, 8, 2048, 128}),
                groups.c_str());
}

}  // namespace lab
