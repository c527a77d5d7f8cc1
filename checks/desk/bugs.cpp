// desk reproduce, check-harness, racecheck, broken-version: builds run, and what their exit statuses mean together.
#include "checks/desk/ladder.hpp"
#include "checks/desk/runs.hpp"

namespace lab::desk {
namespace {

const std::string RULE(88, '-');
// The exit statuses of `lab fingerprint`: as this build must show it, not so, or hidden on a GPU, whose schedule is
// not chosen.
constexpr int FINGERPRINT_RIGHT = 0, FINGERPRINT_ABSENT = 1, FINGERPRINT_HIDDEN = 3;

// "STAGE:BUG=LAB" or "STAGE:BUG=LAB=LAB".
struct Entry {
  const Bug* bug;
  std::vector<std::string> labs;
};

// Of the words from the `first` on, each with so many labs.
std::vector<Entry> entries_of(const Ladder& ladder, const Args& args, std::size_t first, std::size_t labs) {
  std::vector<Entry> entries;
  for (const std::string& word : std::span(args).subspan(first)) {
    const std::vector<std::string> parts = split(word, "=");
    const std::size_t colon = parts[0].find(':');
    if (parts.size() != labs + 1 || colon == word.npos) throw BadInput("'" + word + "' is no STAGE:BUG=LAB");
    const Bug* bug = ladder.bugs(parts[0].substr(0, colon), parts[0].substr(colon + 1)).at(0);
    entries.push_back({bug, {parts.begin() + 1, parts.end()}});
  }
  return entries;
}

// A GPU that cannot run the stage hides all of its bugs.
bool cannot_run(const std::string& lab) {
  return lab.starts_with("build/gpu/") && run({lab, "once", "1", "1", "1", "64"}, "build/logs/once.log").status != 0;
}

}  // namespace

Shown judge_fingerprints(int planted, int fixed) {
  if (planted == FINGERPRINT_HIDDEN && fixed != FINGERPRINT_ABSENT) return Shown::hidden;
  return planted == FINGERPRINT_RIGHT && (fixed == FINGERPRINT_RIGHT || fixed == FINGERPRINT_HIDDEN) ? Shown::yes
                                                                                                     : Shown::no;
}

Colour judge_acceptance(int status, bool right, bool may_hide, bool says_skipped) {
  if (status == STAGE_SKIPPED && says_skipped) return Colour::skipped;
  if (status == 0 && may_hide) return Colour::hidden;
  return status == (right ? 0 : 1) ? Colour::as_it_must : Colour::wrong;
}

Colour judge_unseen(int acceptance, int racecheck) {
  return acceptance == 0 && racecheck == 1 ? Colour::as_it_must : Colour::wrong;
}

int reproduce_command(const Args& args) {
  const Ladder ladder = read_ladder();
  Counts counts;
  const std::vector<Entry> entries = entries_of(ladder, args, 1, 2);
  struct Looks {
    const Entry* entry;
    LabRun planted, fixed;
  };
  const auto look = [](const Entry& entry) {
    const std::string& name = entry.bug->name;
    return Looks{&entry, run_lab({entry.labs[0], "fingerprint", name}), run_lab({entry.labs[1], "fingerprint", name})};
  };
  side_by_side(at_once(args), entries, look, [&](const Looks& looks) {
    const Entry& entry = *looks.entry;
    const char* name = entry.bug->name.c_str();
    std::printf("%s\n%s%s", RULE.c_str(), looks.planted.out.c_str(), looks.fixed.out.c_str());
    const int planted = looks.planted.status, fixed = looks.fixed.status;
    switch (judge_fingerprints(planted, fixed)) {
      case Shown::hidden:
        ++counts.skipped;
        std::printf("  RESULT:    %s; backend=cpu shows it\n", fixed == FINGERPRINT_HIDDEN && cannot_run(entry.labs[1])
                                                                   ? "skipped: this GPU cannot run the stage"
                                                                   : "hidden on this GPU");
        break;
      case Shown::yes:
        ++counts.passed;
        std::printf("  RESULT:    %s\n", !entry.bug->harmless.empty()
                                             ? "no bug: with it or without it, nothing is wrong"
                                             : "reproduced, and gone in the fixed build");
        break;
      case Shown::no:
        ++counts.failed;
        std::printf("  RESULT:    NOT as predicted\n");
    }
    const std::string stage = args[0].empty() ? ladder.stage(entry.bug->stage)->short_name() : args[0];
    std::printf("  again:     make stage=%s reproduce-bug bug=%s\n", stage.c_str(), name);
    std::printf("  read:      writeups/bugs/%s.md\n", name);
    std::fflush(stdout);
  });
  std::printf("%s\n", RULE.c_str());
  return told(counts);
}

int check_harness_command(const Args& args) {
  const Ladder ladder = read_ladder();
  Counts counts;
  const std::vector<Entry> entries = entries_of(ladder, args, 0, 1);
  struct Tested {
    const Entry* entry;
    std::string log;
    Verdict verdict;
    int status, racecheck;  // racecheck: of a bug that no answer shows, else 0
  };
  const auto unseen = [](const Entry& entry) {
    return !entry.bug->unseen.empty() && !entry.labs[0].starts_with("build/gpu/");
  };
  const auto test = [&](const Entry& entry) {
    const std::string log = "build/logs/check-harness-" + entry.bug->stage + "-" + entry.bug->name + ".log";
    // A build that must be green gains nothing from stopping at the first red case: forty cases stand for all.
    const int status =
        run(judged({entry.labs[0], "test", unseen(entry) || entry.bug->right() ? "cheapest=40" : "quick=1"}, log), log)
            .status;
    const Verdict verdict = verdict_beside(log);
    if (status != 0 || !unseen(entry)) return Tested{&entry, log, verdict, status, 0};
    return Tested{&entry, log, verdict, status, run({entry.labs[0], "racecheck", "short=1"}, log).status};
  };
  side_by_side(at_once(args), entries, test, [&](const Tested& tested) {
    const auto& [of, log, verdict, status, racecheck] = tested;
    const Entry& entry = *of;
    const Bug& bug = *entry.bug;
    const std::string skipped = verdict.first("skipped");
    std::printf("%-20s %-22s ", bug.stage.c_str(), bug.name.c_str());
    const char* wanted = unseen(entry) ? "green, and the race check red" : bug.right() ? "green" : "red";
    const bool may_hide = !bug.lucky.empty() && entry.labs[0].starts_with("build/gpu/");
    switch (unseen(entry) ? judge_unseen(status, racecheck)
                          : judge_acceptance(status, bug.right(), may_hide, !skipped.empty())) {
      case Colour::skipped:
        ++counts.skipped;
        std::printf("%s\n", skipped.c_str());
        break;
      case Colour::hidden:
        std::printf("green: this GPU hides it; not counted; make backend=cpu check-harness shows it\n");
        break;
      case Colour::as_it_must:
        ++counts.passed;
        std::printf("%s, as it must be  %s\n", wanted, clipped(verdict.first("red"), 100).c_str());
        break;
      case Colour::wrong:
        ++counts.failed;
        std::printf("exit %d%s, but it must be %s: see %s\n", status,
                    unseen(entry) ? (", race check " + std::to_string(racecheck)).c_str() : "", wanted, log.c_str());
    }
    std::fflush(stdout);
  });
  return told(counts);
}

int racecheck_command(const Args& args) {
  const bool is_short = args[0] == "short=1";
  const Args labs(args.begin() + is_short, args.end());
  Counts counts;  // failed: builds with findings
  side_by_side(
      labs,
      [&](const std::string& lab) {
        return is_short ? run_lab({lab, "racecheck", "short=1"}) : run_lab({lab, "racecheck"});
      },
      [&](const LabRun& looked) {
        std::fputs(looked.out.c_str(), stdout);
        if (const std::string remark = looked.verdict.last("remark"); !remark.empty()) record("remark", remark);
        std::fflush(stdout);
        counts.add(looked.status == 0);
      });
  return labs.size() > 1 ? told(counts) : counts.status();
}

int broken_version_command(const Args& args) {
  const Ladder ladder = read_ladder();
  Counts counts;  // failed: the acceptance was red
  for (const Entry& entry : entries_of(ladder, args, 1, 1)) {
    std::printf("=== %s is %s with the bug %s\n", args[0].c_str(), entry.bug->stage.c_str(), entry.bug->name.c_str());
    const int status = run({entry.labs[0], "test", "quick=1"}).status;
    if (status == 0 && !entry.bug->unseen.empty())
      std::printf("No answer shows it on the CPU: make stage=%s racecheck bug=%s does.\n", args[0].c_str(),
                  entry.bug->name.c_str());
    ++(status == 0 ? counts.passed : status == STAGE_SKIPPED ? counts.skipped : counts.failed);
  }
  if (!ladder.stage(args[0])) std::printf("%s never worked.\n", args[0].c_str());
  std::printf("%d of %d planted changes turn the acceptance red. To see why: make stage=%s reproduce-bug\n",
              counts.failed, counts.passed + counts.failed, args[0].c_str());
  return told(counts);
}

}  // namespace lab::desk
