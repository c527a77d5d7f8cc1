// desk-work grade: what was handed in, with inputs and shapes not seen before; and a learner's state.
#include <random>

#include "checks/desk/learn/learn.hpp"
#include "common/number.hpp"

namespace lab::desk {

// A line for each fact: "07 hints 2", "07 tries 3", "07 done 1", "07 shown 1", and "07 said RIGHT LATE WORDS" for each prediction.
State::State(const std::string& path) : path_(path) {
  if (!fs::exists(path)) return;
  const auto count = [](const std::string& text) { return number_in<int>(text, 0, 1'000'000); };
  for (const std::string& line : lines_of(read_text(path))) {
    const std::vector<std::string> words = words_of(line);
    const auto value = words.size() < 3 ? std::nullopt : count(words[2]);
    Progress& p = all_[words.empty() ? "" : words[0]];
    if (!value) {
    } else if (words[1] == "hints") {
      p.hints = *value;
      continue;
    } else if (words[1] == "tries") {
      p.tries = *value;
      continue;
    } else if (words[1] == "done" || words[1] == "shown") {
      (words[1] == "done" ? p.done : p.gave_up) = *value != 0;
      continue;
    } else if (words[1] == "said" && words.size() > 3 && count(words[3])) {
      p.attempts.push_back({joined({words.begin() + 4, words.end()}, " "), *value != 0, *count(words[3]) != 0});
      continue;
    }
    all_.clear();
    const std::string aside = path + ".unreadable";
    fs::rename(path, aside);
    trouble = path + " could not be read: it is " + aside +
              " now, and what was done is forgotten (make grade finds out again)";
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

static std::string passed(const Graded& g) { return g.gpu.empty() ? "passed" : "passed here; on a GPU: " + g.gpu; }

std::string grades_table(const std::vector<Graded>& all) {
  char line[512];
  std::snprintf(line, sizeof line, "%-4s %-36s %-11s %-20s %-5s %-5s %6s  %s\n", "n", "name", "kind", "prediction",
                "tries", "hints", "points", "");
  std::string text = line;
  double points = 0, most = 0;
  for (const Graded& g : all) {
    points += g.points(), most += g.most();
    std::snprintf(line, sizeof line, "%-4s %-36s %-11s %-20s %-5d %-5d %6g  ", g.number.c_str(), g.name.c_str(),
                  g.kind.c_str(), g.predicts ? g.attempts.c_str() : "-", g.tries, g.hints, g.points());
    text += line + (g.passed ? passed(g) : "RED, " + g.step + ": " + g.says) +
            (g.flags.empty() ? "" : "  [LOOK: " + g.flags + "]") + "\n";
  }
  std::snprintf(line, sizeof line, "%g of %g points\n", points, most);
  return text + line;
}

static std::string answers_of(const Graded& g) {
  std::string text;
  for (const Answer& a : g.answers)
    text += "  " + a.question + "\n    " + (a.text.empty() ? "(nothing written)" : joined(lines_of(a.text), "\n    ")) +
            "\n";
  return text;
}

std::string answers_text(const std::vector<Graded>& all) {
  std::string text;
  for (const Graded& g : all)
    if (!g.answers.empty()) text += g.number + " " + g.name + "\n" + answers_of(g);
  return text.empty() ? "" : "\nWritten answers, for a person to grade:\n" + text;
}

// A text as JSON has it. A learner's file may hold any bytes, and a compiler quotes them.
static std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~';
    if (c == '"' || c == '\\') result += '\\';
    result += plain ? std::string(1, c) : c == '\n' ? "\\n" : "?";
  }
  return result + "\"";
}

std::string grades_json(const std::vector<Graded>& all) {
  std::string tests;
  char points[64];
  for (const Graded& g : all) {
    std::snprintf(points, sizeof points, "\"score\": %g, \"max_score\": %g", g.points(), g.most());
    // Which step was red, and its line; never the seed, which is for whoever has to repeat the run.
    const std::string output =
        (g.passed ? passed(g) : g.step + ": " + g.says) + (g.predicts ? "; prediction: " + g.attempts : "");
    tests += (tests.empty() ? "" : ",\n") + std::string("  {\"number\": ") + quoted(g.number) +
             ", \"name\": " + quoted(g.name) + ", " + points + ", \"output\": " + quoted(output) + "}";
  }
  return "{\"tests\": [\n" + tests + "\n]}\n";
}

namespace {

// "## 2. Where ...": what an answer stands below.
std::string heading(std::size_t i) { return "## " + std::to_string(i + 1) + ". "; }

// Laid out, or anything done of it: then it counts, whether it was handed in or not.
bool is_begun(const Exercise& e, const Progress& p) {
  return fs::exists(e.dir()) || !p.attempts.empty() || p.hints > 0 || p.gave_up;
}

bool is_handed_in(const Exercise& e, const Progress& p) {
  if (e.handed_in().empty()) return !p.attempts.empty();
  return fs::exists(e.file()) && read_text(e.file()) != handed_out(e);
}

// Numbers or names; a comma is a blank.
std::vector<const Exercise*> assigned_in(const Course& course, const std::string& text) {
  std::string words = text;
  std::ranges::replace(words, ',', ' ');
  std::vector<const Exercise*> all;
  for (const std::string& word : words_of(words)) {
    const Exercise* e = &course.find(word);
    if (std::ranges::find(all, e) == all.end()) all.push_back(e);
  }
  if (all.empty()) throw BadInput("assigned=" + text + " names no exercise");
  return all;
}

// "attempt 2 of 3": the second was right.
std::string attempts_of(const Progress& p) {
  if (p.attempts.empty()) return "none";
  const std::string all = std::to_string(p.attempts.size());
  const auto right = std::ranges::find_if(p.attempts, [](const Attempt& a) { return a.right; });
  if (right == p.attempts.end()) return "none of " + all + " right";
  const std::string nth = std::to_string(right - p.attempts.begin() + 1);
  // "late": made when the kernel had passed, or its solution was shown.
  return "attempt " + nth + " of " + all + (right->late ? ", late" : "");
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

std::string answers_file(const Exercise& e) { return e.dir() + "/ANSWERS.md"; }

std::string answers_sheet(const Exercise& e) {
  if (e.questions.empty()) return "";
  std::string text = "# " + e.number() + " " + e.name + ": answers\n\nWrite below each question, in a few sentences.\n";
  for (std::size_t i = 0; i < e.questions.size(); ++i)
    text += "\n" + heading(i) + joined(lines_of(e.questions[i]), " ") + "\n\n";
  return text;
}

std::vector<Answer> answers_in(const Exercise& e, const std::string& text) {
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < e.questions.size(); ++i) {
    Answer answer{joined(lines_of(e.questions[i]), " "), ""};
    bool below = false;
    for (const std::string& line : lines_of(text)) {
      if (line.starts_with("## "))
        below = line.starts_with(heading(i));
      else if (below)
        answer.text += line + "\n";
    }
    answer.text = trimmed(answer.text, " \t\n");
    answers.push_back(answer);
  }
  return answers;
}

int grade_command(const Args& args) {
  const std::string &make = args[0], &json = args[1];
  const std::uint64_t seed = args[2].empty() ? std::random_device{}() % 1'000'000'000u
                                             : whole_number<std::uint64_t>("seed", args[2], 0, UINT64_MAX);
  const Course course = read_course();
  const State state;
  if (!state.trouble.empty()) std::fprintf(stderr, "%s\n", state.trouble.c_str());
  std::vector<const Exercise*> asked;
  if (!args[3].empty()) asked = assigned_in(course, args[3]);
  for (const Exercise& e : course.all)
    if (args[3].empty() && is_begun(e, state.seen(e.number()))) asked.push_back(&e);
  const Stopwatch watch;
  std::vector<Graded> all;
  for (const Exercise* one : asked) {
    const Exercise& e = *one;
    const Progress& p = state.seen(e.number());
    Graded g{e.number(), e.name, e.kind, false, "not handed in", "", e.predict != "none", false, p.hints};
    g.attempts = attempts_of(p), g.gpu = joined(lines_of(e.gpu), " ");
    g.tries = p.tries;
    g.answers = answers_in(e, fs::exists(answers_file(e)) ? read_text(answers_file(e)) : "");
    const bool in_time = !p.attempts.empty() && !p.attempts[0].late;
    g.predicted = g.predicts && in_time && predicts_again(e, make, p.attempts[0].say);
    if (is_handed_in(e, p)) {
      std::fprintf(stderr, "grading %s ...\n", e.number().c_str());
      if (e.handed_in().empty()) {
        g.passed = g.predicted || predicts_again(e, make, p.last_right());
        g.step = "prediction", g.says = "it does not hold";
      } else {
        const Outcome outcome =
            check_work(e, make, read_text(e.file()), e.number() + "-graded", e.file(), {true, seed});
        g.passed = outcome.passed(), g.step = outcome.step, g.says = outcome.says;
      }
      if (p.gave_up) g.flags = "the solution was shown before it passed";
    } else {
      g.says = e.handed_in().empty() ? "nothing was predicted" : e.file() + " is missing, or as it was handed out";
    }
    all.push_back(g);
  }
  const double seconds = watch.seconds();
  if (!json.empty()) write_text(json, grades_json(all));
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
