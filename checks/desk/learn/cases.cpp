#include "checks/desk/learn/cases.hpp"

#include <algorithm>

#include "checks/desk/desk.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/learn/handout.hpp"
#include "checks/desk/patch.hpp"

namespace lab::desk {

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
    all.push_back({planted_text(patch_path(e.stage, bug.name), right),
                   e.number() + "-suspect-" + std::to_string(++number), !bug.right()});
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
