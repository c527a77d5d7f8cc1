// An exercise's card: what to do, and what to type.
#include "checks/exercises/learn/exercise.hpp"
#include "common/stage_names.hpp"

namespace lab::desk {
namespace {

// What is looked for in an output, of a rule or of a number.
std::string elements_that(const Exercise& e) {
  return e.seen == "nan"         ? "elements are NaN"
         : e.seen == "unwritten" ? "elements are never written"
                                 : "elements are wrong";
}

std::string to_predict(const Exercise& e) {
  const std::string at = " at shape=" + e.shape,
                    typed = "    " + e.command("predict") + " say=", inputs = " (" + e.inputs + " inputs)";
  if (e.predict == "mask")
    return "First say which " + (e.seen == "rows" ? "rows have a wrong element" : elements_that(e)) + at + inputs +
           ", as a rule over b h row col S D causal" +
           (e.backward ? ", and dq dk dv, one of which is 1:\n\n" + typed + "'dk && row % 16 < 4'\n\n"
                       : ":\n\n" + typed + "'row % 16 < 4 && col >= 32'\n\n");
  if (e.predict == "formula") {
    std::string text = "First say what comes out. One of these:\n\n";
    for (const std::string& name : e.menu) text += "- `" + name + "`\n";
    return text + "\n" + typed + "NAME\n\n(`" + e.command("predict") + "` says what they mean.)\n\n";
  }
  if (e.seen == "told") return "First say a number:\n\n" + e.asks + "\n\n" + typed + "1000\n\n";
  if (e.predict == "count")
    return "First say how many " +
           (e.seen == "findings"    ? "pairs of lines the race check will name"
            : e.seen == "different" ? "different outputs six orders of blocks give"
                                    : elements_that(e)) +
           at + inputs + ":\n\n" + typed + "1000\n\n";
  if (e.predict == "lines")
    return "First say which two lines of kernel.cu the race check will name together," + at + ":\n\n" + typed +
           "'100 200'\n\n";
  if (e.predict == "counts")
    return "Say how often the first block of " + e.shape + " does each of these:\n\n    " + prediction_asked(e) +
           "\n\n";
  return "";
}

}  // namespace

std::string card(const Exercise& e) {
  const bool works = !e.handed_in().empty();
  std::string text = "# " + e.number() + " " + e.name + "\n\n" + std::to_string(e.minutes) + " minutes";
  if (!e.is_drill()) text += "; stage [" + e.stage + "](../../writeups/stages/" + e.stage + ".md)";
  if (!e.after.empty()) text += "; after " + joined(e.after, ", ");
  text += "\n\n" + e.symptom + "\n";
  if (e.kind == "fix" || e.kind == "hole")
    text += "\nThe page of " + short_stage_name(e.stage) + " and " + e.kernel() +
            " show the right lines: keep both closed.\n";
  if (!e.questions.empty()) {
    text += "\n## Questions\n\n";
    for (std::size_t i = 0; i < e.questions.size(); ++i)
      text += std::to_string(i + 1) + ". " + replaced(e.questions[i], "\n", "\n   ") + "\n";
    text += "\nANSWERS.md in this folder is for what you write; `make grade` collects it for a person to read.\n";
  }
  if (!e.limits.empty()) {
    const char* who = e.is_drill() ? "all blocks of a launch do"
                      : e.backward ? "the first block of each kernel does"
                                   : "one block does";
    text += "\n## Bounds\n\nWhat " + std::string(who) +
            " is counted ([the words](../../writeups/counters.md#by-one-word)):\n\n";
    for (const std::string& limit : e.limits) text += "- " + limit + "\n";
  }
  text += "\n## Commands\n\n" + to_predict(e);
  const auto line = [&](const std::string& goal, const std::string& more, const std::string& says) {
    const std::string typed = "    " + e.command(goal) + more,
                      spaces(goal.size() + more.size() < 16 ? 19 - goal.size() - more.size() : 3, ' ');
    text += typed + spaces + says + "\n";
  };
  text += works ? (e.predict == "none" ? "Work on " : "Then work on ") + e.handed_in() + " in this folder:\n\n"
                : "And:\n\n";
  if (works) line("try", "", "the checks, from cheap to dear, up to the first that is red");
  line("hint", "", "one of three, more telling each time; counted");
  if (works) line("exercise", " again=1", "as it was handed out; a copy of your work is kept");
  line("solution", "", "when it is done, or with give-up=1");
  return text;
}

}  // namespace lab::desk
