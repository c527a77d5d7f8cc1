// The checks of what a learner hands in.
#include "checks/exercises/learn/exercise.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

constexpr int STEP_SECONDS = 240;  // what hangs has the acceptance's own limit long before
constexpr std::size_t CLIP = 230;
constexpr std::size_t MOST_PRINTED = 20;  // of what a kernel prints
constexpr const char* RIGHT_ANSWERS = "right answers";
constexpr const char* PRINTED = "LAB_PRINTED";  // where checks/exercises/kernel_printf.cpp writes

std::string log_of(const std::string& what) { return "build/logs/learn-" + what + ".log"; }
bool is_the_labs(const std::string& word) { return word == "checked" || word.starts_with("bug-"); }

// A check's report: its most telling line, and all of it. Empty: nothing is wrong.
struct Said {
  Said(std::string says = "", std::string all = "") : line(std::move(says)), whole(std::move(all)) {}
  Said(const char* says) : line(says) {}
  std::string line, whole;
};

// Whether an exercise's card tells of wrong answers at a shape of its own.
bool has_case(const Exercise& e) {
  const bool seen = e.seen != "told" && e.seen != "findings" && e.seen != "different";
  return !e.is_drill() && seen && (e.predict == "mask" || e.predict == "formula" || e.predict == "count");
}

class Check {
 public:
  Check(const Exercise& e, const std::string& word, const std::string& shown_as, void (*tell)(const std::string&))
      : e_(e), log_(e.number() + "-" + word), shown_as_(shown_as), built_(built_path(e.stage, word)), tell_(tell) {}

  // Does nothing after a red step. says(figure) returns "" if all is well.
  template <class Says>
  void step(const std::string& name, Says says) {
    if (!outcome_.step.empty()) return;
    std::string figure;
    Said said = says(figure);
    outcome_.says = std::move(said.line), outcome_.whole = std::move(said.whole);
    outcome_.good += outcome_.says.empty();
    if (!outcome_.says.empty())
      outcome_.step = name;
    else if (tell_)
      tell_("  good: " + name + figure);
  }

  // A status that is not 0 is red.
  Said run_built(const Argv& words, const std::string& also = "") {
    const std::string log = log_of(log_ + also);
    const Ended ended = run_limited(judged(runs_of(built_, words), log), log, STEP_SECONDS);
    if (ended.status == 127) throw BadInput(built_ + " cannot be started");
    if (ended.timed_out) return "still running after " + std::to_string(STEP_SECONDS) + " s";
    if (ended.status == 0) return "";
    const Verdict verdict = verdict_beside(log);
    outcome_.hangs |= !verdict.first("hang").empty();
    const std::string tells = verdict.first("tells"), line = tells.empty() ? last_line(read_text(log)) : tells;
    if (line.empty()) return "exit status " + std::to_string(ended.status) + "; see " + log;
    return {clipped(line, CLIP), few_lines(verdict.all("red"), log)};
  }

  // The first run's prints alone: each run prints, under every schedule.
  Said run_printing(const Argv& words) {
    const std::string file = log_of(log_ + "-printed");
    write_text(file, "");
    setenv(PRINTED, file.c_str(), 1);
    Said said = run_built(words);
    setenv(PRINTED, "/dev/null", 1);
    outcome_.printed = few_lines(lines_of(read_text(file)), file, MOST_PRINTED);
    return said;
  }

  Said calls_nothing_else() {
    const std::string log = log_of(log_), object = fs::path(built_).parent_path().string() + "/kernel.o";
    const bool labs = !fs::exists(object);  // a kernel of the lab's own lies beside
    if (run({"nm", "-C", "-u", labs ? replaced(object, "/learn-", "/") : object}, log).status != 0)
      return "nm cannot be run; it comes with binutils";
    const std::string symbol = refused_symbol(read_text(log));
    return symbol.empty() ? "" : shown_as_ + " calls what a kernel has no use for: " + clipped(symbol, 120);
  }

  // One bound, "SHAPE: WHAT <= N", WHAT as `counts` has it. `figure` is ": 4 barriers, at most 4" if it holds.
  Said bounded(const std::string& limit, std::string& figure) {
    const std::size_t colon = limit.find(": ");
    const Argv words = words_of(colon == limit.npos ? "" : limit.substr(colon + 2));
    const auto wrong = [&](const std::string& what) { return BadInput(e_.path + ": `limit: " + limit + "`: " + what); };
    const std::map<std::string, std::string> RELATIONS = {{"<=", "at most "}, {">=", "at least "}, {"==", "exactly "}};
    const auto bound = words.size() == 3 ? number_in<long>(words[2]) : std::nullopt;
    if (!bound || !RELATIONS.contains(words[1])) throw wrong("must be SHAPE: WHAT <= N, or >=, or ==");
    const std::string shape = limit.substr(0, colon), &what = words[0], log = log_of(log_);
    if (run_limited(runs_of(built_, {"counts", "shape=" + shape}), log, STEP_SECONDS).status != 0)
      return clipped(last_line(read_text(log)), CLIP);
    const std::string says = read_text(log), begin = "most " + what + " ";
    const auto count = number_in<long>(facts_in(says)[what]);
    if (!count) throw wrong("nothing of that name is counted");
    const std::string asked = RELATIONS.at(words[1]) + words[2], counted = std::to_string(*count) + " " + what;
    figure = ": " + counted + ", " + asked;
    if (words[1] == "<=" ? *count <= *bound : words[1] == ">=" ? *count >= *bound : *count == *bound) return "";
    std::string most;  // the line that most of it comes from
    for (const std::string& line : lines_of(says))
      if (line.starts_with(begin + shown_as_ + ":") && *count > *bound)
        most = "; most come from " + line.substr(begin.size());
    return (e_.is_drill() ? "the launch " : "a block of ") + shape + " has " + counted + "; asked for are " + asked +
           most;
  }

  const Exercise& e_;
  const std::string log_, shown_as_, built_;
  void (*tell_)(const std::string&);
  Outcome outcome_;
};

}  // namespace

std::string built_dir(const std::string& stage, const std::string& word) {
  const bool is_the_labs = word == "checked" || word.starts_with("bug-");
  return "build/cpu/" + stage + (is_the_labs ? "/" : "/learn-") + word;
}
std::string built_path(const std::string& stage, const std::string& word) {
  return built_dir(stage, word) + "/kernel.so";
}
Argv runs_of(const std::string& path, const Argv& words) { return with({runner_of(path), path}, words); }

std::string compiler_error(const std::string& log, const std::string& path, std::string* all) {
  std::string first;
  std::vector<std::string> lines;
  for (const std::string& line : lines_of(log)) {
    const bool error = line.find(": error: ") != line.npos || line.find("undefined reference") != line.npos;
    if (error && first.empty()) first = clipped(trimmed(line), CLIP);
    if (!first.empty() && !trimmed(line).empty()) lines.push_back(line);
  }
  if (all) *all = few_lines(lines, path);
  return first.empty() ? clipped(last_line(log), CLIP) : first;
}

std::string few_lines(const std::vector<std::string>& lines, const std::string& path, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < lines.size() && i < most; ++i) text += lines[i] + "\n";
  return lines.size() <= most ? text
                              : text + "and " + std::to_string(lines.size() - most) + " more lines: " + path + "\n";
}

void place_source(const std::string& stage, const std::string& source, const std::string& word,
                  const std::string& shown_as) {
  if (!is_the_labs(word))
    write_if_changed(built_dir(stage, word) + "/source.cu", "#line 1 \"" + shown_as + "\"\n" + source);
}

std::string build_work(const std::string& stage, const std::string& make, const std::string& source,
                       const std::string& word, const std::string& shown_as, std::string* all) {
  place_source(stage, source, word, shown_as);
  const std::string log = log_of(word);
  if (run({make, "backend=cpu", "-s", built_path(stage, word)}, log).status == 0) return "";
  const std::string line = compiler_error(read_text(log), log, all);
  return line.empty() ? "it does not build; see " + log : line;
}

Outcome check_work(const Exercise& e, const std::string& make, const std::string& source, const std::string& word,
                   const std::string& shown_as, const Depth& depth, void (*tell)(const std::string&)) {
  if (e.kind == "test") return check_cases(e, make, source);
  Check c(e, word, shown_as, tell);
  const auto runs = [&](const std::string& name, const Argv& words, bool printing = false) {
    c.step(name, [&](std::string&) { return printing ? c.run_printing(words) : c.run_built(words); });
  };
  c.step("nothing but a kernel",
         [&](auto&) -> Said { return refused_source(shown_as, source, handed_out(e) + solution(e)); });
  c.step("it compiles", [&](auto&) {
    Said said;
    if (!depth.built) said.line = build_work(e.stage, make, source, word, shown_as, &said.whole);
    return said;
  });
  c.step("it calls nothing else", [&](auto&) { return c.calls_nothing_else(); });
  const auto bounds = [&] {
    for (const std::string& limit : e.limits)
      c.step(WITHIN_BOUNDS, [&](auto& figure) { return c.bounded(limit, figure); });
  };
  const std::string seed = "seed=" + std::to_string(depth.seed);
  if (e.is_drill()) {
    runs("the right bits", depth.grading ? Argv{"drill", seed} : Argv{"drill"}, depth.explain);
    if (e.kind == "mechanism") runs("the right order", {"order"});
    bounds();
    return c.outcome_;
  }
  const bool card = depth.explain && has_case(e);
  if (card) runs(CARDS_CASE, {"card", "shape=" + e.shape, "inputs=" + e.inputs, "copies=" + e.copies}, true);
  if (depth.grading)
    runs("right answers, every schedule", {"test", "cheapest=40", seed});
  else if (!depth.own_only)
    runs(RIGHT_ANSWERS, {"test", "cheapest=40", "once=1"}, depth.explain && !card);
  const auto race_check = [&] { return c.run_built({"racecheck", "short=1"}, "-races"); };
  // Wrong answers often have a cause that the race check names; of a deadlock it says the same once more.
  if (depth.explain && !c.outcome_.hangs && (c.outcome_.step == CARDS_CASE || c.outcome_.step == RIGHT_ANSWERS)) {
    const Said raced = race_check();
    c.outcome_.races = raced.whole.empty() ? raced.line : raced.whole;
  }
  // These two take the longest, and side by side.
  std::future<Said> races;
  if (c.outcome_.passed() && !depth.own_only) races = std::async(std::launch::async, race_check);
  if (!e.bug.empty())
    runs("what was reported is gone",
         with({"signature", e.bug}, is_the_labs(word) ? Argv{} : Argv{"source=" + shown_as}));
  const Said raced = races.valid() ? races.get() : Said();
  c.step("no races", [&](auto&) { return raced; });
  // Values computed by a launcher on the host are written whichever blocks run.
  runs("the kernel does the work", {"counts", "shape=1,2,129,64"});
  bounds();
  if (depth.grading) runs("held-out shapes", {"fuzz", "seconds=20", "cases=24", seed});
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
  std::vector<Suspect> all;
  const auto add = [&](const std::string& source, bool wrong) {
    all.push_back({source, e.number() + "-suspect-" + std::to_string(all.size() + 1), wrong});
  };
  for (const fs::path& patch : files_in("stages/" + e.stage + "/bugs", ".patch")) {
    std::set<std::string> keys;
    for (const std::string& line : lines_of(read_text(patch.string()))) {
      if (line.starts_with("--- a/")) break;
      keys.insert(line.substr(0, line.find(':')));
    }
    if (keys.contains("unseen")) continue;  // it shows in no run: that cannot be asked of a test
    add(planted_text(patch.string()), !keys.contains("harmless") && !keys.contains("slow"));
  }
  add(read_text(e.kernel()), false);
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

// Each case is one problem under one schedule; status 1 is red.
Outcome check_cases(const Exercise& e, const std::string& make, const std::string& text) {
  const std::vector<std::string> cases = cases_in(e, text);
  const std::vector<Suspect> all = suspects(e);
  Argv build = {make, "backend=cpu", "-s"};
  for (const Suspect& suspect : all) {
    place_source(e.stage, suspect.source, suspect.word, e.dir() + "/kernel.cu");
    build.push_back(built_path(e.stage, suspect.word));
  }
  if (run(build, log_of(e.number())).status != 0) return {"its kernels compile", "see " + log_of(e.number())};
  const std::string says = judge_cases(e, cases, all, [&](const Suspect& suspect, const std::string& one) {
    const std::string log = log_of(e.number() + "-case");
    const Argv argv = runs_of(built_path(e.stage, suspect.word), with({"fuzz", "only"}, words_of(one)));
    const Ended ended = run_limited(argv, log, STEP_SECONDS);
    if (ended.status == 2) throw BadInput(e.file() + ": '" + one + "': " + last_line(read_text(log)));
    return ended.status != 0;
  });
  return {says.empty() ? "" : "bugs caught, less false alarms", says};
}

}  // namespace lab::desk
