#include "checks/desk/learn/answers.hpp"

#include "checks/desk/desk.hpp"

namespace lab::desk {
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
