// check-exercises: what is handed out is red, and gives nothing away; what solves it is green; the reference's prediction holds, and
// near misses do not.
#include "checks/exercises/learn/exercise.hpp"

namespace lab::desk {
namespace {

constexpr int FIRST = 1;  // the exercise that `make test` runs from end to end

bool has_kernel(const Exercise& e) { return e.handed_in() == "kernel.cu"; }

// Whether an exercise asks what can depend on how its kernel was compiled: counts, lines. Exercises' kernels are compiled for haste
// (build.mk), and one is proven as learners have it in any case.
bool needs_own_build(const Exercise& e) {
  return e.kind != "fix" || !e.limits.empty() || e.predict == "lines" || e.predict == "counts" || e.n == FIRST;
}

// What is proven, and what of it must be built first: many exercises share a kernel.
class Proofs {
 public:
  explicit Proofs(const Course& course) : course_(course) {
    for (const Exercise& e : course.all)
      if (needs_own_build(e) && e.predict != "lines") own_.insert(e.stage);
  }

  void text(const Exercise& e) {
    add(e, "gives nothing away", [&] { return bad_text(e); });
  }

  void work(const Exercise& e, const std::string& make, bool quick) {
    if (has_kernel(e)) {
      const std::string given = word_of(e, handed_out(e), "-given"), solved = word_of(e, solution(e), "-solved");
      build(e, handed_out(e), given), build(e, solution(e), solved);
      add(e, "red as handed out", [=, this, &e] { return not_red(e, given); });
      // A stage's kernel solves all of its exercises: what they all ask is asked once.
      const bool first = solved_.insert(e.stage + "/" + solved).second;
      add(e, "its solution passes", [=, this, &e] {
        const Outcome o = check(e, solution(e), solved, {.own_only = !first});
        return o.passed() ? "" : "its solution is red: " + o.step + ": " + o.says;
      });
      int parts = 0;
      for (const std::string& partly : e.partly) {
        const Half half = half_solution(e, partly);
        const std::string word = e.number() + "-half-" + std::to_string(++parts);
        build(e, half.source, word);
        add(e, "half a solution is refused", [=, this, &e] { return not_refused(e, half, word); });
      }
    } else if (e.kind == "test") {
      add(e, "red as handed out, and its solution passes", [&e, make]() -> std::string {
        if (check_cases(e, make, handed_out(e)).passed()) return "passes as it is handed out";
        return check_cases(e, make, solution(e)).says;
      });
    } else {
      build(e, solution(e), "solved");
    }
    if (e.predict == "none") return;
    predicts(e, e.right, true);
    for (const std::string& near : e.near)
      if (!quick || near == e.near[0]) predicts(e, near, false);
  }

  // Returns what passed and failed. All is built at once: one make shares its jobs better than many.
  Counts prove(const std::string& make, bool whole) const {
    Counts counts;
    if (!built_.empty() && run(with({make, "backend=cpu", "-s", "-k"}, built_), "build/logs/learn-all.log").status != 0)
      ++counts.failed, std::printf("not all builds: see build/logs/learn-all.log\n");
    const auto proven = [](const Proof& proof) {
      const Stopwatch watch;
      std::string wrong;
      try {
        wrong = proof.second();
      } catch (const BadInput& e) {
        wrong = e.what();
      }
      return std::tuple(proof.first, watch.seconds(), wrong);
    };
    side_by_side(whole ? cores() : 1, proofs_, proven, [&](const auto& proof) {
      const auto& [what, seconds, wrong] = proof;
      counts.add(wrong.empty());
      if (wrong.empty() && !whole) return;
      std::printf("%-76s %5.1f s  %s\n", what.c_str(), seconds, wrong.empty() ? "good" : wrong.c_str());
      std::fflush(stdout);
    });
    return counts;
  }

 private:
  using Proof = std::pair<std::string, std::function<std::string()>>;  // what; "" if it holds

  void add(const Exercise& e, const std::string& what, std::function<std::string()> wrong) {
    proofs_.emplace_back(e.number() + " " + e.name + ": " + what, std::move(wrong));
  }
  void build(const Exercise& e, const std::string& source, const std::string& word) {
    if (!words_.insert(e.stage + "/" + word).second) return;
    if (shown(e, word) != e.kernel()) write_if_changed(shown(e, word), source);
    place_source(e.stage, source, word, shown(e, word));
    built_.push_back(built_path(e.stage, word));
  }
  void predicts(const Exercise& e, const std::string& prediction, bool right) {
    const std::string word = e.kind == "predict"  ? "solved"
                             : needs_own_build(e) ? e.number() + "-given"
                                                  : "bug-" + e.bug;
    add(e, right ? "the reference's prediction holds" : "a near miss is refused", [=, &e]() -> std::string {
      const Prediction p = judge_prediction(e, "", as_typed(e, prediction), word);
      return p.holds == right ? "" : "'" + prediction + "' is " + (right ? "refused: " : "accepted: ") + p.says;
    });
  }

  // A stage's kernel, which most solutions are, is built once; where no exercise of the stage needs more, it is the lab's own, and what
  // a `fix` hands out is the bug's own (bad_text says that they are the same to a compiler).
  std::string word_of(const Exercise& e, const std::string& source, const std::string& otherwise) const {
    if (source == (e.is_drill() ? solution(e) : read_text(e.kernel())))
      return own_.contains(e.stage) ? "solved" : "checked";
    return needs_own_build(e) || otherwise != "-given" ? e.number() + otherwise : "bug-" + e.bug;
  }
  // What reports name of it.
  static std::string shown(const Exercise& e, const std::string& word) {
    return word == "checked" || word.starts_with("bug-") ? e.kernel() : built_dir(e.stage, word) + "/kernel.cu";
  }
  static Outcome check(const Exercise& e, const std::string& source, const std::string& word, Depth depth = {}) {
    depth.built = true;
    return check_work(e, "", source, word, shown(e, word), depth);
  }

  // Red, and by a check: not because it does not compile. Of one exercise also as `make try` shows it, with a place.
  static std::string not_red(const Exercise& e, const std::string& word) {
    const Outcome o = check(e, handed_out(e), word);
    if (o.passed()) return "passes as it is handed out";
    if (o.good < 3) return "is red before anything runs: " + o.step + ": " + o.says;
    if (e.n != FIRST) return "";
    const Outcome shown = check(e, handed_out(e), word, {.explain = true});
    const bool placed = shown.whole.find("the first is (b,h,row,col) = (") != std::string::npos;
    return shown.step == CARDS_CASE && placed ? "" : "make try names no element: " + shown.step + ": " + shown.whole;
  }
  // A near miss is red, in the step that is to see it. Where that is a bound, nothing else need be asked.
  static std::string not_refused(const Exercise& e, const Half& half, const std::string& word) {
    const Outcome o = check(e, half.source, word, {.own_only = half.step == WITHIN_BOUNDS});
    if (o.passed()) return "half a solution gets through";
    const bool told = o.step == half.step && (o.says + o.whole).find(half.says) != std::string::npos;
    return told ? "" : "is refused, but not by '" + half.step + "' (" + half.says + "): " + o.step + ": " + o.says;
  }
  std::string bad_text(const Exercise& e) const {
    if (const std::string found = leak(e); !found.empty()) return found;
    const auto code = [](const std::string& text) { return words_of(without_comments(text)); };
    if (e.kind == "fix" && code(handed_out(e)) != code(planted_text(e.beside(".patch"), "", true)))
      return "what is handed out is not the kernel of bug=" + e.bug;
    for (const std::string& prediction : e.near) as_typed(e, prediction);
    if (!e.right.empty()) as_typed(e, e.right);
    for (const std::string& partly : e.partly) half_solution(e, partly);
    for (const std::string& word : e.after) {  // pages, stages by their short names, exercises
      bool known = std::ranges::any_of(course_.all, [&](const Exercise& one) {
        return as_word(one.name) == word ||
               (!one.is_drill() && (one.stage == word || one.stage.starts_with(word + "_")));
      });
      for (const char* folder : {"writeups/", "writeups/stages/", "writeups/bugs/"})
        known = known || fs::exists(folder + word + ".md");
      if (!known) return e.path + ": after: " + word + " is no page and no exercise";
    }
    return "";
  }

  const Course& course_;
  std::set<std::string> own_, words_, solved_;
  std::vector<Proof> proofs_;
  Argv built_;
};

}  // namespace

// check-exercises MAKE text|quick|whole [N]
int check_exercises_command(const Args& args) {
  const std::string &make = args[0], &much = args[1];
  if (much != "quick" && much != "whole" && much != "text")
    throw BadInput("check-exercises " + much + ": must be text, quick or whole");
  const Course course = read_course();
  const int only = args.size() == 3 ? course.find(args[2]).n : much == "quick" ? FIRST : 0;
  Proofs proofs(course);
  for (const Exercise& e : course.all) proofs.text(e);
  for (const Exercise& e : course.all)
    if (much != "text" && (only == 0 || e.n == only)) proofs.work(e, make, much == "quick");
  const Counts counts = proofs.prove(make, much == "whole");
  std::printf("%zu exercises: all read, %s run as handed out and solved\n", course.all.size(),
              much == "text" ? "none"
              : only         ? ("number " + std::to_string(only)).c_str()
                             : "each");
  return told(counts);
}

}  // namespace lab::desk
