// The exercises: what there is, what is handed out, how work is checked and graded, and what is known of a learner.
#pragma once
#include <functional>

#include "checks/desk/ladder.hpp"
#include "checks/desk/runs.hpp"

namespace lab::desk {

// The exercises, found by where they lie: stages/STAGE/bugs/BUG.exercise asks for the mending of that bug,
// stages/STAGE/exercises/NAME.exercise and checks/exercises/NAME.exercise for all else, checks/exercises/drills/ for
// single instructions and mechanisms. No list is kept anywhere.

struct Exercise {
  int n = 0;
  std::string name;      // in plain words that say nothing of the answer
  std::string kind;      // fix, hole, predict, test, faster, instruction, mechanism, capstone
  std::string path;      // of the .exercise file
  std::string stage;     // the stage's directory whose kernel is worked on; of a drill "drill-NAME"
  std::string bug = {};  // of kind fix: which
  int minutes = 0;
  std::vector<std::string> after = {};  // pages and exercises to have read or done
  // The prediction: what is asked for, of which launch, what is right, and what nearly is.
  std::string predict = "none", shape = "1,8,512,64", inputs = "unit", copies = "at_wait", seen = "wrong", right = {};
  std::vector<std::string> near = {}, menu = {};
  // Bounds on what a block does (`lab counts`): "1,1,128,64: barriers <= 5".
  std::vector<std::string> limits = {};
  // Half a solution: "STEP: OLD => NEW", pieces of the solution that, written otherwise, must be refused by that step.
  std::vector<std::string> partly = {};
  // Its stage is one of the backward pass.
  bool backward = false;
  // Of a test: how many cases it may have, and how many planted bugs, less false alarms, it must catch.
  int budget = 0, goal = 0;
  std::string asks = {};     // of a count that no launch shows: what number is asked for
  std::string from = {};     // of a capstone: the stage that it begins with
  std::string symptom = {};  // or the task, where nothing is broken
  std::string gpu = {};      // what a GPU does with a kernel that passes here, where that differs
  std::vector<std::string> questions = {}, hints = {};
  std::vector<std::string> answers = {};  // to the questions, in their order, or none

  std::string number() const;                                     // "07"
  std::string dir() const { return "work/" + number(); }          // where it is laid out
  std::string file() const { return dir() + "/" + handed_in(); }  // what is worked on
  std::string handed_in() const;                                  // "kernel.cu", "cases.txt"
  bool is_drill() const;  // of kind instruction or mechanism: a kernel of its own, below checks/exercises/drills
  std::string beside(const std::string& ending) const;  // the file beside .exercise with another ending
};

// As a word, "a-producer-warp": what `n=` and `after:` take.
std::string as_word(const std::string& name);

constexpr std::size_t HINTS = 3;

// Throws BadInput, one line that names the file and the line.
Exercise parse_exercise(const std::string& path, const std::string& text);

struct Course {
  std::vector<Exercise> all;  // by n
  // By number (7 or 07) or name. Throws BadInput with the nearest.
  const Exercise& find(const std::string& word) const;
};
// Everything below `root`. Throws BadInput where a file is not as it must be, or two have one number or name.
Course read_course(const std::string& root = ".");

Exercise exercise_named(const std::string& word);  // of the course

// A learner's handout: the kernel without a trace of how it was made, and a card.

// `text` without comments, as a compiler sees it: // and /* */ outside strings. Lines stay lines.
std::string without_comments(const std::string& text);
// The comment of a line, "" where there is none; a text without blanks.
std::string comment_of(const std::string& line);
std::string squeezed(const std::string& text);
// From this many characters on, two equal lines or comments are no coincidence.
inline constexpr std::size_t TELLING = 12;

// What is handed out, and what solves it: sources for a compiler, at first lines of their own. Throws BadInput if a
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
// `source`: a file instead of the one that the patch names.
std::string planted_text(const std::string& patch_path, const std::string& source = "");

// The same for a reader: the patch turned round, or the text; and the page that explains it.
std::string solution_shown(const Exercise& exercise);

std::string card(const Exercise& exercise);

// Whatever in the texts that a learner sees gives the answer away: the bug's name as a word, or a line of the solution
// that the handed-out file does not have. A line each; empty: nothing.
std::vector<std::string> leaks(const Exercise& exercise);

// The checks of an exercise's kernel, from cheap to expensive, up to the first red.

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
  bool passed() const { return step.empty(); }
  std::string step = {};                       // that was red: "it compiles", "right answers", ...
  std::string says = {};                       // its most telling line
  std::vector<std::string> passed_steps = {};  // of a bound with what was counted
  std::string whole = {};                      // all that its log says of it, in lines; "" where `says` is all
  std::string races = {};                      // the same of the race check, where it was not the step that was red
  bool hangs = false;                          // a launch of that step, or of one before it
  std::string printed = {};                    // what the kernel printed in the first run
};

inline constexpr const char* CARDS_CASE = "the card's case";
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

// Puts the source where `make learner_path(...)` finds it, if it is another than what is there.
void place_source(const std::string& stage, const std::string& source, const std::string& word,
                  const std::string& shown_as);
// Builds build/cpu/STAGE/learn-WORD/learner from `source`. Returns "" or the compiler's first error.
std::string build_learner(const std::string& stage, const std::string& make, const std::string& source,
                          const std::string& word, const std::string& shown_as);
std::string learner_dir(const std::string& stage, const std::string& word);
std::string learner_path(const std::string& stage, const std::string& word);
// Words that stand for a kernel of the lab's own, compiled for other tests too: "checked", "bug-NAME".
bool is_the_labs(const std::string& word);

// Of a compiler's log: the first error, and all from there on; `path` is named where that is too long.
struct CompilerErrors {
  std::string first, all;
};
CompilerErrors compiler_errors(const std::string& log, const std::string& path);
std::string few_lines(const std::vector<std::string>& lines, const std::string& path, std::size_t most = 24);
// Lines of at most `columns` bytes, broken at blanks; what continues a line is indented as it is, and two blanks more.
std::string wrapped(const std::string& text, std::size_t columns, const std::string& indent);

// Predictions, held against what the kernel as it was handed out really does.

struct Prediction {
  bool holds = false;
  std::string says;          // what was measured, and the difference, in lines
  int right = 0, asked = 1;  // the right part of it
  std::vector<std::string> near =
      {};  // of a rule how much it names rightly: with these the only feedback before it holds
};

// Throws BadInput for what is no rule, formula or count. `built_as`: the word of a build of what was handed out that is up
// to date; "": it is built.
Prediction judge_prediction(const Exercise& exercise, const std::string& make, const std::string& say,
                            const std::string& built_as = "");

// The measured result is shown once a prediction is right, or given up.
std::string verdict_told(const Prediction& prediction, bool gave_up);

// The possible predictions, shown when none is given.
std::string prediction_asked(const Exercise& exercise);

// The meaning of the names on the menu, a line each: printed by a learner's binary, which computes them.
// "" where there is no menu.
std::string menu_explained(const Exercise& exercise, const std::string& make);

// A prediction as the exercise's file has it, as a learner would type it: pieces of lines become their numbers in what
// was handed out.
std::string as_typed(const Exercise& exercise, const std::string& prediction);

// Forbidden to a handed-in kernel, so that its computation alone is judged: call the checks' own functions, include it,
// end the process, change where the compiler says that its lines stand.

// Of a source: the line that says what is refused ("work/07/kernel.cu:12: ..."), "" if nothing is. `given` is what was
// handed out, and what solves it: what they include may be included.
std::string refused_source(const std::string& path, const std::string& text, const std::string& given);

// Of an object's undefined symbols, demangled as `nm -C -u` prints them: the first that a kernel has no use for, or "".
std::string refused_symbol(const std::string& nm_says);

// A learner's progress, in work/state.txt.

// A prediction, as it was typed.
struct Attempt {
  std::string say;
  bool right = false;
  bool late = false;  // made when the kernel had passed, or its solution was shown
};

struct Progress {
  int hints = 0, tries = 0;
  bool done = false;     // it has passed
  bool gave_up = false;  // the solution was shown before that
  std::vector<Attempt> attempts = {};
  std::string last_right() const {
    std::string last;
    for (const Attempt& a : attempts) last = a.right ? a.say : last;
    return last;
  }
};

class State {
 public:
  // A file that cannot be read as a whole, such as one that a full disk cut short, is put aside, and `trouble` says so.
  explicit State(const std::string& path = "work/state.txt");
  Progress& of(const std::string& number) { return all_[number]; }
  const Progress& seen(const std::string& number) const;
  void save() const;  // as a whole or not at all
  std::string trouble;

 private:
  std::string path_;
  std::map<std::string, Progress> all_;
};

// What was handed in, judged: a table for people, and a small JSON of the same.

struct Answer {
  std::string question, text;  // text is "" where nothing was written
};

std::string answers_file(const Exercise& exercise);   // "work/07/ANSWERS.md"
std::string answers_sheet(const Exercise& exercise);  // what is laid out: the questions; "" if the card has none
// One for each question of the card. A question whose heading is gone has no answer.
std::vector<Answer> answers_in(const Exercise& exercise, const std::string& text);

struct Graded {
  std::string number, name, kind;
  bool passed = false;
  std::string step = {}, says = {};          // of what is red
  bool predicts = false, predicted = false;  // a prediction is asked for; the first was judged again, and holds
  int hints = 0;
  std::string attempts = {};  // of the prediction, in words: "attempt 2 of 3"
  std::string gpu = {};       // of what passed: where a GPU differs
  std::string flags = {};     // what a person should look at
  int tries = 0;
  std::vector<Answer> answers = {};  // to the card's questions
  double points() const;
  static constexpr double MOST = 10, OF_PREDICTION = 2;  // the rest is the kernel's
  double most() const { return MOST; }
};

std::string grades_table(const std::vector<Graded>& all);
// What was written to the cards' questions, for a person to grade; "" where no card asks.
std::string answers_text(const std::vector<Graded>& all);
// {"tests": [{number, name, score, max_score, output}...]}
std::string grades_json(const std::vector<Graded>& all);

}  // namespace lab::desk
