// reproduce, check-harness, racecheck: each bug's kernel in a process of its own, and what the exit statuses mean together.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "checks/acceptance/format.hpp"
#include "checks/bugs/patch.hpp"
#include "checks/bugs/reproduce.hpp"
#include "checks/runner/commands.hpp"
#include "checks/runner/forked.hpp"
#include "common/backend.hpp"
#include "common/stage_names.hpp"

namespace lab {
namespace {

namespace fs = std::filesystem;

// A build with a bug, build/BACKEND/STAGE/bug-BUG/kernel.so, and the right kernel beside it.
struct Planted {
  std::string kernel, stage, bug;
  PatchHead head;
  explicit Planted(const std::string& path) : kernel(path) {
    const fs::path variant = fs::path(path).parent_path();
    const std::string name = variant.filename();
    if (!name.starts_with("bug-")) throw BadInput("'" + path + "' is no build with a bug");
    stage = variant.parent_path().filename(), bug = name.substr(4);
    head = read_patch_head(stage, bug);
  }
  std::string right() const {
    const char* const variant = can_schedule() ? "checked" : "fixed";
    return (fs::path(kernel).parent_path().parent_path() / variant / "kernel.so").string();
  }
  bool harmless() const { return head.contains("harmless"); }
  bool is_right() const { return harmless() || head.contains("slow"); }  // the output is, whatever else shows
  bool unseen() const { return head.contains("unseen") && can_schedule(); }
};

std::vector<Planted> planted(std::span<char*> kernels) {
  std::vector<Planted> all;
  for (const char* kernel : kernels) all.emplace_back(kernel);
  return all;
}

struct Counts {
  int passed = 0, failed = 0, skipped = 0;
  int told(const std::string& what = "") const {
    std::printf("%d passed, %d failed%s%s\n", passed, failed, skipped ? format(", %d skipped", skipped).c_str() : "",
                what.empty() ? "" : (": " + what).c_str());
    return failed == 0 && passed + skipped > 0 ? 0 : 1;
  }
};

}  // namespace

Shown judge_signatures(int planted, int fixed) {
  if (planted == SIGNATURE_HIDDEN && fixed != SIGNATURE_ABSENT) return Shown::hidden;
  return planted == SIGNATURE_RIGHT && (fixed == SIGNATURE_RIGHT || fixed == SIGNATURE_HIDDEN) ? Shown::yes : Shown::no;
}

Colour judge_acceptance(int status, bool right, bool may_hide, bool says_skipped) {
  if (status == STAGE_SKIPPED && says_skipped) return Colour::skipped;
  if (status == 0 && may_hide) return Colour::hidden;
  return status == (right ? 0 : 1) ? Colour::as_it_must : Colour::wrong;
}

// reproduce NAME KERNEL...: NAME is what the user calls the stage, or a version of the notes.
int reproduce_command(std::span<char*> args) {
  if (args.size() < 2) throw BadInput("usage: reproduce NAME build/BACKEND/STAGE/bug-BUG/kernel.so...");
  const std::string name = args[0], rule(88, '-');
  const std::vector<Planted> bugs = planted(args.subspan(1));
  // v2c4 of the notes has no directory: it is a stage with a bug.
  const bool is_a_version = name != bugs[0].stage && name != short_stage_name(bugs[0].stage);
  Counts counts;
  Forked before;
  const auto job = [&](std::size_t i) {
    const Planted& bug = bugs[i / 2];
    return run({i % 2 ? bug.right() : bug.kernel, "signature", bug.bug});
  };
  each_forked(2 * bugs.size(), job, [&](std::size_t i, const Forked& seen) {
    if (i % 2 == 0) return void(before = seen);
    const Planted& bug = bugs[i / 2];
    const Shown shown = judge_signatures(before.status, seen.status);
    std::string result = "NOT as predicted";
    if (shown == Shown::yes)
      result = bug.harmless() ? "no bug: with it or without it, nothing is wrong"
                              : "reproduced, and gone in the fixed build";
    if (shown == Shown::hidden)
      result = seen.verdict.first("skipped").empty() ? "hidden on this GPU; backend=cpu shows it"
                                                     : "skipped: this GPU cannot run the stage; backend=cpu shows it";
    ++(shown == Shown::no ? counts.failed : shown == Shown::yes ? counts.passed : counts.skipped);
    // Of several bugs the result comes first, then one thing that was predicted; the others, and the fixed build, are left to bug=.
    std::string text = before.text;
    const std::size_t head = bugs.size() == 1 ? text.npos : text.find('\n', text.find("\n  predicted: ") + 1);
    const bool brief = head != text.npos && shown == Shown::yes;
    constexpr std::string_view PART = "\n  expected:";
    if (brief) text.resize(std::min(text.size() - 1, text.find(PART, text.find(PART) + 1)) + 1);
    text = brief ? text.insert(head + 1, "  RESULT:    " + result + "\n")
                 : text + seen.text + "  RESULT:    " + result + "\n";
    std::printf("%s\n%s%s", rule.c_str(), is_a_version ? (name + ": ").c_str() : "", text.c_str());
    std::printf("  %s make stage=%s reproduce-bug bug=%s; read writeups/bugs/%s.md\n",
                brief ? "more:     " : "again:    ", name.c_str(), bug.bug.c_str(), bug.bug.c_str());
    std::fflush(stdout);
  });
  std::printf("%s\n", rule.c_str());
  // Passed: a bug that shows, which is no kernel that works.
  const std::string all = bugs.size() == 1 ? "the planted bug of " + name + " shows"
                                           : format(bugs.size() == 2 ? "both" : "all %zu", bugs.size()) +
                                                 " planted bugs of " + name + " show";
  const std::string text = counts.failed ? format("%d of the %zu planted bugs of ", counts.failed, bugs.size()) + name +
                                               " did not show as predicted"
                           : counts.skipped ? "the other planted bugs of " + name + " show as predicted"
                                            : all + " as predicted, and not in the fixed build";
  return counts.told(text);
}

constexpr int NOT_GREEN = 100;  // and the acceptance's status, of one that must be

// check-harness KERNEL...: the acceptance must be red on each.
int check_harness_command(std::span<char*> args) {
  const std::vector<Planted> bugs = planted(args);
  fs::create_directories("build/logs");
  Counts counts;
  const auto job = [&](std::size_t i) {
    const Planted& bug = bugs[i];
    // A build that must be green gains nothing from stopping at the first red case: forty cases stand for all.
    const int status = run({bug.kernel, "test", bug.unseen() || bug.is_right() ? "cheapest=40" : "quick=1"});
    if (!bug.unseen()) return status;
    // The acceptance must be green, and the race check red.
    return status == 0 ? run({bug.kernel, "racecheck", "short=1"}) : NOT_GREEN + status;
  };
  each_forked(bugs.size(), job, [&](std::size_t i, const Forked& tested) {
    const Planted& bug = bugs[i];
    const std::string log = "build/logs/check-harness-" + bug.stage + "-" + bug.bug + ".log",
                      skipped = tested.verdict.first("skipped");
    if (std::FILE* const file = std::fopen(log.c_str(), "w")) std::fputs(tested.text.c_str(), file), std::fclose(file);
    std::printf("%-20s %-22s ", bug.stage.c_str(), bug.bug.c_str());
    const char* wanted = bug.unseen() ? "green, and the race check red" : bug.is_right() ? "green" : "red";
    switch (judge_acceptance(tested.status, bug.is_right(), bug.head.contains("lucky") && !can_schedule(),
                             !skipped.empty())) {
      case Colour::skipped:
        ++counts.skipped;
        std::printf("%s\n", skipped.c_str());
        break;
      case Colour::hidden:
        std::printf("green: this GPU hides it; not counted; make backend=cpu check-harness shows it\n");
        break;
      case Colour::as_it_must:
        ++counts.passed;
        std::printf("%s, as it must be  %s\n", wanted, tested.verdict.first("red").substr(0, 100).c_str());
        break;
      case Colour::wrong:
        ++counts.failed;
        std::printf("exit %d, but it must be %s: see %s\n", tested.status, wanted, log.c_str());
    }
    std::fflush(stdout);
  });
  return counts.told();
}

// racecheck [short=1] KERNEL...: each race check; status 1 where there are findings.
int racechecks_command(std::span<char*> args) {
  const bool is_short = !args.empty() && std::string_view(args[0]) == "short=1";
  const std::span<char*> kernels = args.subspan(is_short);
  const auto job = [&](std::size_t i) { return run({kernels[i], "racecheck", is_short ? "short=1" : "short=0"}); };
  if (kernels.size() == 1) return job(0);
  Counts counts;  // failed: builds with findings
  each_forked(kernels.size(), job, [&](std::size_t, const Forked& looked) {
    std::fputs(looked.text.c_str(), stdout), std::fflush(stdout);
    ++(looked.status == 0 ? counts.passed : counts.failed);
  });
  return counts.told();
}

}  // namespace lab
