// What is handed out: the kernel without a trace of how it was made; and what solves it.
#include <unistd.h>

#include "checks/exercises/learn/exercise.hpp"

namespace lab::desk {
namespace {

// From this many characters on, two equal lines are no coincidence.
constexpr std::size_t TELLING = 12;

std::string squeezed(const std::string& text) {
  std::string result;
  for (const char c : text)
    if (!std::isspace(static_cast<unsigned char>(c))) result += c;
  return result;
}

std::string comment_of(const std::string& line) {
  return without_comments(line) == line ? "" : line.substr(std::min(line.find("//"), line.size()));
}

// A bug's name as a whole word, in any case, with - for _ as well.
bool names(std::string text, std::string bug) {
  for (std::string* one : {&text, &bug})
    for (char& c : *one) c = c == '-' ? '_' : char(std::tolower(static_cast<unsigned char>(c)));
  for (std::size_t at = text.find(bug); at != text.npos; at = text.find(bug, at + 1)) {
    const std::size_t end = at + bug.size();
    if ((at == 0 || !in_name(text[at - 1])) && (end == text.size() || !in_name(text[end]))) return true;
  }
  return false;
}

// Whether the stage's own kernel is handed out: then NAME.solution is the patch that betters it.
bool mends_the_stage(const Exercise& e) { return e.kind == "faster" && fs::exists(e.beside(".solution")); }

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

std::string difference(const std::string& before, const std::string& after, const std::string& of) {
  const std::string base = (fs::temp_directory_path() / ("lab-solution-" + std::to_string(getpid()))).string();
  write_text(base + "-a", before), write_text(base + "-b", after);
  const Ran diff = capture({"diff", "-u", "--label", "a/" + of, "--label", "b/" + of, base + "-a", base + "-b"});
  fs::remove(base + "-a"), fs::remove(base + "-b");
  if (diff.status > 1) throw BadInput("diff cannot be run; it comes with diffutils");
  return diff.out;
}

}  // namespace

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
      else if (c == '"')
        in = In::string;
      else if (c == '\'' && (result.empty() || !std::isalnum(static_cast<unsigned char>(result.back()))))
        in = In::character;
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

std::string planted_text(const std::string& patch, const std::string& source, bool all) {
  std::set<std::string> kept;  // comments that the right kernel has, too
  for (const std::string& line : lines_of(read_text(patch)))
    if (line.starts_with("-") && !line.starts_with("--- ")) kept.insert(comment_of(line.substr(1)));
  const Ran patched = capture(with({"sh", "checks/scripts/patched.sh", patch}, source.empty() ? Argv{} : Argv{source}));
  if (patched.status != 0) throw BadInput(trimmed(patched.err, "\n"));
  std::string text;
  bool added = false;
  for (const std::string& line : lines_of(patched.out)) {
    if (line.starts_with("#line "))
      added = line.ends_with("\"" + patch + "\"");
    else if (all || !added || line.empty() || kept.contains(comment_of(line)))
      text += line + "\n";
    else if (const std::string code = without_comments(line); !trimmed(code).empty())
      text += code.substr(0, code.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string handed_out(const Exercise& e) {
  if (e.kind == "capstone") return read_text("stages/" + e.from + "/kernel.cu");
  if (e.kind == "test") return read_text(e.beside(".txt"));
  if (e.kind == "predict") return "";
  if (e.is_drill()) return drill_text(e, false);
  if (mends_the_stage(e)) return read_text(e.kernel());
  return planted_text(e.beside(".patch"), "", e.kind != "fix");  // a hole's comments say what is to be done
}

std::string solution(const Exercise& e) {
  if (e.kind == "test") return read_text(e.beside(".solution"));
  if (e.is_drill()) return drill_text(e, true);
  return mends_the_stage(e) ? planted_text(e.beside(".solution"), "", true) : read_text(e.kernel());
}

std::string solution_shown(const Exercise& e) {
  if (e.kind == "predict") return e.right + "\n";
  if (e.kind == "test") return solution(e);
  std::string text = difference(handed_out(e), solution(e), e.kind == "capstone" ? e.kernel() : e.file());
  if (!e.bug.empty()) text += "\nThe bug is " + e.bug + ": writeups/bugs/" + e.bug + ".md\n";
  for (std::size_t i = 0; i < e.answers.size(); ++i)
    text += "\n" + std::to_string(i + 1) + ". " + e.questions[i] + "\n\n" + e.answers[i] + "\n";
  return text;
}

Half half_solution(const Exercise& e, const std::string& partly) {
  const auto wrong = [&](const std::string& what) { return BadInput(e.path + ": `partly: " + partly + "`: " + what); };
  const std::size_t colon = partly.find(": ");
  if (colon == partly.npos) throw wrong("must be STEP: OLD => NEW");
  Half half{partly.substr(0, colon), solution(e)};
  if (const std::size_t at = half.step.find(" ("); at != half.step.npos && half.step.ends_with(")"))
    half.says = half.step.substr(at + 2, half.step.size() - at - 3), half.step.resize(at);
  constexpr std::string_view THEN = " ;; ", BECOMES = " => ";
  for (std::string rest = partly.substr(colon + 2); !rest.empty();) {
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

std::string leak(const Exercise& e) {
  std::vector<std::pair<std::string, std::string>> texts = {{"name", e.name}, {"card", card(e)}};
  for (std::size_t i = 0; i < e.hints.size(); ++i) texts.emplace_back("hint " + std::to_string(i + 1), e.hints[i]);
  const std::string handed = handed_out(e), solved = e.kind == "predict" ? "" : solution(e);
  if (!e.handed_in().empty()) texts.emplace_back(e.handed_in(), handed);
  for (const auto& [where, text] :
       texts)  // what the right kernel contains anyway, an instruction's argument, gives nothing away
    if (!e.bug.empty() && names(text, e.bug) && !(text == handed && names(solved, e.bug)))
      return e.path + ": the " + where + " holds the bug's name, " + e.bug;
  if (e.kind == "capstone" || e.kind == "test" || e.kind == "predict") return "";
  const std::string all_handed = squeezed(without_comments(handed));
  for (auto& [where, text] : texts) text = squeezed(text);
  for (const std::string& line : lines_of(solved)) {
    const std::string solving = squeezed(without_comments(line));
    if (solving.size() < TELLING || all_handed.find(solving) != all_handed.npos) continue;
    for (const auto& [where, text] : texts)
      if (text.find(solving) != text.npos)
        return e.path + ": the " + where + " holds a line of the solution: " + trimmed(line);
  }
  return "";
}

}  // namespace lab::desk
