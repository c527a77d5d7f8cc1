// The exercises: what there is, what is handed out, how work is checked and graded, and what is known of a learner.
// They are found by where they lie: stages/STAGE/bugs/BUG.exercise asks for the mending of that bug, stages/STAGE/exercises/ holds all
// else of a stage, checks/exercises/drills/ single instructions and mechanisms.
#pragma once
#include <functional>

#include "checks/desk/runs.hpp"

namespace lab::desk {

struct Exercise {
  int n = 0;
  std::string name;       // in plain words that say nothing of the answer
  std::string kind;       // fix, hole, predict, test, faster, instruction, mechanism, capstone
  std::string path;       // of the .exercise file
  std::string stage;      // the stage's directory whose kernel is worked on; of a drill "drill-NAME"
  bool backward = false;  // that stage is one of the backward pass
  std::string bug = {};   // of kind fix: which
  int minutes = 0;
  std::vector<std::string> after = {};  // pages and exercises to have read or done
  // The prediction: what is asked for, of which launch, what is right, and what nearly is.
  std::string predict = {}, shape = {}, inputs = {}, copies = {}, seen = {}, right = {}, asks = {};
  std::vector<std::string> near = {}, menu = {};
  std::vector<std::string> limits = {};  // bounds on what a block does (`counts`): "1,1,128,64: barriers <= 5"
  std::vector<std::string> partly =
      {};                    // "STEP: OLD => NEW": the solution written otherwise, which that step must refuse
  int budget = 0, goal = 0;  // of a test: how many cases it may have; bugs caught, less false alarms
  std::string from = {};     // of a capstone: the stage that it begins with
  std::string symptom = {};  // or the task, where nothing is broken
  std::string gpu = {};      // what a GPU does with a kernel that passes here, where that differs
  std::vector<std::string> questions = {}, hints = {}, answers = {};

  std::string number() const;                                              // "07"
  std::string dir() const { return "work/" + number(); }                   // where it is laid out
  std::string file() const { return dir() + "/" + handed_in(); }           // what is worked on
  std::string handed_in() const;                                           // "kernel.cu", "cases.txt"
  bool is_drill() const;                                                   // of kind instruction or mechanism
  std::string kernel() const { return "stages/" + stage + "/kernel.cu"; }  // of its stage
  std::string beside(const std::string& ending) const;  // the file beside .exercise with another ending
  std::string command(const std::string& goal) const;   // "make try n=7"
};

// A name as a word, "a-producer-warp": what `n=` and `after:` take.
std::string as_word(const std::string& name);

// Throws BadInput, one line that names the file and the line.
Exercise parse_exercise(const std::string& path, const std::string& text);

struct Course {
  std::vector<Exercise> all;  // by n
  // By number (7 or 07) or name. Throws BadInput with the nearest.
  const Exercise& find(const std::string& word) const;
};
// Everything below `root`. Throws BadInput where a file is not as it must be, or two have one number or name.
Course read_course(const std::string& root = ".");

// --- what is handed out: handout.cpp, card.cpp ---

// `text` without comments, as a compiler sees it: // and /* */ outside strings. Lines stay lines.
std::string without_comments(const std::string& text);

// A patch's file with the patch applied, without comments of added lines that the removed lines do not have: they would tell.
// `source`: a file instead of the one that the patch names. `all`: with all comments.
std::string planted_text(const std::string& patch, const std::string& source = "", bool all = false);

std::string handed_out(const Exercise& exercise);
std::string solution(const Exercise& exercise);
// The same for a reader: a diff, or the text; and answers.
std::string solution_shown(const Exercise& exercise);

// Half a solution, as `partly:` describes it: the source, the step that must refuse it, and a piece of what that step must say
// ("" for anything). Throws BadInput.
struct Half {
  std::string step, source, says = {};
};
Half half_solution(const Exercise& exercise, const std::string& partly);

std::string card(const Exercise& exercise);
// What a prediction looks like: "make predict n=7 say=NUMBER".
std::string prediction_asked(const Exercise& exercise);

// What in the texts that a learner sees gives the answer away: the bug's name as a word, or a line of the solution that the
// handed-out file does not have. "" if nothing does.
std::string leak(const Exercise& exercise);

// --- the checks of what is handed in, from cheap to expensive, up to the first red: check.cpp, guard.cpp, cases.cpp ---

inline constexpr const char* CARDS_CASE = "the card's case";
inline constexpr const char* WITHIN_BOUNDS = "within bounds";

struct Outcome {
  bool passed() const { return step.empty(); }
  std::string step = {};     // that was red: "it compiles", "right answers", ...
  std::string says = {};     // its most telling line
  std::string whole = {};    // all that its log says of it, in lines; "" where `says` is all
  std::string races = {};    // the same of the race check, where it was not the step that was red
  std::string printed = {};  // what the kernel printed in the first run
  int good = 0;              // steps before it
  bool hangs = false;        // a launch of that step, or of one before it
};

// How much is asked: interactively; or of a submission, with inputs and shapes not seen before and under all schedules.
struct Depth {
  bool grading = false;
  std::uint64_t seed = 1;
  bool built = false;     // the kernel is up to date
  bool own_only = false;  // what this exercise asks and others of its stage do not, of a kernel that has passed theirs
  bool explain = false;   // a learner reads it: the card's case first, the race check also where answers are wrong
};

// `source` is judged as the exercise's kernel (or cases). It is built as the variant `learn-WORD` of its stage; what the compiler and
// reports name is `shown_as`. `tell` is called with each line for a learner as it is known.
Outcome check_work(const Exercise& exercise, const std::string& make, const std::string& source,
                   const std::string& word, const std::string& shown_as, const Depth& depth,
                   void (*tell)(const std::string& line) = nullptr);

// Of a test of the learner's own: each case, tried on the stage's bugs and on what must not alarm it.
Outcome check_cases(const Exercise& exercise, const std::string& make, const std::string& text);
std::vector<std::string> cases_in(const Exercise& exercise, const std::string& text);
struct Suspect {
  std::string source, word;  // word: of its build
  bool wrong = false;
};
std::vector<Suspect> suspects(const Exercise& exercise);
// "" if the test reaches its goal. is_red(suspect, case) runs one.
std::string judge_cases(const Exercise& exercise, const std::vector<std::string>& cases,
                        const std::vector<Suspect>& all,
                        const std::function<bool(const Suspect&, const std::string&)>& is_red);

// What a build makes, of a word: build/cpu/STAGE/learn-WORD, or "checked" and "bug-NAME", the lab's own kernels.
std::string built_dir(const std::string& stage, const std::string& word);
std::string built_path(const std::string& stage, const std::string& word);
// The program that does what `words` say with what is built at `path`.
Argv runs_of(const std::string& path, const Argv& words);
// Puts the source where `make built_path(...)` finds it, if it is another than what is there.
void place_source(const std::string& stage, const std::string& source, const std::string& word,
                  const std::string& shown_as);
// Builds it. Returns "" or the compiler's first error; `all`: and what follows it.
std::string build_work(const std::string& stage, const std::string& make, const std::string& source,
                       const std::string& word, const std::string& shown_as, std::string* all = nullptr);

std::string compiler_error(const std::string& log, const std::string& path, std::string* all = nullptr);
std::string few_lines(const std::vector<std::string>& lines, const std::string& path, std::size_t most = 24);

// Lines of at most `columns` bytes, broken at blanks; what continues a line is indented as it is, and two blanks more.
std::string wrapped(const std::string& text, std::size_t columns, const std::string& indent);

// Forbidden to a handed-in kernel, so that its computation alone is judged: call the checks' own functions, include them, end the
// process, change where the compiler says that its lines stand. Of a source: the line that says what is refused, or "". `given` is
// what was handed out, and what solves it: what they include may be included.
std::string refused_source(const std::string& path, const std::string& text, const std::string& given);
// Of an object's undefined symbols, as `nm -C -u` prints them: the first that a kernel has no use for, or "".
std::string refused_symbol(const std::string& nm_says);

// --- predictions, held against what the kernel as it was handed out really does: prediction.cpp ---

struct Prediction {
  bool holds = false;
  std::string says;                    // what was measured, and the difference, in lines
  int right = 0, asked = 1;            // the right part of it
  std::vector<std::string> near = {};  // lines on what a wrong rule marks
};
// Throws BadInput for what is no rule, formula or count. `built_as`: the word of a build of what was handed out that is up to date.
Prediction judge_prediction(const Exercise& exercise, const std::string& make, const std::string& say,
                            const std::string& built_as = "");
// The measured result is shown once a prediction is right, or given up.
std::string verdict_told(const Prediction& prediction, bool gave_up);
// The meaning of the names on the menu, a line each; "" where there is none.
std::string menu_explained(const Exercise& exercise, const std::string& make);
// A prediction as the exercise's file has it, as a learner would type it: pieces of lines become their numbers in what was handed out.
std::string as_typed(const Exercise& exercise, const std::string& prediction);

// --- what is known of a learner, in work/state.txt, and the grades: grade.cpp ---

struct Attempt {
  std::string say;
  bool right = false, late = false;  // late: when the kernel had passed, or its solution was shown
};
struct Progress {
  int hints = 0, tries = 0;
  bool done = false;     // it has passed
  bool gave_up = false;  // the solution was shown before that
  std::vector<Attempt> attempts = {};
};
class State {
 public:
  // A file that cannot be read as a whole, such as one that a full disk cut short, is put aside, and standard error says so.
  explicit State(const std::string& path = "work/state.txt");
  Progress& of(const std::string& number) { return all_[number]; }
  const Progress& seen(const std::string& number) const;
  void save() const;  // as a whole or not at all

 private:
  std::string path_;
  std::map<std::string, Progress> all_;
};

std::string answers_file(const Exercise& exercise);   // "work/07/ANSWERS.md"
std::string answers_sheet(const Exercise& exercise);  // what is laid out: the questions; "" if the card has none

struct Graded {
  std::string number, name, kind;
  bool passed = false;
  std::string step = {}, says = {};          // of what is red
  bool predicts = false, predicted = false;  // a prediction is asked for; the first was judged again, and holds
  int hints = 0, tries = 0;
  std::string attempts = {};  // of the prediction, in words: "attempt 2 of 3"
  std::string gpu = {};       // of what passed: where a GPU differs
  bool gave_up = false;       // a person should look
  double points() const;
  static constexpr double MOST = 10, OF_PREDICTION = 2;  // the rest is the kernel's
};
std::string grades_table(const std::vector<Graded>& all);
// {"tests": [{number, name, score, max_score, output}...]}
std::string grades_json(const std::vector<Graded>& all);

}  // namespace lab::desk
