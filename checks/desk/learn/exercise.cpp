#include "checks/desk/learn/learn.hpp"
#include "checks/exercises/rule.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

constexpr const char *DRILLS = "checks/exercises/drills", *ENDING = ".exercise";
constexpr std::size_t LONGEST_NAME = 36;  // bytes, so that a list fits
constexpr int LONGEST_LINE = 100;         // bytes of a block's line, so that a card fits a terminal

std::string stripped(const std::string& text) { return trimmed(text, " \t"); }

// The keys of one line, by what they take.
const std::map<std::string, std::pair<int Exercise::*, int>> NUMBERS = {  // from 1 to this
    {"n", {&Exercise::n, 999}},
    {"budget", {&Exercise::budget, 99}},
    {"goal", {&Exercise::goal, 99}},
    {"minutes", {&Exercise::minutes, 600}}};
const std::map<std::string, std::string Exercise::*> TEXTS = {
    {"name", &Exercise::name},   {"kind", &Exercise::kind},     {"predict", &Exercise::predict},
    {"seen", &Exercise::seen},   {"copies", &Exercise::copies}, {"shape", &Exercise::shape},
    {"right", &Exercise::right}, {"inputs", &Exercise::inputs}, {"stage", &Exercise::stage},
    {"from", &Exercise::from}};
const std::map<std::string, std::vector<std::string> Exercise::*> WORDS = {{"after", &Exercise::after},
                                                                           {"menu", &Exercise::menu}};
const std::map<std::string, std::vector<std::string> Exercise::*> REPEATED = {
    {"near", &Exercise::near}, {"limit", &Exercise::limits}, {"partly", &Exercise::partly}};
const std::map<std::string, std::vector<std::string>> ONE_OF = {
    {"kind", {"fix", "hole", "predict", "test", "faster", "instruction", "mechanism", "capstone"}},
    {"predict", {"mask", "formula", "count", "counts", "lines", "none"}},
    {"seen", {"wrong", "rows", "nan", "unwritten", "findings", "different", "told"}},
    {"copies", {"at_wait", "at_issue"}}};

class Reader {
 public:
  Reader(const std::string& path, const std::string& text) : lines_(lines_of(text)) { e_.path = path; }

  Exercise read() {
    while (at_ < lines_.size()) {
      const std::string& line = lines_[at_];
      if (stripped(line).empty() || line[0] == '#') {
        ++at_;
        continue;
      }
      const std::size_t colon = line.find(':');
      if (line[0] == ' ' || colon == line.npos) fail("'" + line + "' is not `key: value`, nor in a block below one");
      const std::string key = line.substr(0, colon), value = stripped(line.substr(colon + 1));
      ++at_;
      if (is_block(key)) {
        if (!value.empty()) fail_before("`" + key + ":` is a block: its lines stand below it, indented by two blanks");
        block(key);
      } else {
        head(key, value);
      }
    }
    complete();
    return e_;
  }

 private:
  static bool is_block(const std::string& key) {
    return key == "symptom" || key == "task" || key == "question" || key == "answer" || key == "asks" ||
           key == "hint" || key == "gpu";
  }
  [[noreturn]] void fail_at(std::size_t line, const std::string& what) const {
    throw BadInput(e_.path + ":" + std::to_string(line) + ": " + what);
  }
  [[noreturn]] void fail(const std::string& what) const { fail_at(at_ + 1, what); }
  [[noreturn]] void fail_before(const std::string& what) const { fail_at(at_, what); }

  void block(const std::string& key) {
    std::string text;
    for (; at_ < lines_.size(); ++at_) {
      const std::string& line = lines_[at_];
      if (!stripped(line).empty() && !line.starts_with("  ")) break;
      if (int(line.size()) > LONGEST_LINE) fail("longer than " + std::to_string(LONGEST_LINE) + " bytes");
      text += (stripped(line).empty() ? "" : line.substr(2)) + "\n";
    }
    while (text.ends_with("\n")) text.pop_back();
    while (text.starts_with("\n")) text.erase(0, 1);
    if (text.empty()) fail_before("`" + key + ":` says nothing");
    if (key == "question" || key == "hint" || key == "answer") {
      (key == "hint" ? e_.hints : key == "answer" ? e_.answers : e_.questions).push_back(text);
      return;
    }
    const bool told = key == "symptom" || key == "task";
    std::string& to = told ? e_.symptom : key == "asks" ? e_.asks : e_.gpu;
    if (!to.empty()) fail_before(told ? "one `symptom:` or `task:` is enough" : "`" + key + ":` is there twice");
    to = text;
    if (told) symptom_key_ = key;
  }

  void head(const std::string& key, const std::string& value) {
    if (!REPEATED.contains(key) && !seen_.insert(key).second) fail_before("`" + key + ":` is there twice");
    if (value.empty() && key != "after") fail_before("`" + key + ":` says nothing");
    if (const auto words = ONE_OF.find(key); words != ONE_OF.end() && !std::ranges::count(words->second, value))
      fail_before("`" + key + ": " + value + "`: must be one of " + joined(words->second, ", "));
    if (key == "name" && (value.size() > LONGEST_NAME || value.find('_') != value.npos))  // underscores are for bugs
      fail_before("`name: " + value + "`: plain words, at most " + std::to_string(LONGEST_NAME) + " bytes");
    if (const auto number = NUMBERS.find(key); number != NUMBERS.end()) {
      const auto& [to, most] = number->second;
      const auto got = number_in<int>(value, 1, most);
      if (!got) fail_before("`" + key + ": " + value + "`: a whole number from 1 to " + std::to_string(most));
      e_.*to = *got;
    } else if (const auto text = TEXTS.find(key); text != TEXTS.end()) {
      e_.*text->second = value;
      if (key == "shape") std::erase(e_.shape, ' ');
    } else if (const auto words = WORDS.find(key); words != WORDS.end()) {
      e_.*words->second = words_of(value);
    } else if (const auto list = REPEATED.find(key); list != REPEATED.end()) {
      (e_.*list->second).push_back(value);
    } else {
      std::string keys;
      for (const auto& [known, to] : NUMBERS) keys += known + ", ";
      for (const auto& [known, to] : TEXTS) keys += known + ", ";
      for (const auto& [known, to] : WORDS) keys += known + ", ";
      for (const auto& [known, to] : REPEATED) keys += known + ", ";
      fail_before("unknown key `" + key + ":`; there are " + keys +
                  "and blocks symptom, task, question, answer, asks, hint, gpu");
    }
  }

  void complete() {
    const auto lacks = [&](const std::string& what) { fail_at(1, "lacks " + what); };
    if (e_.n == 0) lacks("`n:`");
    if (e_.name.empty()) lacks("`name:`");
    if (e_.kind.empty()) lacks("`kind:`");
    if (e_.minutes == 0) lacks("`minutes:`");
    if ((e_.kind == "test") != (e_.budget && e_.goal)) fail_at(1, "`budget:` and `goal:` go with kind: test");
    if ((e_.kind == "capstone") == e_.from.empty()) fail_at(1, "`from:` goes with kind: capstone");
    const std::string wanted = e_.kind == "fix" ? "symptom" : "task";
    if (symptom_key_ != wanted) lacks("a block `" + wanted + ":`, which kind: " + e_.kind + " has");
    if (e_.hints.size() != HINTS) fail_at(1, std::to_string(e_.hints.size()) + " hints; there must be three");
    if (e_.kind == "fix" && (e_.questions.size() < 2 || e_.questions.size() > 3))
      fail_at(1, std::to_string(e_.questions.size()) + " questions; there must be two or three");
    if (e_.answers.size() != (e_.kind == "mechanism" ? e_.questions.size() : 0))
      fail_at(1,
              std::to_string(e_.answers.size()) + " answers; kind: mechanism has one for each question, others none");
    if ((e_.seen == "told") != !e_.asks.empty())
      fail_at(1, "`asks:` says what number is asked for where none is seen, with `seen: told`, and only there");
    if (e_.seen == "told" && e_.predict != "count") fail_at(1, "`seen: told` goes with `predict: count`");
    if (e_.predict == "none") {
      if (e_.kind == "predict") lacks("`predict:`");
      if (!e_.right.empty() || !e_.near.empty()) fail_at(1, "`right:` and `near:` need `predict:`");
      return;
    }
    if (e_.right.empty()) lacks("`right:`, the reference's prediction");
    if (e_.near.empty()) lacks("`near:`, a prediction that nearly holds");
    if (e_.predict == "mask")
      for (const std::string& rule : e_.near) check_rule(rule);
    if (e_.predict == "mask") check_rule(e_.right);
    if ((e_.predict == "formula") != !e_.menu.empty())
      fail_at(1, "`menu:` goes with `predict: formula`, and it with a menu");
    if (e_.predict == "formula") {
      if (e_.menu.size() < 3 || e_.menu.size() > 6) fail_at(1, "a menu of three to six formulas");
      for (const std::string& name : e_.near)
        if (std::ranges::find(e_.menu, name) == e_.menu.end()) fail_at(1, "near: " + name + " is not on the menu");
      if (std::ranges::find(e_.menu, e_.right) == e_.menu.end())
        fail_at(1, "right: " + e_.right + " is not on the menu");
    }
  }

  Exercise e_;
  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  std::set<std::string> seen_;
  std::string symptom_key_;
};

// A stage's directory that was copied, to try something: its exercises are those of the stage that has a page.
void leave_out_copies(std::vector<Exercise>& all, const std::string& root) {
  std::map<std::string, std::string> of;  // the copy, and the stage
  const auto page = [&](const Exercise& e) {
    return fs::exists(fs::path(root) / "writeups" / "stages" / (e.stage + ".md"));
  };
  const auto text = [](const Exercise& e) { return read_text(e.path); };
  std::set<std::string> copies;
  for (const Exercise& e : all) {
    if (e.stage.empty() || page(e)) continue;
    for (const Exercise& other : all)
      if (other.n == e.n && other.name == e.name && page(other) && text(other) == text(e))
        of[e.stage] = other.stage, copies.insert(e.path);
  }
  std::erase_if(all, [&](const Exercise& e) { return copies.contains(e.path); });
  for (const auto& [copy, stage] : of)
    std::fprintf(stderr,
                 "stages/%s holds copies of the exercises of stages/%s, which are left out: delete stages/%s/exercises "
                 "and stages/%s/bugs (make own name=NAME from=%s makes a kernel of your own)\n",
                 copy.c_str(), stage.c_str(), copy.c_str(), copy.c_str(), short_stage_name(stage).c_str());
}

}  // namespace

std::string as_word(const std::string& name) {
  std::string word;
  for (const unsigned char c : name)
    if (std::isalnum(c))
      word += char(std::tolower(c));
    else if (!word.empty() && word.back() != '-')
      word += '-';
  return word;
}

std::string Exercise::number() const {
  char text[16];
  std::snprintf(text, sizeof text, "%02d", n);
  return text;
}

bool Exercise::is_drill() const { return kind == "instruction" || kind == "mechanism"; }

std::string Exercise::handed_in() const { return kind == "predict" ? "" : kind == "test" ? "cases.txt" : "kernel.cu"; }

std::string Exercise::beside(const std::string& ending) const {
  return fs::path(path).replace_extension(ending).string();
}

Exercise exercise_named(const std::string& word) { return read_course().find(word); }

Exercise parse_exercise(const std::string& path, const std::string& text) { return Reader(path, text).read(); }

Course read_course(const std::string& root) {
  Course course;
  const Ladder ladder = read_ladder(root);
  const auto add = [&](const std::string& file, const std::string& stage, bool of_bug) {
    Exercise e = parse_exercise(file, read_text(file));
    if (!stage.empty()) {
      if (!e.stage.empty()) throw BadInput(file + ": `stage:` says what its folder says");
      e.stage = stage;
      e.backward = ladder.stage(stage) && ladder.stage(stage)->is_backward();
    } else if (!e.stage.empty() && !ladder.stage(e.stage)) {
      throw BadInput(file + ": there is no stage " + e.stage);
    }
    if (of_bug != (e.kind == "fix")) throw BadInput(file + ": kind fix and a place beside a bug's patch go together");
    if (of_bug) {
      e.bug = fs::path(file).stem().string();
      if (!ladder.stage(stage)->bug(e.bug)) throw BadInput(file + " lies beside no patch of that name");
    }
    course.all.push_back(std::move(e));
  };
  for (const Stage* stage : ladder.all()) {
    const fs::path dir = fs::path(root) / "stages" / stage->dir;
    for (const std::string& bugs : bug_dirs(stage->dir))
      for (const fs::path& file : files_in(fs::path(root) / bugs, ENDING)) add(file, stage->dir, true);
    for (const fs::path& file : files_in(dir / "exercises", ENDING)) add(file, stage->dir, false);
  }
  for (const fs::path& file : files_in(fs::path(root) / "checks" / "exercises", ENDING)) add(file, "", false);
  // Built as the stages' kernels are, in a folder of its own.
  for (const fs::path& file : files_in(fs::path(root) / DRILLS, ENDING))
    add(file, "drill-" + file.stem().string(), false);
  std::ranges::sort(course.all, {}, &Exercise::n);
  leave_out_copies(course.all, root);
  for (std::size_t i = 1; i < course.all.size(); ++i) {
    const Exercise &a = course.all[i - 1], &b = course.all[i];
    if (a.n == b.n) throw BadInput(b.path + ": n: " + std::to_string(b.n) + " is that of " + a.path);
  }
  std::map<std::string, std::string> names;
  for (const Exercise& e : course.all)
    if (const auto [known, fresh] = names.emplace(as_word(e.name), e.path); !fresh)
      throw BadInput(e.path + ": name: " + e.name + " is that of " + known->second);
  return course;
}

const Exercise& Course::find(const std::string& word) const {
  if (all.empty()) throw BadInput("there are no exercises");
  const bool digits = !word.empty() && std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (digits) {
    const int n = number_in<int>(word, 0, 999).value_or(-1);
    for (const Exercise& e : all)
      if (e.n == n) return e;
    const Exercise* best = &all[0];
    for (const Exercise& e : all)
      if (std::abs(e.n - n) < std::abs(best->n - n)) best = &e;
    throw BadInput("no exercise " + word + "; the nearest is " + best->number() + " (" + best->name +
                   "), and make exercise lists them");
  }
  std::vector<std::string> names;
  for (const Exercise& e : all) {
    if (as_word(e.name) == as_word(word)) return e;
    names.push_back(as_word(e.name));
  }
  throw BadInput("no exercise '" + word + "'; the nearest are: " + joined(nearest(word, names), " ") +
                 " - make exercise lists them");
}

}  // namespace lab::desk
