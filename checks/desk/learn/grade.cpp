// desk-learn grade: all that was handed in, with inputs and shapes that nobody has seen before.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>

#include "checks/desk/learn/checks.hpp"
#include "checks/desk/learn/commands.hpp"
#include "checks/desk/learn/handout.hpp"
#include "checks/desk/learn/points.hpp"
#include "checks/desk/learn/prediction.hpp"
#include "checks/desk/learn/state.hpp"

namespace lab::desk {
namespace {

namespace fs = std::filesystem;

std::uint64_t seed_of(const std::string& text) {
  if (text.empty()) return std::random_device{}() % 1'000'000'000u;
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size())
    throw BadInput("seed=" + text + ": must be a whole number");
  return seed;
}

// Begun and not as it was handed out; or predicted.
bool is_handed_in(const Exercise& e, const Progress& p) {
  if (e.handed_in().empty()) return !p.prediction.empty();
  return fs::exists(e.file()) && read_text(e.file()) != handed_out(e);
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

int grade_command(const Args& args) {
  expect_args(args, 3, 3, "grade MAKE JSON SEED");
  const std::string &make = args[0], &json = args[1];
  const std::uint64_t seed = seed_of(args[2]);
  const Course course = read_course();
  const State state;
  if (!state.trouble.empty()) std::fprintf(stderr, "%s\n", state.trouble.c_str());
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Graded> all;
  for (const Exercise& e : course.all) {
    const Progress& p = state.seen(e.number());
    if (!is_handed_in(e, p)) continue;
    std::fprintf(stderr, "grading %s ...\n", e.number().c_str());
    Graded g{e.number(), e.name, e.kind, false, "", "", e.predict != "none", false, p.hints};
    g.predicted = g.predicts && predicts_again(e, make, p.prediction);
    if (e.handed_in().empty()) {
      g.passed = g.predicted;
      if (!g.passed) g.step = "prediction", g.says = "it does not hold";
    } else {
      const Outcome outcome = check_work(e, make, read_text(e.file()), e.number() + "-graded", e.file(), {true, seed});
      g.passed = outcome.passed, g.step = outcome.step, g.says = outcome.says;
    }
    all.push_back(g);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!json.empty()) write_text(json, gradescope_json(all, seed, seconds));
  if (all.empty()) {
    std::printf("nothing is handed in: no file below work/ differs from what was handed out\n");
    return 1;
  }
  std::printf("%sseed %llu, %.0f s\n", grades_table(all).c_str(), (unsigned long long)seed, seconds);
  for (const Graded& g : all)
    if (!g.passed) return 1;
  return 0;
}

}  // namespace lab::desk
