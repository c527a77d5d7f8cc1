// desk-learn predict, try, watch: one exercise, while somebody waits.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "checks/desk/learn/checks.hpp"
#include "checks/desk/learn/commands.hpp"
#include "checks/desk/learn/handout.hpp"
#include "checks/desk/learn/prediction.hpp"
#include "checks/desk/learn/state.hpp"
#include "checks/desk/process.hpp"

namespace lab::desk {
namespace {

namespace fs = std::filesystem;

void tell(const std::string& step) {
  std::printf("  %s ...\n", step.c_str());
  std::fflush(stdout);
}

// Returns whether it passed.
bool attempt(const Exercise& e, const std::string& make) {
  if (!fs::exists(e.file()))
    throw BadInput("there is no " + e.file() + "; make exercise n=" + std::to_string(e.n) + " lays it out");
  const auto begin = std::chrono::steady_clock::now();
  const std::string source = read_text(e.file());
  const Outcome outcome = check_work(e, make, source, e.number(), e.file(), {}, isatty(1) ? tell : nullptr);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  State state;
  Progress& p = state.of(e.number());
  ++p.tries;
  p.done = p.done || outcome.passed;
  state.save();
  for (const std::string& step : outcome.passed_steps) std::printf("  good: %s\n", step.c_str());
  if (outcome.passed) {
    std::printf("exercise %s (%s) passes, %.1f s. make solution n=%d shows the reference's.\n", e.number().c_str(),
                e.name.c_str(), seconds, e.n);
  } else {
    std::printf("  RED:  %s\n    %s\n%.1f s; make hint n=%d helps%s.\n", outcome.step.c_str(), outcome.says.c_str(),
                seconds, e.n, source == handed_out(e) ? ", and the file is as it was handed out" : "");
  }
  std::fflush(stdout);
  return outcome.passed;
}

}  // namespace

int try_command(const Args& args) {
  expect_args(args, 2, 2, "try MAKE N");
  const Course course = read_course();
  const Exercise& e = course.find(args[1]);
  if (e.handed_in().empty())
    throw BadInput("exercise " + e.number() + " is a prediction: make predict n=" + std::to_string(e.n));
  return attempt(e, args[0]) ? 0 : 1;
}

// Until it passes, or ^C.
int watch_command(const Args& args) {
  expect_args(args, 2, 2, "watch MAKE N");
  const Course course = read_course();
  const Exercise& e = course.find(args[1]);
  if (e.handed_in().empty()) throw BadInput("exercise " + e.number() + " has no file to watch");
  while (true) {
    std::error_code missing;
    const auto saved = fs::last_write_time(e.file(), missing);
    if (attempt(e, args[0])) return 0;
    std::printf("watching %s; ^C ends it\n\n", e.file().c_str());
    std::fflush(stdout);
    // Editors take a file away before they put another in its place.
    for (auto now = saved; now == saved || missing; now = fs::last_write_time(e.file(), missing)) usleep(200'000);
  }
}

int predict_command(const Args& args) {
  expect_args(args, 3, 3, "predict MAKE N SAY");
  const Course course = read_course();
  const Exercise& e = course.find(args[1]);
  if (e.predict == "none") throw BadInput("exercise " + e.number() + " asks for no prediction");
  if (args[2].empty()) {
    std::printf("%s\n%s", prediction_asked(e).c_str(), menu_explained(e, args[0]).c_str());
    return 0;
  }
  const Prediction verdict = judge_prediction(e, args[0], args[2]);
  State state;
  Progress& p = state.of(e.number());
  ++p.predictions;
  if (verdict.holds) p.predicted = true, p.prediction = args[2];
  if (verdict.holds && e.kind == "predict") p.done = true;
  state.save();
  std::printf("%s%s\n", verdict.says.c_str(),
              verdict.holds         ? "right."
              : e.kind == "predict" ? "not so; make hint helps."
                                    : "not so; try again, or look with make try.");
  return verdict.holds ? 0 : 1;
}

}  // namespace lab::desk
