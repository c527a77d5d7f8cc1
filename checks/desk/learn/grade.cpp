// desk-work grade: a whole submission, with inputs and shapes not seen before.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "checks/desk/desk.hpp"
#include "checks/desk/learn/checks.hpp"
#include "checks/desk/learn/copied.hpp"
#include "checks/desk/learn/handout.hpp"
#include "checks/desk/learn/points.hpp"
#include "checks/desk/learn/prediction.hpp"
#include "checks/desk/learn/state.hpp"
#include "checks/desk/learn/variant.hpp"

namespace lab::desk {
namespace {

namespace fs = std::filesystem;

// Laid out, or anything done of it: then it counts, whether it was handed in or not.
bool is_begun(const Exercise& e, const Progress& p) {
  return fs::exists(e.dir()) || !p.attempts.empty() || p.hints > 0 || p.gave_up;
}

bool is_handed_in(const Exercise& e, const Progress& p) {
  if (e.handed_in().empty()) return !p.attempts.empty();
  return fs::exists(e.file()) && read_text(e.file()) != handed_out(e);
}

// Numbers or names, or a file of them; a comma is a blank.
std::vector<const Exercise*> assigned_in(const Course& course, const std::string& text) {
  std::string words = fs::is_regular_file(text) ? read_text(text) : text;
  std::ranges::replace(words, ',', ' ');
  std::vector<const Exercise*> all;
  for (const std::string& word : words_of(words)) {
    const Exercise* e = &course.find(word);
    if (std::ranges::find(all, e) == all.end()) all.push_back(e);
  }
  if (all.empty()) throw BadInput("assigned=" + text + " names no exercise");
  return all;
}

// "2 of 3": the second attempt was right.
std::string attempts_of(const Progress& p) {
  if (p.attempts.empty()) return "none";
  const std::string all = std::to_string(p.attempts.size());
  const auto right = std::ranges::find_if(p.attempts, [](const Attempt& a) { return a.right; });
  if (right == p.attempts.end()) return "0 of " + all + " right";
  const std::string nth = std::to_string(right - p.attempts.begin() + 1);
  // "late": made when the kernel had passed, or its solution was shown.
  return (right->late ? "late, " : "") + nth + " of " + all;
}

// The state says what was predicted; whether it is right is found out again.
bool predicts_again(const Exercise& e, const std::string& make, const std::string& say) {
  if (say.empty()) return false;
  try {
    return judge_prediction(e, make, say).holds;
  } catch (const BadInput&) {
    return false;
  }
}

}  // namespace

int assigned_command(const Args& args) {
  std::vector<std::string> numbers;
  const Course course = read_course();
  for (const Exercise* e : assigned_in(course, args[0])) numbers.push_back(e->number());
  std::printf("%s\n", joined(numbers, " ").c_str());
  return 0;
}

int grade_command(const Args& args) {
  const std::string &make = args[0], &json = args[1];
  const std::uint64_t seed = seed_of(args[2]);
  // The grader's own copy: what a student hands in as his own variant is not asked.
  if (!args[4].empty() && !fs::exists(args[4])) throw BadInput("variant=" + args[4] + ": there is no such file");
  const Course course = varied_course(args[4].empty() ? "work/variant" : args[4]);
  const State state;
  if (!state.trouble.empty()) std::fprintf(stderr, "%s\n", state.trouble.c_str());
  std::vector<const Exercise*> asked;
  if (!args[3].empty()) asked = assigned_in(course, args[3]);
  for (const Exercise& e : course.all)
    if (args[3].empty() && is_begun(e, state.seen(e.number()))) asked.push_back(&e);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Graded> all;
  for (const Exercise* one : asked) {
    const Exercise& e = *one;
    const Progress& p = state.seen(e.number());
    Graded g{e.number(), e.name, e.kind, false, "not handed in", "", e.predict != "none", false, p.hints};
    g.attempts = attempts_of(p), g.gpu = joined(lines_of(e.gpu), " ");
    g.tries = p.tries, g.gave_up = p.gave_up;
    g.answers = answers_in(e, fs::exists(answers_file(e)) ? read_text(answers_file(e)) : "");
    const bool in_time = !p.attempts.empty() && !p.attempts[0].late;
    g.predicted = g.predicts && in_time && predicts_again(e, make, p.attempts[0].say);
    if (is_handed_in(e, p)) {
      std::fprintf(stderr, "grading %s ...\n", e.number().c_str());
      if (e.handed_in().empty()) {
        g.passed = g.predicted || predicts_again(e, make, p.prediction);
        g.step = "prediction", g.says = "it does not hold";
      } else {
        const std::string text = read_text(e.file());
        const Outcome outcome = check_work(e, make, text, e.number() + "-graded", e.file(), {true, seed});
        g.passed = outcome.passed, g.step = outcome.step, g.says = outcome.says;
        g.flags = copied_from(e, text);
      }
      if (p.gave_up) g.flags = "the solution was shown before it passed" + (g.flags.empty() ? "" : "; " + g.flags);
    } else {
      g.says = e.handed_in().empty() ? "nothing was predicted" : e.file() + " is missing, or as it was handed out";
    }
    all.push_back(g);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!json.empty()) write_text(json, gradescope_json(all, seed, seconds));
  if (all.empty()) {
    std::printf("nothing is begun: there is no exercise in work/\n");
    return 1;
  }
  std::printf("%sseed %llu, %.0f s\n%s", grades_table(all).c_str(), (unsigned long long)seed, seconds,
              answers_text(all).c_str());
  for (const Graded& g : all)
    if (!g.passed) return 1;
  return 0;
}

}  // namespace lab::desk
