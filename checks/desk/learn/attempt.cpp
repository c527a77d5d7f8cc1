// desk-work predict, try, look: one exercise, interactively.
#include <sys/ioctl.h>
#include <unistd.h>

#include "checks/desk/learn/learn.hpp"

namespace lab::desk {
namespace {

// On a terminal the step under way is a line that what is printed next takes the place of.
constexpr const char* CLEARED = "\r\33[K";
void tell(const std::string& step) {
  std::printf("%s  %s ...", CLEARED, step.c_str());
  std::fflush(stdout);
}
struct Telling {
  const bool on = isatty(1) != 0;
  ~Telling() {
    if (on) std::printf("%s", CLEARED), std::fflush(stdout);
  }
};

// Of the terminal; of a file or a narrow window, what a page takes.
std::size_t columns() {
  constexpr std::size_t LEAST = 40, OTHERWISE = 100;
  winsize window{};
  if (ioctl(1, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return OTHERWISE;
  return std::max<std::size_t>(window.ws_col, LEAST);
}

// The card asks which lines the race check names, and nothing is predicted yet: then they are not shown.
bool is_asked_first(const Exercise& e, const std::string& source) {
  const Progress p = State().seen(e.number());
  return e.predict == "lines" && p.attempts.empty() && !p.done && !p.gave_up && source == handed_out(e);
}

std::string predict_first(const Exercise& e) {
  return "make predict n=" + std::to_string(e.n) + " say='LINE LINE' first";
}

// Returns whether it passed.
bool attempt(const Exercise& e, const std::string& make) {
  if (!fs::exists(e.file()))
    throw BadInput("there is no " + e.file() + "; make exercise n=" + std::to_string(e.n) + " lays it out");
  const Stopwatch watch;
  const std::string source = read_text(e.file());
  const Outcome outcome = [&] {
    const Telling telling;
    return check_work(e, make, source, e.number(), e.file(), {.explain = true}, telling.on ? tell : nullptr);
  }();
  const double seconds = watch.seconds();
  const bool asked_first = is_asked_first(e, source);
  const auto shown = [&](const std::string& text) {
    return wrapped(asked_first && text.find(e.file() + ":") != text.npos
                       ? "its report names lines that the card asks for; " + predict_first(e) + ", then it is shown"
                       : text,
                   columns(), "    ");
  };
  State state;
  Progress& p = state.of(e.number());
  ++p.tries;
  p.done = p.done || outcome.passed();
  state.save();
  if (!outcome.printed.empty())
    std::printf("  your kernel prints:\n%s", wrapped(outcome.printed, columns(), "    ").c_str());
  for (const std::string& step : outcome.passed_steps) std::printf("  good: %s\n", step.c_str());
  if (outcome.passed()) {
    std::printf("exercise %s (%s) passes, %.1f s. make solution n=%d shows the reference's.\n", e.number().c_str(),
                e.name.c_str(), seconds, e.n);
    if (!e.gpu.empty()) std::printf("On a GPU:\n%s", wrapped(e.gpu, columns(), "    ").c_str());
  } else {
    const std::string& whole = outcome.whole.empty() ? outcome.says : outcome.whole;
    std::printf("  RED:  %s\n%s", outcome.step.c_str(), shown(whole).c_str());
    if (!outcome.races.empty()) std::printf("  RED:  no races\n%s", shown(outcome.races).c_str());
    std::printf("%.1f s; make hint n=%d helps%s.\n", seconds, e.n,
                source == handed_out(e) ? ", and the file is as it was handed out" : "");
  }
  std::fflush(stdout);
  return outcome.passed();
}

}  // namespace

int try_command(const Args& args) {
  const Exercise e = exercise_named(args[1]);
  if (e.handed_in().empty())
    throw BadInput("exercise " + e.number() + " is a prediction: make predict n=" + std::to_string(e.n));
  return attempt(e, args[0]) ? 0 : 1;
}

int predict_command(const Args& args) {
  const Exercise e = exercise_named(args[1]);
  if (e.predict == "none") throw BadInput("exercise " + e.number() + " asks for no prediction");
  if (args[2].empty()) {
    std::printf("%s", menu_explained(e, args[0]).c_str());
    throw BadInput("nothing is predicted: " + prediction_asked(e));
  }
  const Prediction verdict = judge_prediction(e, args[0], args[2]);
  State state;
  Progress& p = state.of(e.number());
  p.attempts.push_back({args[2], verdict.holds, p.done || p.gave_up});
  if (verdict.holds && e.kind == "predict") p.done = true;
  state.save();
  std::printf("%s%s\n", verdict_told(verdict, p.gave_up).c_str(),
              verdict.holds         ? ""
              : e.kind == "predict" ? "; make hint helps."
                                    : "; try again, or look with make try.");
  return 0;  // a wrong prediction is an answer, and no error of make's
}

// What the lab's tools see of the kernel of an exercise that is laid out.
int look_command(const Args& args) {
  const Exercise e = exercise_named(args[1]);
  const std::string& tool = args[2];
  if (e.is_drill())
    throw BadInput("exercise " + e.number() + " has no tool of its own: make try n=" + std::to_string(e.n) +
                   " runs it with the race check on, and says what it counts");
  if (e.handed_in() != "kernel.cu")
    throw BadInput("exercise " + e.number() + " has no kernel of its own for make " + tool +
                   "; make exercise n=" + std::to_string(e.n) + " says what it has");
  if (e.backward && tool != "racecheck")
    throw BadInput("make " + tool + " is for stages of the forward pass; make racecheck n=" + std::to_string(e.n) +
                   " takes this one");
  if (!fs::exists(e.file()))
    throw BadInput("there is no " + e.file() + "; make exercise n=" + std::to_string(e.n) + " lays it out");
  if (tool == "racecheck" && is_asked_first(e, read_text(e.file())))
    throw BadInput("the card asks which lines this names; " + predict_first(e));
  const std::string kernel = learner_path(e.stage, e.number());
  place_source(e.stage, read_text(e.file()), e.number(), e.file());
  if (run({args[0], "backend=cpu", "-s", kernel}).status != 0) return 1;
  return run(with({runner_of(kernel), kernel, tool}, {args.begin() + 3, args.end()})).status;
}

}  // namespace lab::desk
