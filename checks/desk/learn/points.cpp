#include "checks/desk/learn/points.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

#include "checks/desk/desk.hpp"
#include "common/number.hpp"

namespace lab::desk {

double Graded::points() const {
  const double prediction = predicts ? OF_PREDICTION : 0;
  return (passed ? MOST - prediction : 0) + (predicted ? prediction : 0);
}

static std::string passed(const Graded& g) { return g.gpu.empty() ? "passed" : "passed here; on a GPU: " + g.gpu; }

std::string grades_table(const std::vector<Graded>& all) {
  char line[512];
  std::snprintf(line, sizeof line, "%-4s %-24s %-11s %-14s %-5s %-5s %6s  %s\n", "n", "name", "kind", "prediction",
                "tries", "hints", "points", "");
  std::string text = line;
  double points = 0, most = 0;
  for (const Graded& g : all) {
    points += g.points(), most += g.most();
    std::snprintf(line, sizeof line, "%-4s %-24s %-11s %-14s %-5d %-5d %6g  ", g.number.c_str(), g.name.c_str(),
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

}  // namespace lab::desk
