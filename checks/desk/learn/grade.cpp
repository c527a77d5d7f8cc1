// desk-work grade, assigned: a whole submission, with inputs and shapes not seen before; and a learner's state.
#include <nlohmann/json.hpp>
#include <random>

#include "checks/desk/learn/learn.hpp"
#include "common/number.hpp"

namespace lab::desk {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Attempt, say, right, late)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Progress, hints, tries, predictions, predicted, done, gave_up,
                                                prediction, attempts)
static constexpr const char* SCHEMA = "exercises-1";

State::State(const std::string& path) : path_(path) {
  if (!fs::exists(path)) return;
  try {
    const auto json = nlohmann::json::parse(read_text(path));
    if (json.at("schema") != SCHEMA) throw BadInput("another schema");
    all_ = json.at("exercises").get<std::map<std::string, Progress>>();
  } catch (const std::exception&) {
    const std::string aside = path + ".unreadable";
    std::error_code failed;
    fs::rename(path, aside, failed);
    trouble = path + " could not be read: it is " + aside +
              " now, and what was done is forgotten (make grade finds out again)";
  }
}

const Progress& State::seen(const std::string& number) const {
  static const Progress NONE;
  const auto found = all_.find(number);
  return found == all_.end() ? NONE : found->second;
}

void State::save() const { write_text(path_, nlohmann::json{{"schema", SCHEMA}, {"exercises", all_}}.dump(1) + "\n"); }

double Graded::points() const {
  const double prediction = predicts ? OF_PREDICTION : 0;
  return (passed ? MOST - prediction : 0) + (predicted ? prediction : 0);
}

static std::string passed(const Graded& g) { return g.gpu.empty() ? "passed" : "passed here; on a GPU: " + g.gpu; }

std::string grades_table(const std::vector<Graded>& all) {
  char line[512];
  std::snprintf(line, sizeof line, "%-4s %-24s %-11s %-20s %-5s %-5s %6s  %s\n", "n", "name", "kind", "prediction",
                "tries", "hints", "points", "");
  std::string text = line;
  double points = 0, most = 0;
  for (const Graded& g : all) {
    points += g.points(), most += g.most();
    std::snprintf(line, sizeof line, "%-4s %-24s %-11s %-20s %-5d %-5d %6g  ", g.number.c_str(), g.name.c_str(),
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

std::string gradescope_json(const std::vector<Graded>& all, unsigned long long seed, double seconds) {
  using Json = nlohmann::ordered_json;
  Json tests = Json::array(), flags = Json::object(), seen = Json::object();
  for (const Graded& g : all) {
    // Which step was red, and its line; never the seed, which is for whoever has to repeat the run.
    const std::string output = g.passed ? passed(g) : g.step + ": " + g.says;
    tests.push_back({{"number", g.number},
                     {"name", g.name},
                     {"score", g.points()},
                     {"max_score", g.most()},
                     {"status", g.passed ? "passed" : "failed"},
                     {"output", output + (g.predicts ? "; prediction: " + g.attempts : "")},
                     {"visibility", "visible"}});
    if (!g.answers.empty())
      tests.push_back({{"number", g.number},
                       {"name", g.name + ": written answers"},
                       {"output", answers_of(g)},
                       {"visibility", "visible"}});
    if (!g.flags.empty()) flags[g.number] = g.flags;
    seen[g.number] = {{"prediction", g.attempts}, {"tries", g.tries}, {"hints", g.hints}, {"gave_up", g.gave_up}};
  }
  const Json results = {{"execution_time", seconds},
                        {"visibility", "visible"},
                        {"stdout_visibility", "hidden"},
                        {"tests", tests},
                        // Students do not see this.
                        {"extra_data", {{"seed", seed}, {"look", flags}, {"learner", seen}}}};
  // A learner's file may hold any bytes, and a compiler quotes them.
  return results.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::uint64_t seed_of(const std::string& text) {
  if (text.empty()) return std::random_device{}() % 1'000'000'000u;
  return whole_number<std::uint64_t>("seed", text, 0, UINT64_MAX);
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
  const Stopwatch watch;
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
        g.passed = outcome.passed(), g.step = outcome.step, g.says = outcome.says;
        g.flags = copied_from(e, text);
      }
      if (p.gave_up) g.flags = "the solution was shown before it passed" + (g.flags.empty() ? "" : "; " + g.flags);
    } else {
      g.says = e.handed_in().empty() ? "nothing was predicted" : e.file() + " is missing, or as it was handed out";
    }
    all.push_back(g);
  }
  const double seconds = watch.seconds();
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
