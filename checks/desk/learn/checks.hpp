// The checks of an exercise's kernel, from cheap to expensive, up to the first red.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checks/desk/learn/exercise.hpp"

namespace lab::desk {

// The lines of cases.txt that say something: words of `lab fuzz only`. Throws BadInput for more than the budget.
std::vector<std::string> cases_in(const Exercise& exercise, const std::string& text);

// Builds that a test is tried on: the stage's visible bugs, and those that must not alarm it: its kernel, and those
// bugs that turned out to be none. Neutral: a learner sees only their number.
struct Suspect {
  std::string source;
  std::string word;  // of its build
  bool wrong = false;
};
std::vector<Suspect> suspects(const Exercise& exercise);

// "" if the test reaches its goal; else the line that says what it misses or accuses. is_red(suspect, case) runs one.
std::string judge_cases(const Exercise& exercise, const std::vector<std::string>& cases,
                        const std::vector<Suspect>& all,
                        const std::function<bool(const Suspect&, const std::string&)>& is_red);

struct Outcome {
  bool passed = false;
  std::string step;                            // that was red: "it compiles", "right answers", ...
  std::string says;                            // its most telling line
  std::vector<std::string> passed_steps = {};  // of a bound with what was counted
  std::string whole = {};                      // all that its log says of it, in lines; "" where `says` is all
  std::string races = {};                      // the same of the race check, where it was not the step that was red
  bool hangs = false;                          // a launch of that step, or of one before it
  std::string printed = {};                    // what the kernel printed in the first run
};

inline constexpr const char* CARDS_CASE = "the card's case";
inline constexpr const char* RIGHT_ANSWERS = "right answers";
inline constexpr const char* WITHIN_BOUNDS = "within bounds";

// How much is asked: interactively; or of a submission, with inputs and shapes not seen
// before, under all schedules, and with the other legal fragment layout.
struct Depth {
  bool grading = false;
  std::uint64_t seed = 1;
  bool built = false;  // the learner is up to date: make has just been asked
  bool own_only =
      false;  // only what this exercise asks and others of its stage do not: of a kernel that has passed theirs
  bool explain = false;  // a learner reads it: the card's case first, the race check also where answers are wrong
};

// `source` is judged as the exercise's kernel (or cases). It is built as the variant `learn-WORD` of its stage; what
// the compiler and reports name is `shown_as`. `tell` is called as each step begins, with its name.
Outcome check_work(const Exercise& exercise, const std::string& make, const std::string& source,
                   const std::string& word, const std::string& shown_as, const Depth& depth,
                   void (*tell)(const std::string& step) = nullptr);

// Puts the source where `make learner_path(...)` finds it. Returns the path, which is written only where it changes.
std::string place_source(const std::string& stage, const std::string& source, const std::string& word,
                         const std::string& shown_as);
// Builds build/cpu/STAGE/learn-WORD/learner from `source`. Returns "" or the compiler's first error.
std::string build_learner(const std::string& stage, const std::string& make, const std::string& source,
                          const std::string& word, const std::string& shown_as);
std::string learner_dir(const std::string& stage, const std::string& word);
std::string learner_path(const std::string& stage, const std::string& word);
// Words that stand for a kernel of the lab's own, compiled for other tests too: "checked", "bug-NAME".
bool is_the_labs(const std::string& word);

std::string last_line(const std::string& log);  // that is not empty
// Of a compiler's log: the first error, and all from there on; `path` is named where that is too long.
struct CompilerErrors {
  std::string first, all;
};
CompilerErrors compiler_errors(const std::string& log, const std::string& path);
std::string few_lines(const std::vector<std::string>& lines, const std::string& path);
// Lines of at most `columns` bytes, broken at blanks; what continues a line is indented as it is, and two blanks more.
std::string wrapped(const std::string& text, std::size_t columns, const std::string& indent);

}  // namespace lab::desk
