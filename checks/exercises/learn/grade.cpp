// What is known of a learner, and grades: what was handed in, with inputs and shapes not seen before.
#include <random>

#include "checks/exercises/learn/exercise.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

std::string passed(const Graded& g) { return g.gpu.empty() ? "passed" : "passed here; on a GPU: " + g.gpu; }

// A text as JSON has it. A learner's file may hold any bytes, and a compiler quotes them.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c >= ' ' && c <= '~' ? std::string(1, c) : c == '\n' ? "\\n" : "?";
  }
  return result + "\"";
}

// "attempt 2 of 3": the second was right.
std::string attempts_of(const Progress& p) {
  if (p.attempts.empty()) return "none";
  const std::string all = std::to_string(p.attempts.size());
  const auto right = std::ranges::find_if(p.attempts, [](const Attempt& a) { return a.right; });
  if (right == p.attempts.end()) return "none of " + all + " right";
  return "attempt " + std::to_string(right - p.attempts.begin() + 1) + " of " + all + (right->late ? ", late" : "");
}

// The state says what was predicted; whether it is right is found out again.
bool predicts_again(const Exercise& e, const std::string& make, const std::string& say) try {
  return !say.empty() && judge_prediction(e, make, say).holds;
} catch (const BadInput&) {
  return false;
}

Graded graded(const Exercise& e, const Progress& p, const std::string& make, std::uint64_t seed) {
  Graded g{e.number(), e.name, e.kind, false, "not handed in", "", e.predict != "none", false, p.hints, p.tries};
  g.attempts = attempts_of(p), g.gpu = replaced(e.gpu, "\n", " ");
  g.predicted = g.predicts && !p.attempts.empty() && !p.attempts[0].late && predicts_again(e, make, p.attempts[0].say);
  if (e.handed_in().empty()) {
    std::string last_right;
    for (const Attempt& a : p.attempts) last_right = a.right ? a.say : last_right;
    g.passed = g.predicted || predicts_again(e, make, last_right);
    if (!p.attempts.empty()) g.step = "prediction";
    g.says = p.attempts.empty() ? "nothing was predicted" : "it does not hold";
    g.gave_up = p.gave_up && !p.attempts.empty();
  } else if (fs::exists(e.file()) && read_text(e.file()) != handed_out(e)) {
    std::fprintf(stderr, "grading %s ...\n", e.number().c_str());
    const Outcome outcome = check_work(e, make, read_text(e.file()), e.number() + "-graded", e.file(), {true, seed});
    g.passed = outcome.passed(), g.step = outcome.step, g.says = outcome.says, g.gave_up = p.gave_up;
  } else {
    g.says = e.file() + " is missing, or as it was handed out";
  }
  return g;
}

}  // namespace

// A line for each fact: "07 hints 2", "07 tries 3", "07 done 1", "07 shown 1", and "07 said RIGHT LATE WORDS" for each prediction.
State::State(const std::string& path) : path_(path) {
  if (!fs::exists(path)) return;
  const auto read = [&](const std::vector<std::string>& words) {
    if (words.size() < 3) return false;
    Progress& p = all_[words[0]];
    const auto count = [&](std::size_t i) {
      return i < words.size() ? number_in<int>(words[i], 0, 1'000'000) : std::nullopt;
    };
    const auto value = count(2);
    if (!value) return false;
    if (words[1] == "hints") return p.hints = *value, true;
    if (words[1] == "tries") return p.tries = *value, true;
    if (words[1] == "done") return p.done = *value, true;
    if (words[1] == "shown") return p.gave_up = *value, true;
    if (words[1] != "said" || !count(3)) return false;
    return p.attempts.push_back({joined({words.begin() + 4, words.end()}, " "), *value != 0, *count(3) != 0}), true;
  };
  for (const std::string& line : lines_of(read_text(path)))
    if (!read(words_of(line))) {
      all_.clear();
      fs::rename(path, path + ".unreadable");
      std::fprintf(stderr,
                   "%s could not be read: it is %s.unreadable now, and what was done is forgotten (make grade finds "
                   "out again)\n",
                   path.c_str(), path.c_str());
      return;
    }
}

const Progress& State::seen(const std::string& number) const {
  static const Progress NONE;
  const auto found = all_.find(number);
  return found == all_.end() ? NONE : found->second;
}

void State::save() const {
  std::string text;
  for (const auto& [number, p] : all_) {
    for (const auto& [what, value] :
         {std::pair("hints", p.hints), {"tries", p.tries}, {"done", p.done}, {"shown", p.gave_up}})
      text += number + " " + what + " " + std::to_string(value) + "\n";
    for (const Attempt& a : p.attempts)
      text += number + " said " + (a.right ? "1 " : "0 ") + (a.late ? "1 " : "0 ") + a.say + "\n";
  }
  write_text(path_, text);
}

double Graded::points() const {
  const double prediction = predicts ? OF_PREDICTION : 0;
  return (passed ? MOST - prediction : 0) + (predicted ? prediction : 0);
}

std::string grades_table(const std::vector<Graded>& all) {
  char line[512];
  const auto row = [&](auto... cells) {
    std::snprintf(line, sizeof line, "%-4s %-36s %-11s %-20s %-5s %-5s %6s  ", cells...);
  };
  row("n", "name", "kind", "prediction", "tries", "hints", "points");
  std::string text = line + std::string("\n");
  double points = 0;
  for (const Graded& g : all) {
    points += g.points();
    const std::string tries = std::to_string(g.tries), hints = std::to_string(g.hints),
                      got = std::to_string(int(g.points()));
    row(g.number.c_str(), g.name.c_str(), g.kind.c_str(), g.predicts ? g.attempts.c_str() : "-", tries.c_str(),
        hints.c_str(), got.c_str());
    text += line + (g.passed ? passed(g) : "RED, " + g.step + ": " + g.says) +
            (g.gave_up ? "  [LOOK: the solution was shown before it passed]" : "") + "\n";
  }
  std::snprintf(line, sizeof line, "%g of %g points\n", points, Graded::MOST * double(all.size()));
  return text + line;
}

std::string grades_json(const std::vector<Graded>& all) {
  std::string tests;
  char points[64];
  for (const Graded& g : all) {
    std::snprintf(points, sizeof points, "\"score\": %g, \"max_score\": %g", g.points(), Graded::MOST);
    // Which step was red, and its line; never the seed, which is for repeating the run.
    const std::string output =
        (g.passed ? passed(g) : g.step + ": " + g.says) + (g.predicts ? "; prediction: " + g.attempts : "");
    tests += (tests.empty() ? "" : ",\n") + std::string("  {\"number\": ") + quoted(g.number) +
             ", \"name\": " + quoted(g.name) + ", " + points + ", \"output\": " + quoted(output) + "}";
  }
  return "{\"tests\": [\n" + tests + "\n]}\n";
}

std::string answers_file(const Exercise& e) { return e.dir() + "/ANSWERS.md"; }

std::string answers_sheet(const Exercise& e) {
  if (e.questions.empty()) return "";
  std::string text = "# " + e.number() + " " + e.name + ": answers\n\nWrite below each question, in a few sentences.\n";
  for (std::size_t i = 0; i < e.questions.size(); ++i)
    text += "\n## " + std::to_string(i + 1) + ". " + replaced(e.questions[i], "\n", " ") + "\n\n";
  return text;
}

// grade MAKE JSON SEED ASSIGNED
int grade_command(const Args& args) {
  const std::string &make = args[0], &json = args[1], assigned = replaced(args[3], ",", " ");
  const std::uint64_t seed = args[2].empty() ? std::random_device{}() % 1'000'000'000u
                                             : whole_number<std::uint64_t>("seed", args[2], 0, UINT64_MAX);
  const Course course = read_course();
  const State state;
  std::vector<const Exercise*> asked;
  for (const std::string& word : words_of(assigned))
    if (const Exercise* e = &course.find(word); std::ranges::find(asked, e) == asked.end()) asked.push_back(e);
  if (asked.empty() && !args[3].empty()) throw BadInput("assigned=" + args[3] + " names no exercise");
  // Else what is laid out, or anything was done of: it counts whether it was handed in or not.
  for (const Exercise& e : course.all)
    if (const Progress& p = state.seen(e.number());
        args[3].empty() && (fs::exists(e.dir()) || !p.attempts.empty() || p.hints > 0 || p.gave_up))
      asked.push_back(&e);
  const Stopwatch watch;
  std::vector<Graded> all;
  std::string answers;  // for a person to grade
  for (const Exercise* e : asked) {
    all.push_back(graded(*e, state.seen(e->number()), make, seed));
    const std::string written = fs::exists(answers_file(*e)) ? read_text(answers_file(*e)) : "";
    if (!written.empty() && written != answers_sheet(*e)) answers += "\n" + written;
  }
  if (!json.empty()) write_text(json, grades_json(all));
  if (all.empty()) {
    std::printf("nothing is begun: there is no exercise in work/\n");
    return 1;
  }
  std::printf("%sseed %llu, %.0f s\n%s", grades_table(all).c_str(), (unsigned long long)seed, watch.seconds(),
              answers.c_str());
  return std::ranges::all_of(all, &Graded::passed) ? 0 : 1;
}

}  // namespace lab::desk
