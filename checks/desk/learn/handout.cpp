#include "checks/desk/learn/learn.hpp"

namespace lab::desk {
namespace {

std::string right_trimmed(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return text;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; }

// A bug's name as a whole word, in any case, with - for _ as well.
bool names(const std::string& text, const std::string& bug) {
  const auto plain = [](char c) { return c == '-' ? '_' : char(std::tolower(static_cast<unsigned char>(c))); };
  for (std::size_t at = 0; at + bug.size() <= text.size(); ++at) {
    const bool here = std::equal(bug.begin(), bug.end(), text.begin() + std::ptrdiff_t(at),
                                 [&](char a, char b) { return plain(a) == plain(b); });
    if (here && (at == 0 || !is_word(text[at - 1])) &&
        (at + bug.size() == text.size() || !is_word(text[at + bug.size()])))
      return true;
  }
  return false;
}

// Whether the stage's own kernel is handed out: then NAME.solution is the patch that betters it.
bool mends_the_stage(const Exercise& e) { return e.kind == "faster" && fs::exists(e.beside(".solution")); }

// The patch that makes the exercise, unless it is a drill: a bug's, the one that digs the hole, or the one that betters the stage.
std::string patch_of(const Exercise& e) {
  if (!e.bug.empty()) return patch_path(e.stage, e.bug);
  return e.beside(mends_the_stage(e) ? ".solution" : ".patch");
}

// A drill's file is both: lines between #ifdef SOLUTION, #else and #endif are the solution's, or what is handed out.
std::string drill_text(const Exercise& e, bool solved) {
  std::string text;
  std::optional<bool> within;  // the solution's part, or the other
  for (const std::string& line : lines_of(read_text(e.beside(".cu"))))
    if (line == "#ifdef SOLUTION")
      within = true;
    else if (within && line == "#else")
      within = false;
    else if (within && line == "#endif")
      within.reset();
    else if (within.value_or(solved) == solved)
      text += line + "\n";
  return text;
}

}  // namespace

std::string comment_of(const std::string& line) {
  const std::string code = without_comments(line);
  return line.size() > code.size() || line != code ? line.substr(std::min(line.find("//"), line.size())) : "";
}

std::string squeezed(const std::string& text) {
  std::string result;
  for (const char c : text)
    if (!std::isspace(static_cast<unsigned char>(c))) result += c;
  return result;
}

std::string without_comments(const std::string& text) {
  std::string result;
  enum class In { code, string, character, line, block } in = In::code;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (in == In::line && c == '\n') in = In::code;
    if (in == In::code) {
      if (c == '/' && next == '/')
        in = In::line;
      else if (c == '/' && next == '*')
        in = In::block, ++i;
      else
        in = c == '"'                                                                                    ? In::string
             : c == '\'' && (result.empty() || !std::isalnum(static_cast<unsigned char>(result.back()))) ? In::character
                                                                                                         : In::code;
      if (in == In::line || in == In::block) continue;
    } else if (in == In::string || in == In::character) {
      if (c == '\\') {
        result += c, result += next, ++i;
        continue;
      }
      if (c == (in == In::string ? '"' : '\'')) in = In::code;
    } else if (in == In::block) {
      if (c == '*' && next == '/') in = In::code, ++i, result += ' ';
      if (c == '\n') result += c;
      continue;
    } else {
      continue;
    }
    result += c;
  }
  return result;
}

std::string planted_text(const std::string& path, const std::string& source) {
  std::set<std::string> kept;  // comments that the right kernel has, too
  for (const PatchLine& line : read_patch(path).changes)
    if (!line.added) kept.insert(comment_of(line.text));
  std::string text;
  for (const SourceLine& line : patched_lines(path, source)) {
    if (!line.added || kept.contains(comment_of(line.text))) {
      text += line.text + "\n";
      continue;
    }
    const std::string code = right_trimmed(without_comments(line.text));
    if (!code.empty() || line.text.empty()) text += code + "\n";
  }
  return text;
}

std::string handed_out(const Exercise& e) {
  if (e.kind == "fix") return planted_text(patch_of(e));
  if (e.kind == "capstone") return read_text(kernel_path(e.from));
  if (e.kind == "test") return read_text(e.beside(".txt"));
  if (e.kind == "predict") return "";
  if (e.is_drill()) return drill_text(e, false);
  // An improvement that fits the stage's own kernel is made in the solution.
  if (mends_the_stage(e)) return read_text(kernel_path(e.stage));
  // A hole's comments say what is to be done.
  return patched_text(patch_of(e));
}

std::string solution(const Exercise& e) {
  if (e.kind == "test") return read_text(e.beside(".solution"));
  if (e.is_drill()) return drill_text(e, true);
  if (mends_the_stage(e)) return patched_text(e.beside(".solution"));
  return read_text(kernel_path(e.stage));
}

Half half_solution(const Exercise& e, const std::string& partly) {
  constexpr std::string_view THEN = " ;; ", BECOMES = " => ";
  const auto wrong = [&](const std::string& what) { return BadInput(e.path + ": `partly: " + partly + "`: " + what); };
  const std::size_t colon = partly.find(": ");
  if (colon == partly.npos) throw wrong("must be STEP: OLD => NEW");
  Half half{partly.substr(0, colon), solution(e)};
  if (const std::size_t at = half.step.find(" ("); at != half.step.npos && half.step.ends_with(")"))
    half.says = half.step.substr(at + 2, half.step.size() - at - 3), half.step.resize(at);
  std::string rest = partly.substr(colon + 2);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(THEN), rest.size());
    const std::string edit = replaced(rest.substr(0, end), "\\n", "\n");
    rest.erase(0, end + THEN.size());
    const std::size_t arrow = edit.find(BECOMES);
    if (arrow == edit.npos) throw wrong("must be STEP: OLD => NEW");
    const std::string old = edit.substr(0, arrow);
    const std::size_t at = place_of(old, half.source, e.path + ": `partly:`", "the solution");
    half.source.replace(at, old.size(), edit.substr(arrow + BECOMES.size()));
  }
  return half;
}

std::string solution_shown(const Exercise& e) {
  if (e.kind == "predict") return e.right + "\n";
  if (e.kind == "test") return solution(e);
  const std::string where = e.kind == "capstone" ? kernel_path(e.stage) : e.file();
  std::string text = unified_diff(handed_out(e), solution(e), where);
  if (!e.bug.empty()) text += "\nThe bug is " + e.bug + ": writeups/bugs/" + e.bug + ".md\n";
  for (std::size_t i = 0; i < e.answers.size(); ++i)
    text += "\n" + std::to_string(i + 1) + ". " + e.questions[i] + "\n\n" + e.answers[i] + "\n";
  return text;
}

std::string card(const Exercise& e) {
  const std::string n = "n=" + std::to_string(e.n);
  std::string text = "# " + e.number() + " " + e.name + "\n\n";
  text += std::to_string(e.minutes) + " minutes";
  if (!e.stage.empty() && !e.is_drill()) text += "; stage [" + e.stage + "](../../writeups/stages/" + e.stage + ".md)";
  if (!e.after.empty()) text += "; after " + joined(e.after, ", ");
  text += "\n\n" + e.symptom + "\n";
  if (e.kind == "fix" || e.kind == "hole")
    text += "\nThe page of " + short_stage_name(e.stage) + " and stages/" + e.stage +
            "/kernel.cu show the right lines: keep both closed.\n";
  if (!e.questions.empty()) {
    text += "\n## Questions\n\n";
    int i = 0;
    for (const std::string& question : e.questions) {
      const std::vector<std::string> lines = lines_of(question);
      text += std::to_string(++i) + ". " + joined(lines, "\n   ") + "\n";
    }
    text += "\nANSWERS.md in this folder is for what you write; `make grade` collects it for a person to read.\n";
  }
  if (!e.limits.empty()) {
    text += "\n## Bounds\n\nWhat " +
            std::string(e.is_drill() ? "all blocks of a launch do"
                        : e.backward ? "the first block of each kernel does"
                                     : "one block does") +
            " is counted ([the words](../../writeups/counters.md#by-one-word)):\n\n";
    for (const std::string& limit : e.limits) text += "- " + limit + "\n";
  }
  text += "\n## Commands\n\n";
  if (e.predict == "mask")
    text += "First say which " +
            std::string(e.seen == "nan"         ? "elements are NaN"
                        : e.seen == "unwritten" ? "elements are never written"
                        : e.seen == "rows"      ? "rows have a wrong element"
                                                : "elements are wrong") +
            " at shape=" + e.shape + " (" + e.inputs + " inputs), as a rule over b h row col S D causal" +
            (e.backward ? std::string(", and dq dk dv, one of which is 1:\n\n    make predict ") + n +
                              " say='dk && row % 16 < 4'\n\n"
                        : ":\n\n    make predict " + n + " say='row % 16 < 4 && col >= 32'\n\n");
  if (e.predict == "formula") {
    text += "First say what comes out. One of these:\n\n";
    for (const std::string& name : e.menu) text += "- `" + name + "`\n";
    text += "\n    make predict " + n + " say=NAME\n\n(`make predict " + n + "` says what they mean.)\n\n";
  }
  if (e.seen == "told")
    text += "First say a number:\n\n" + e.asks + "\n\n    make predict " + n + " say=1000\n\n";
  else if (e.predict == "count")
    text += "First say how many " +
            std::string(e.seen == "findings"    ? "pairs of lines the race check will name"
                        : e.seen == "different" ? "different outputs six orders of blocks give"
                        : e.seen == "nan"       ? "elements are NaN"
                        : e.seen == "unwritten" ? "elements are never written"
                                                : "elements are wrong") +
            " at shape=" + e.shape + " (" + e.inputs + " inputs):\n\n    make predict " + n + " say=1000\n\n";
  if (e.predict == "lines")
    text += "First say which two lines of kernel.cu the race check will name together, at shape=" + e.shape +
            ":\n\n    make predict " + n + " say='100 200'\n\n";
  if (e.predict == "counts")
    text +=
        "Say how often the first block of " + e.shape + " does each of these:\n\n    " + prediction_asked(e) + "\n\n";
  if (!e.handed_in().empty())
    text += std::string(e.predict == "none" ? "Work" : "Then work") + " on " + e.handed_in() +
            " in this folder:\n\n    make try " + n +
            "                the checks, from cheap to dear, up to the first that is red\n";
  else
    text += "And:\n\n";
  text += "    make hint " + n + "               one of three, more telling each time; counted\n";
  if (!e.handed_in().empty())
    text += "    make exercise " + n + " again=1   as it was handed out; a copy of your work is kept\n";
  text += "    make solution " + n + "           when it is done, or with give-up=1\n";
  return text;
}

std::vector<std::string> leaks(const Exercise& e) {
  std::vector<std::string> found;
  std::vector<std::pair<std::string, std::string>> texts = {{"name", e.name}, {"card", card(e)}};
  for (std::size_t i = 0; i < e.hints.size(); ++i) texts.emplace_back("hint " + std::to_string(i + 1), e.hints[i]);
  const std::string handed = handed_out(e);
  if (!e.handed_in().empty()) texts.emplace_back(e.handed_in(), handed);
  if (!e.bug.empty())
    for (const auto& [where, text] : texts)
      if (names(text, e.bug)) {
        // Text that the right kernel contains anyway, for example an instruction's argument, gives nothing away.
        if (where == e.handed_in() && names(read_text(kernel_path(e.stage)), e.bug)) continue;
        found.push_back(e.path + ": the " + where + " holds the bug's name, " + e.bug);
      }
  if (e.kind == "capstone" || e.kind == "test" || e.kind == "predict") return found;
  const std::string all_handed = squeezed(without_comments(handed));
  for (const std::string& line : lines_of(solution(e))) {
    const std::string solving = squeezed(without_comments(line));
    if (solving.size() < TELLING || all_handed.find(solving) != all_handed.npos) continue;
    for (const auto& [where, text] : texts)
      if (squeezed(text).find(solving) != std::string::npos)
        found.push_back(e.path + ": the " + where + " holds a line of the solution: " + right_trimmed(line));
  }
  return found;
}

}  // namespace lab::desk
