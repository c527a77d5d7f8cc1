// A learner's handout: the kernel without a trace of how it was made, and a card.
#pragma once
#include <string>
#include <vector>

#include "checks/desk/ladder.hpp"
#include "checks/desk/learn/exercise.hpp"

namespace lab::desk {

// `text` without comments, as a compiler sees it: // and /* */ outside strings. Lines stay lines.
std::string without_comments(const std::string& text);
// The comment of a line, "" where there is none; a text without blanks.
std::string comment_of(const std::string& line);
std::string squeezed(const std::string& text);
// From this many characters on, two equal lines or comments are no coincidence.
inline constexpr std::size_t TELLING = 12;

// The kernel of a stage, or of one's own.

// What is handed out, and what solves it: sources for a compiler, at first lines of their own. Throws BadInput if the
// patch beside the exercise does not apply.
std::string handed_out(const Exercise& exercise);
std::string solution(const Exercise& exercise);

// Half a solution, as `partly:` describes it: the source, the step that must refuse it, and a piece of what that step
// must say ("" for anything). Throws BadInput.
struct Half {
  std::string step, source, says = {};
};
Half half_solution(const Exercise& exercise, const std::string& partly);

// Of a patch that plants a bug: the source with it, and no comment of an added line that the removed lines do not have.
std::string planted_text(const std::string& patch_path, const std::string& source);

// The same for a reader: the patch turned round, or the text; and the page that explains it.
std::string solution_shown(const Exercise& exercise);

std::string card(const Exercise& exercise);

// Whatever in the texts that a learner sees gives the answer away: the bug's name as a word, or a line that the patch
// takes away and that the handed-out file does not have elsewhere. A line each; empty: nothing.
std::vector<std::string> leaks(const Exercise& exercise);

}  // namespace lab::desk
