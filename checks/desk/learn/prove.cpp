// desk-work check-exercises: the exercises themselves. What is handed out is the bug's kernel and no more, gives
// nothing away and is red; what solves it is green; the reference's prediction holds and near misses do not.
#include "checks/desk/learn/learn.hpp"

namespace lab::desk {
namespace {

constexpr int FIRST = 1;  // the exercise that `make test` runs from end to end

// One thing to be proven, once everything is built.
struct Proof {
  std::string what;
  std::function<std::string()> wrong;  // "" if it holds
};

struct Proven {
  std::string what, wrong;
  double seconds = 0;
};

// Whether what is handed out is, to a compiler, the kernel of the bug's own build: what `make reproduce-bug` and `make
// check-harness` have shown of that holds for this.
std::string not_the_bugs_kernel(const Exercise& e) {
  const auto code = [](const std::string& text) { return words_of(without_comments(text)); };
  return code(handed_out(e)) == code(patched_text(patch_path(e.stage, e.bug)))
             ? ""
             : "what is handed out is not the kernel of bug=" + e.bug;
}

// Pages, stages by either name, exercises.
std::string unknown_page(const Exercise& e, const Course& course) {
  const Ladder ladder = read_ladder();
  for (const std::string& word : e.after) {
    const bool page = fs::exists("writeups/" + word + ".md") || fs::exists("writeups/stages/" + word + ".md") ||
                      fs::exists("writeups/bugs/" + word + ".md") || ladder.stage(word);
    if (!page && std::ranges::none_of(course.all, [&](const Exercise& one) { return as_word(one.name) == word; }))
      return e.path + ": after: " + word + " is no page and no exercise";
  }
  return "";
}

// What reports name of a source that is laid out for a build.
std::string shown_of(const Exercise& e, const std::string& word) {
  return (is_the_labs(word) ? "stages/" + e.stage : learner_dir(e.stage, word)) + "/kernel.cu";
}

// A source laid out for a build: as what reports name, and for the compiler.
class Sources {
 public:
  void add(const Exercise& e, const std::string& source, const std::string& word) {
    if (!seen_.insert(e.stage + "/" + word).second) return;
    const std::string shown = shown_of(e, word);
    if (!is_the_labs(word)) {
      write_if_changed(shown, source);
      place_source(e.stage, source, word, shown);
    }
    learners_.push_back(learner_path(e.stage, word));
  }
  // All at once: one make shares its jobs better than many.
  bool build(const std::string& make) const {
    const Argv argv = with({make, "backend=cpu", "-s", "-k"}, learners_);
    return learners_.empty() || run(argv, "build/logs/learn-all.log").status == 0;
  }

 private:
  std::set<std::string> seen_;
  std::vector<std::string> learners_;
};

// Of what has been built under that word.
Outcome check_built(const Exercise& e, const std::string& source, const std::string& word, Depth depth = {}) {
  depth.built = true;
  return check_work(e, "", source, word, shown_of(e, word), depth);
}

// Whether an exercise asks what can depend on how its kernel was compiled: counts, lines. Exercises' kernels are compiled for haste
// (build.mk), and one is proven as learners have it in any case.
bool needs_own_build(const Exercise& e) {
  return e.kind != "fix" || !e.limits.empty() || e.predict == "lines" || e.predict == "counts" || e.n == FIRST;
}

// Where a source is built. A stage's kernel, which most solutions are, and some of what is handed out, is built once; where no
// exercise of the stage needs more, it is the lab's own, and what a `fix` hands out is the bug's own (not_the_bugs_kernel).
std::string word_of(const Exercise& e, const std::string& source, const std::string& otherwise) {
  static const std::set<std::string> own = [] {
    std::set<std::string> stages;
    for (const Exercise& one : read_course().all)
      if (needs_own_build(one) && one.predict != "lines") stages.insert(one.stage);
    return stages;
  }();
  const std::string stages = e.is_drill() ? solution(e) : read_text(kernel_path(e.stage));
  if (source == stages) return own.contains(e.stage) ? "solved" : "checked";
  return needs_own_build(e) || otherwise != "-given" ? e.number() + otherwise : "bug-" + e.bug;
}
std::string given_word(const Exercise& e) { return word_of(e, handed_out(e), "-given"); }
std::string solution_word(const Exercise& e) { return word_of(e, solution(e), "-solved"); }

// Red, and by a check: not because it does not compile.
std::string not_red(const Exercise& e) {
  const Outcome o = check_built(e, handed_out(e), given_word(e));
  if (o.passed()) return "passes as it is handed out";
  return o.passed_steps.size() < 3 ? "is red before anything runs: " + o.step + ": " + o.says : "";
}

// What `make try` shows of it: first the case that its card tells of, with a place.
std::string not_explained(const Exercise& e) {
  const Outcome o = check_built(e, handed_out(e), given_word(e), {.explain = true});
  if (o.step != CARDS_CASE) return "the first that is red is not " + std::string(CARDS_CASE) + ": " + o.step;
  const bool placed = o.whole.find("the first is (b,h,row,col) = (") != o.whole.npos;
  return placed ? "" : "the diagnosis names no element: " + o.whole;
}

// A near miss is red, in the step that is to see it. Where that is a bound, nothing else need be asked.
std::string not_refused(const Exercise& e, const Half& half, const std::string& word) {
  const Outcome o = check_built(e, half.source, word, {.own_only = half.step == WITHIN_BOUNDS});
  if (o.passed()) return "half a solution gets through";
  const bool told = o.step == half.step && (o.says + o.whole).find(half.says) != std::string::npos;
  return told ? "" : "is refused, but not by '" + half.step + "' (" + half.says + "): " + o.step + ": " + o.says;
}

// A stage's kernel solves all of its exercises: what they all ask is asked once, by the one with `all`.
std::string not_green(const Exercise& e, bool all) {
  const Outcome o = check_built(e, solution(e), solution_word(e), {.own_only = !all});
  return o.passed() ? "" : "its solution is red: " + o.step + ": " + o.says;
}

std::string prediction_says(const Exercise& e, const std::string& prediction, bool wanted) {
  const std::string word = e.kind == "predict" ? "solved" : needs_own_build(e) ? e.number() + "-given" : "bug-" + e.bug;
  const Prediction p = judge_prediction(e, "", as_typed(e, prediction), word);
  if (p.holds == wanted) return "";
  return "'" + prediction + "' is " + (wanted ? "refused: " : "accepted: ") + p.says;
}

bool has_kernel(const Exercise& e) { return e.handed_in() == "kernel.cu" && !e.stage.empty(); }

std::string bad_text(const Exercise& e, const Course& course) {
  const std::vector<std::string> found = leaks(e);
  if (!found.empty()) return found[0];
  if (e.kind == "fix")
    if (const std::string wrong = not_the_bugs_kernel(e); !wrong.empty()) return wrong;
  for (const std::string& prediction : e.near) as_typed(e, prediction);
  if (!e.right.empty()) as_typed(e, e.right);
  for (const std::string& partly : e.partly) half_solution(e, partly);
  return unknown_page(e, course);
}

}  // namespace

int check_exercises_command(const Args& args) {
  const std::string make = args[0], only = args.size() == 3 ? args[2] : "";
  if (args[1] != "quick" && args[1] != "whole" && args[1] != "text")
    throw BadInput("check-exercises " + args[1] + ": must be text, quick or whole");
  const bool built = args[1] == "whole";
  const Course course = read_course();
  const int only_n = only.empty() ? 0 : course.find(only).n;
  const auto is_meant = [&](const Exercise& e) {
    if (!only.empty()) return e.n == only_n;
    return e.n == FIRST || built;
  };
  Sources sources;
  std::set<std::string> solved;  // stages whose kernel goes through all checks
  std::vector<Proof> proofs;
  const auto prove = [&](const Exercise& e, const std::string& what, const std::function<std::string()>& wrong) {
    proofs.push_back({e.number() + " " + e.name + ": " + what, wrong});
  };
  for (const Exercise& e : course.all) prove(e, "gives nothing away", [&] { return bad_text(e, course); });
  for (const Exercise& e : course.all) {
    if (args[1] == "text" || !is_meant(e)) continue;
    if (has_kernel(e)) {
      sources.add(e, handed_out(e), given_word(e));
      const std::string right = solution_word(e);
      sources.add(e, solution(e), right);
      prove(e, "red as handed out", [&] {
        const std::string wrong = not_red(e);
        return wrong.empty() && e.n == FIRST ? not_explained(e) : wrong;
      });
      const bool first = solved.insert(e.stage + "/" + right).second;
      prove(e, "its solution passes", [&e, first] { return not_green(e, first); });
      int parts = 0;
      for (const std::string& partly : e.partly) {
        const Half half = half_solution(e, partly);
        const std::string word = e.number() + "-half-" + std::to_string(++parts);
        sources.add(e, half.source, word);
        prove(e, "half a solution is refused", [&e, half, word] { return not_refused(e, half, word); });
      }
    } else if (e.kind == "test") {
      prove(e, "red as handed out, and its solution passes", [&e, make]() -> std::string {
        if (check_work(e, make, handed_out(e), e.number(), e.file(), {}).passed()) return "passes as it is handed out";
        return check_work(e, make, solution(e), e.number(), e.file(), {}).says;
      });
    } else if (e.kind == "predict") {
      sources.add(e, solution(e), "solved");
    }
    if (e.predict == "none") continue;
    prove(e, "the reference's prediction holds", [&] { return prediction_says(e, e.right, true); });
    for (const std::string& near : e.near) {
      if (args[1] == "quick" && near != e.near[0]) continue;
      prove(e, "a near miss is refused", [&e, near] { return prediction_says(e, near, false); });
    }
  }
  Counts counts;
  if (!sources.build(make)) ++counts.failed, std::printf("not all builds: see build/logs/learn-all.log\n");
  side_by_side(
      built ? cores() : 1, proofs,
      [](const Proof& proof) {
        const Stopwatch watch;
        Proven proven{proof.what, "", 0};
        try {
          proven.wrong = proof.wrong();
        } catch (const BadInput& e) {
          proven.wrong = e.what();
        }
        proven.seconds = watch.seconds();
        return proven;
      },
      [&](const Proven& proven) {
        counts.add(proven.wrong.empty());
        if (proven.wrong.empty() && !built) return;
        std::printf("%-64s %5.1f s  %s\n", proven.what.c_str(), proven.seconds,
                    proven.wrong.empty() ? "good" : proven.wrong.c_str());
        std::fflush(stdout);
      });
  std::string done = "all read";
  if (!only.empty())
    done += ", one run";
  else if (built)
    done = "each was built and run, as handed out and solved";
  else if (args[1] == "quick")
    done += "; number 1 run";
  std::printf("%zu exercises: %s\n", course.all.size(), done.c_str());
  return told(counts);
}

}  // namespace lab::desk
