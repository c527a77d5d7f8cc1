#include "checks/desk/learn/learn.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

constexpr int STEP_SECONDS = 240;  // what hangs has the acceptance's own limit long before
constexpr std::size_t CLIP = 230;
constexpr const char* RIGHT_ANSWERS = "right answers";
constexpr std::size_t MOST_PRINTED = 20;        // of what a kernel prints
constexpr const char* PRINTED = "LAB_PRINTED";  // where checks/exercises/kernel_printf.cpp writes

std::string log_of(const std::string& what) { return "build/logs/learn-" + what + ".log"; }

// One bound: "SHAPE: WHAT <= N", WHAT as `lab counts` has it.
struct Limit {
  std::string shape, what, relation;
  long bound = 0;
};
Limit limit_of(const Exercise& e, const std::string& text) {
  const std::size_t colon = text.find(": ");
  const std::vector<std::string> words = words_of(colon == text.npos ? "" : text.substr(colon + 2));
  if (words.size() == 3 && (words[1] == "<=" || words[1] == ">=" || words[1] == "=="))
    if (const auto bound = number_in<long>(words[2])) return {text.substr(0, colon), words[0], words[1], *bound};
  throw BadInput(e.path + ": `limit: " + text + "`: must be SHAPE: WHAT <= N, or >=, or ==");
}

// A check's report: its most telling line, and all of it. Empty: nothing is wrong.
struct Said {
  Said(std::string says = "", std::string all = "") : line(std::move(says)), whole(std::move(all)) {}
  Said(const char* says) : line(says) {}
  std::string line, whole;
};

// Whether an exercise's card tells of wrong answers at a shape of its own.
bool has_case(const Exercise& e) {
  return !e.stage.empty() && !e.is_drill() && e.seen != "told" && e.seen != "findings" && e.seen != "different" &&
         (e.predict == "mask" || e.predict == "formula" || e.predict == "count");
}

class Check {
 public:
  Check(const Exercise& e, const std::string& make, const std::string& word, const std::string& shown_as,
        void (*tell)(const std::string&))
      : e_(e),
        make_(make),
        word_(word),
        log_(e.number() + "-" + word),
        shown_as_(shown_as),
        learner_(learner_path(e.stage, word)),
        tell_(tell) {}

  // Does nothing after a red step. `says` returns "" if all is well.
  void step(const std::string& name, const std::function<Said()>& says) {
    if (!outcome_.step.empty()) return;
    if (tell_) tell_(name);
    Said said = says();
    outcome_.says = std::move(said.line), outcome_.whole = std::move(said.whole);
    if (outcome_.says.empty())
      outcome_.passed_steps.push_back(name);
    else
      outcome_.step = name;
  }

  // Runs the learner; a status that is not 0 is red.
  Said run_learner(const Argv& words, const std::string& also = "") {
    const std::string log_path = log_of(log_ + also);
    const Ended ended =
        run_limited(judged(with({runner_of(learner_), learner_}, words), log_path), log_path, STEP_SECONDS);
    if (ended.status == 127) throw BadInput(learner_ + " cannot be started");
    if (ended.timed_out) return "still running after " + std::to_string(STEP_SECONDS) + " s";
    if (ended.status == 0) return "";
    const Verdict verdict = verdict_beside(log_path);
    outcome_.hangs |= !verdict.first("hang").empty();
    const std::string tells = verdict.first("tells"), line = tells.empty() ? last_line(read_text(log_path)) : tells;
    if (line.empty()) return "exit status " + std::to_string(ended.status) + "; see " + log_path;
    return {clipped(line, CLIP), few_lines(verdict.all("red"), log_path)};
  }

  Said compiled(const std::string& source) {
    const std::string line = build_learner(e_.stage, make_, source, word_, shown_as_), log = log_of(word_);
    return line.empty() ? Said() : Said(line, compiler_errors(read_text(log), log).all);
  }

  // The first run's alone: each run prints, under every schedule.
  Said run_printing(const Argv& words) {
    const std::string file = log_of(log_ + "-printed");
    write_text(file, "");
    setenv(PRINTED, file.c_str(), 1);
    Said said = run_learner(words);
    setenv(PRINTED, "/dev/null", 1);
    outcome_.printed = few_lines(lines_of(read_text(file)), file, MOST_PRINTED);
    return said;
  }

  void bound(const std::string& text) {
    std::string figure;
    step(WITHIN_BOUNDS, [&] { return bounded(text, figure); });
    if (outcome_.step.empty()) outcome_.passed_steps.back() += ": " + figure;
  }

  Said calls_nothing_else() {
    const std::string log = log_of(log_);
    const std::string object = learner_dir(e_.stage, word_) + "/kernel.o";
    if (run({"nm", "-C", "-u", object}, log).status != 0) return "nm cannot be run; it comes with binutils";
    const std::string symbol = refused_symbol(read_text(log));
    return symbol.empty() ? "" : shown_as_ + " calls what a kernel has no use for: " + clipped(symbol, 120);
  }

  // "" if the bound holds; `figure` is "4 barriers, at most 4" then.
  Said bounded(const std::string& text, std::string& figure) {
    const Limit limit = limit_of(e_, text);
    const std::string log = log_of(log_);
    if (run_limited({runner_of(learner_), learner_, "counts", "shape=" + limit.shape}, log, STEP_SECONDS).status != 0)
      return clipped(last_line(read_text(log)), CLIP);
    const std::string says = read_text(log), begin = "most " + limit.what + " " + shown_as_ + ":";
    const long count = number_in<long>(facts_in(says)[limit.what]).value_or(-1);
    std::string most;  // the line that most of it comes from
    for (const std::string& line : lines_of(says))
      if (line.starts_with(begin)) most = line.substr(("most " + limit.what + " ").size());
    if (count < 0) throw BadInput(e_.path + ": `limit: " + text + "`: nothing of that name is counted");
    const bool most_allowed = limit.relation == "<=", least_allowed = limit.relation == ">=";
    const std::string asked = (most_allowed    ? "at most "
                               : least_allowed ? "at least "
                                               : "exactly ") +
                              std::to_string(limit.bound);
    figure = std::to_string(count) + " " + limit.what + ", " + asked;
    if (most_allowed ? count <= limit.bound : least_allowed ? count >= limit.bound : count == limit.bound) return "";
    return (e_.is_drill() ? "the launch " : "a block of ") + limit.shape + " has " + std::to_string(count) + " " +
           limit.what + "; asked for are " + asked +
           (most.empty() || count < limit.bound ? "" : "; most come from " + most);
  }

  const Exercise& e_;
  const std::string make_, word_, log_, shown_as_, learner_;
  void (*tell_)(const std::string&);
  Outcome outcome_;
};

// Each case is one problem under one schedule; status 1 is red.
Outcome check_cases(const Exercise& e, const std::string& make, const std::string& text, Check& c) {
  const std::vector<std::string> cases = cases_in(e, text);
  const std::vector<Suspect> all = suspects(e);
  c.step("its kernels compile", [&]() -> std::string {
    Argv argv = {make, "backend=cpu", "-s"};
    for (const Suspect& suspect : all) {
      place_source(e.stage, suspect.source, suspect.word, e.dir() + "/kernel.cu");
      argv.push_back(learner_path(e.stage, suspect.word));
    }
    return run(argv, log_of(e.number())).status == 0 ? "" : "see " + log_of(e.number());
  });
  c.step("bugs caught, less false alarms", [&] {
    return judge_cases(e, cases, all, [&](const Suspect& suspect, const std::string& one) {
      const std::string kernel = learner_path(e.stage, suspect.word);
      const Argv argv = with({runner_of(kernel), kernel, "fuzz", "only"}, words_of(one));
      const std::string log = log_of(e.number() + "-case");
      const Ended ended = run_limited(argv, log, STEP_SECONDS);
      if (ended.status == 2) throw BadInput(e.file() + ": '" + one + "': " + last_line(read_text(log)));
      return ended.status != 0;
    });
  });
  return c.outcome_;
}

}  // namespace

std::string learner_dir(const std::string& stage, const std::string& word) {
  return "build/cpu/" + stage + (is_the_labs(word) ? "/" : "/learn-") + word;
}
bool is_the_labs(const std::string& word) { return word == "checked" || word.starts_with("bug-"); }
std::string learner_path(const std::string& stage, const std::string& word) {
  return learner_dir(stage, word) + "/kernel.so";
}

CompilerErrors compiler_errors(const std::string& log, const std::string& path) {
  CompilerErrors errors;
  std::vector<std::string> lines;
  for (const std::string& line : lines_of(log)) {
    const bool error = line.find(": error: ") != line.npos || line.find("undefined reference") != line.npos;
    if (error && errors.first.empty()) errors.first = clipped(trimmed(line), CLIP);
    if (!errors.first.empty() && !trimmed(line).empty()) lines.push_back(line);
  }
  if (errors.first.empty()) errors.first = clipped(last_line(log), CLIP);
  errors.all = few_lines(lines, path);
  return errors;
}

std::string few_lines(const std::vector<std::string>& lines, const std::string& path, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < lines.size() && i < most; ++i) text += lines[i] + "\n";
  return lines.size() <= most ? text
                              : text + "and " + std::to_string(lines.size() - most) + " more lines: " + path + "\n";
}

std::string wrapped(const std::string& text, std::size_t columns, const std::string& indent) {
  std::string result;
  for (const std::string& line : lines_of(text)) {
    const std::string own = line.substr(0, line.find_first_not_of(' '));
    std::string now = indent + own;
    bool empty = true;
    for (const std::string& word : words_of(line)) {
      if (!empty && now.size() + 1 + word.size() > columns) {
        result += now + "\n";
        now = indent + own + "  ", empty = true;
      }
      now += (empty ? "" : " ") + word;
      empty = false;
    }
    result += now + "\n";
  }
  return result;
}

void place_source(const std::string& stage, const std::string& source, const std::string& word,
                  const std::string& shown_as) {
  write_if_changed(learner_dir(stage, word) + "/source.cu", "#line 1 \"" + shown_as + "\"\n" + source);
}

std::string build_learner(const std::string& stage, const std::string& make, const std::string& source,
                          const std::string& word, const std::string& shown_as) {
  place_source(stage, source, word, shown_as);
  const std::string log = log_of(word);
  if (run({make, "backend=cpu", "-s", learner_path(stage, word)}, log).status == 0) return "";
  const std::string line = compiler_errors(read_text(log), log).first;
  return line.empty() ? "it does not build; see " + log : line;
}

Outcome check_work(const Exercise& e, const std::string& make, const std::string& source, const std::string& word,
                   const std::string& shown_as, const Depth& depth, void (*tell)(const std::string&)) {
  Check c(e, make, word, shown_as, tell);
  if (e.kind == "test") return check_cases(e, make, source, c);
  c.step("nothing but a kernel", [&] { return refused_source(shown_as, source, handed_out(e) + solution(e)); });
  c.step("it compiles", [&] { return depth.built ? Said() : c.compiled(source); });
  c.step("it calls nothing else", [&] { return c.calls_nothing_else(); });
  const std::string seed = "seed=" + std::to_string(depth.seed);
  if (e.is_drill()) {
    const Argv drill = depth.grading ? Argv{"drill", seed} : Argv{"drill"};
    c.step("the right bits", [&] { return depth.explain ? c.run_printing(drill) : c.run_learner(drill); });
    if (e.kind == "mechanism") c.step("the right order", [&] { return c.run_learner({"order"}); });
    for (const std::string& limit : e.limits) c.bound(limit);
    return c.outcome_;
  }
  const bool card = depth.explain && has_case(e);
  if (card)
    c.step(CARDS_CASE, [&] {
      return c.run_printing({"card", "shape=" + e.shape, "inputs=" + e.inputs, "copies=" + e.copies});
    });
  if (depth.grading)
    c.step("right answers, every schedule", [&] { return c.run_learner({"test", "cheapest=40", seed}); });
  else if (!depth.own_only)
    c.step(RIGHT_ANSWERS, [&] {
      const Argv words = {"test", "cheapest=40", "once=1"};
      return depth.explain && !card ? c.run_printing(words) : c.run_learner(words);
    });
  const auto race_check = [&] { return c.run_learner({"racecheck", "short=1"}, "-races"); };
  // Wrong answers often have a cause that the race check names; of a deadlock it says the same once more.
  if (depth.explain && !c.outcome_.hangs && (c.outcome_.step == CARDS_CASE || c.outcome_.step == RIGHT_ANSWERS)) {
    if (tell) tell("no races");
    const Said raced = race_check();
    c.outcome_.races = raced.whole.empty() ? raced.line : raced.whole;
  }
  // These two take the longest, and side by side.
  std::future<Said> races;
  if (c.outcome_.step.empty() && !depth.own_only) races = std::async(std::launch::async, race_check);
  if (!e.bug.empty())
    c.step("what was reported is gone", [&] {
      Argv words = {"fingerprint", e.bug};
      if (!is_the_labs(word)) words.push_back("source=" + shown_as);
      return c.run_learner(words);
    });
  const Said raced = races.valid() ? races.get() : Said();
  c.step("no races", [&] { return raced; });
  // Values computed by a launcher on the host are written whichever blocks run.
  c.step("the kernel does the work", [&] { return c.run_learner({"counts", "shape=1,2,129,64"}); });
  for (const std::string& limit : e.limits) c.bound(limit);
  if (depth.grading) c.step("held-out shapes", [&] { return c.run_learner({"fuzz", "seconds=20", "cases=24", seed}); });
  return c.outcome_;
}

std::vector<std::string> cases_in(const Exercise& e, const std::string& text) {
  std::vector<std::string> cases;
  for (const std::string& line : lines_of(text)) {
    const std::string words = joined(words_of(line.substr(0, line.find('#'))), " ");
    if (!words.empty()) cases.push_back(words);
  }
  if (cases.empty()) throw BadInput(e.file() + " has no case");
  if (int(cases.size()) > e.budget)
    throw BadInput(e.file() + " has " + std::to_string(cases.size()) + " cases; the budget is " +
                   std::to_string(e.budget));
  return cases;
}

std::vector<Suspect> suspects(const Exercise& e) {
  const std::string right = read_text(kernel_path(e.stage));
  std::vector<Suspect> all;
  const Ladder ladder = read_ladder();
  int number = 0;
  for (const Bug& bug : ladder.stage(e.stage)->bugs) {
    // A bug that shows in no run cannot be asked of a test.
    if (!bug.unseen.empty()) continue;
    all.push_back({planted_text(patch_path(e.stage, bug.name)), e.number() + "-suspect-" + std::to_string(++number),
                   !bug.right()});
  }
  all.push_back({right, e.number() + "-suspect-" + std::to_string(++number), false});
  return all;
}

std::string judge_cases(const Exercise& e, const std::vector<std::string>& cases, const std::vector<Suspect>& all,
                        const std::function<bool(const Suspect&, const std::string&)>& is_red) {
  int caught = 0, wrong = 0, alarms = 0, number = 0;
  std::vector<std::string> missed, accused;
  for (const Suspect& suspect : all) {
    ++number;
    wrong += suspect.wrong;
    const bool red = std::ranges::any_of(cases, [&](const std::string& one) { return is_red(suspect, one); });
    caught += red && suspect.wrong, alarms += red && !suspect.wrong;
    if (red != suspect.wrong) (suspect.wrong ? missed : accused).push_back(std::to_string(number));
  }
  if (caught - alarms >= e.goal) return "";
  return "caught " + std::to_string(caught) + " of " + std::to_string(wrong) + " wrong kernels, " +
         std::to_string(alarms) + " false alarms; asked for are " + std::to_string(e.goal) +
         (missed.empty() ? "" : "; number " + joined(missed, ", ") + " gets through") +
         (accused.empty() ? "" : "; number " + joined(accused, ", ") + " is right, and accused");
}

}  // namespace lab::desk
