// exercise, predict, try, hint, solution, and the tools on what is laid out: one exercise, interactively. Each takes its words in a
// fixed order; MAKE is what builds.
#include <sys/ioctl.h>

#include "checks/exercises/learn/exercise.hpp"
#include "common/stage_names.hpp"

namespace lab::desk {
namespace {

Exercise exercise_named(const std::string& word) { return read_course().find(word); }

// Those of a kind, or of a stage by either name; all of "".
std::vector<Exercise> listed(const Course& course, const std::string& word) {
  std::vector<Exercise> some;
  for (const Exercise& e : course.all)
    if (word.empty() || e.kind == word || e.stage == word || (!e.is_drill() && short_stage_name(e.stage) == word))
      some.push_back(e);
  return some;
}

void list(const std::vector<Exercise>& some) {
  const State state;
  std::printf("%-4s %-6s %-36s %-11s %-7s %-16s %s\n", "n", "stage", "name", "kind", "minutes", "state", "after");
  int done = 0, minutes = 0, next = 0;
  for (const Exercise& e : some) {
    const Progress& p = state.seen(e.number());
    done += p.done, minutes += p.done ? 0 : e.minutes;
    if (next == 0 && !p.done) next = e.n;
    std::string how = p.done ? "done" : p.gave_up ? "shown" : fs::exists(e.dir()) ? "begun" : "open";
    if (p.hints) how += ", " + std::to_string(p.hints) + (p.hints == 1 ? " hint" : " hints");
    std::printf("%-4s %-6s %-36s %-11s %7d %-16s %s\n", e.number().c_str(),
                e.is_drill() ? "" : short_stage_name(e.stage).c_str(), e.name.c_str(), e.kind.c_str(), e.minutes,
                how.c_str(), joined(e.after, " ").c_str());
  }
  std::printf("\n%d of %zu done; %d minutes left. ", done, some.size(), minutes);
  if (next) std::printf("make exercise n=%d lays one out, ", next);
  std::printf("n=v2c9 lists a stage's, n=faster a kind.\n");
}

void must_lie_there(const Exercise& e) {
  if (!fs::exists(e.file())) throw BadInput("there is no " + e.file() + "; " + e.command("exercise") + " lays it out");
}

// The card asks which lines the race check names, and nothing is predicted yet: then they are not shown.
bool is_asked_first(const Exercise& e, const std::string& source) {
  const Progress p = State().seen(e.number());
  return e.predict == "lines" && p.attempts.empty() && !p.done && !p.gave_up && source == handed_out(e);
}
std::string predict_first(const Exercise& e) { return e.command("predict") + " say='LINE LINE' first"; }

void tell(const std::string& line) { std::printf("%s\n", line.c_str()), std::fflush(stdout); }

}  // namespace

std::string wrapped(const std::string& text, std::size_t columns, const std::string& indent) {
  std::string result;
  for (const std::string& line : lines_of(text)) {
    const std::string begin = indent + line.substr(0, line.find_first_not_of(' '));
    std::string now = begin;
    for (bool first = true; const std::string& word : words_of(line)) {
      if (!first && now.size() + 1 + word.size() > columns) result += now + "\n", now = begin + "  ", first = true;
      now += (first ? "" : " ") + word;
      first = false;
    }
    result += now + "\n";
  }
  return result;
}

// exercise [N|KIND|STAGE [again]]
int exercise_command(const Args& args) {
  const Course course = read_course();
  const std::string word = args.empty() ? "" : args[0];
  if (const auto some = listed(course, word); !some.empty()) return list(some), 0;
  const Exercise& e = course.find(word);
  const bool works = !e.handed_in().empty();
  if (args.size() == 2 && works && fs::exists(e.file()) && read_text(e.file()) != handed_out(e)) {
    int i = 1;
    while (fs::exists(e.file() + "." + std::to_string(i))) ++i;
    const std::string kept = e.file() + "." + std::to_string(i);
    fs::rename(e.file(), kept);
    std::printf("Yours is %s.\n", kept.c_str());
  }
  const bool begun = works && fs::exists(e.file());
  write_text(e.dir() + "/CARD.md", card(e));
  if (!e.questions.empty() && !fs::exists(answers_file(e))) write_text(answers_file(e), answers_sheet(e));
  if (works && !begun) write_text(e.file(), handed_out(e));
  std::printf("%s\n", card(e).c_str());
  if (begun)
    std::printf("%s is as you left it; %s again=1 begins anew.\n", e.file().c_str(), e.command("exercise").c_str());
  else
    std::printf("Laid out in %s.\n", e.dir().c_str());
  return 0;
}

// hint N
int hint_command(const Args& args) {
  const Exercise e = exercise_named(args[0]);
  State state;
  Progress& p = state.of(e.number());
  if (p.hints < int(e.hints.size())) ++p.hints, state.save();
  std::printf("hint %d of %zu\n\n%s\n", p.hints, e.hints.size(), e.hints.at(std::size_t(p.hints) - 1).c_str());
  return 0;
}

// solution N [give-up]
int solution_command(const Args& args) {
  const Exercise e = exercise_named(args[0]);
  State state;
  Progress& p = state.of(e.number());
  if (!p.done && args.size() < 2)
    throw BadInput("exercise " + e.number() + " is not done; " + e.command("solution") +
                   " give-up=1 shows it all the same");
  if (!p.done && !p.gave_up) p.gave_up = true, state.save();
  std::printf("%s", solution_shown(e).c_str());
  return 0;
}

// try MAKE N
int try_command(const Args& args) {
  const Exercise e = exercise_named(args[1]);
  if (e.handed_in().empty()) throw BadInput("exercise " + e.number() + " is a prediction: " + e.command("predict"));
  must_lie_there(e);
  winsize window{};  // of a file or a narrow window, what a page takes
  const std::size_t columns = ioctl(1, TIOCGWINSZ, &window) == 0 && window.ws_col >= 40 ? window.ws_col : 100;
  const Stopwatch watch;
  const std::string source = read_text(e.file());
  const bool asked_first = is_asked_first(e, source);
  const Outcome outcome = check_work(e, args[0], source, e.number(), e.file(), {.explain = true}, tell);
  const double seconds = watch.seconds();
  State state;
  Progress& p = state.of(e.number());
  ++p.tries;
  p.done = p.done || outcome.passed();
  state.save();
  if (!outcome.printed.empty())
    std::printf("  your kernel prints:\n%s", wrapped(outcome.printed, columns, "    ").c_str());
  const auto red = [&](const std::string& step, std::string text) {
    if (text.empty()) return;
    if (asked_first && text.find(e.file() + ":") != text.npos)
      text = "its report names lines that the card asks for; " + predict_first(e) + ", then it is shown";
    std::printf("  RED:  %s\n%s", step.c_str(), wrapped(text, columns, "    ").c_str());
  };
  if (outcome.passed()) {
    std::printf("exercise %s (%s) passes, %.1f s. %s shows the reference's.\n", e.number().c_str(), e.name.c_str(),
                seconds, e.command("solution").c_str());
    if (!e.gpu.empty()) std::printf("On a GPU:\n%s", wrapped(e.gpu, columns, "    ").c_str());
  } else {
    red(outcome.step, outcome.whole.empty() ? outcome.says : outcome.whole);
    red("no races", outcome.races);
    std::printf("%.1f s; %s helps%s.\n", seconds, e.command("hint").c_str(),
                source == handed_out(e) ? ", and the file is as it was handed out" : "");
  }
  return outcome.passed() ? 0 : 1;
}

// predict MAKE N SAY
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
  const char* then = verdict.holds         ? ""
                     : e.kind == "predict" ? "; make hint helps."
                                           : "; try again, or look with make try.";
  std::printf("%s%s\n", verdict_told(verdict, p.gave_up).c_str(), then);
  return 0;  // a wrong prediction is an answer, and no error of make's
}

// look MAKE N racecheck|counters|trace [WORD=VALUE...]
int look_command(const Args& args) {
  const Exercise e = exercise_named(args[1]);
  const std::string &tool = args[2], who = "exercise " + e.number() + " has no ";
  if (e.is_drill())
    throw BadInput(who + "tool of its own: " + e.command("try") +
                   " runs it with the race check on, and says what it counts");
  if (e.handed_in() != "kernel.cu")
    throw BadInput(who + "kernel of its own for make " + tool + "; " + e.command("exercise") + " says what it has");
  if (e.backward && tool != "racecheck")
    throw BadInput("make " + tool + " is for stages of the forward pass; " + e.command("racecheck") +
                   " takes this one");
  must_lie_there(e);
  if (tool == "racecheck" && is_asked_first(e, read_text(e.file())))
    throw BadInput("the card asks which lines this names; " + predict_first(e));
  const std::string kernel = built_path(e.stage, e.number());
  place_source(e.stage, read_text(e.file()), e.number(), e.file());
  if (run({args[0], "backend=cpu", "-s", kernel}).status != 0) return 1;
  return run(runs_of(kernel, with({tool}, {args.begin() + 3, args.end()}))).status;
}

}  // namespace lab::desk
