#include "checks/exercises/learn/exercise.hpp"

#include "checks/exercises/rule.hpp"
#include "common/number.hpp"
#include "common/stage_names.hpp"

namespace lab::desk {
namespace {

constexpr std::size_t LONGEST_NAME = 36, LONGEST_LINE = 100;  // bytes, so that a list and a card fit

using Words = std::vector<std::string>;
const Words BLOCKS = {"symptom", "task", "question", "answer", "asks", "hint", "gpu"};
const Words LINES = {"n",    "name",  "kind", "minutes", "after", "predict", "shape",  "inputs", "copies",
                     "seen", "right", "near", "menu",    "limit", "partly",  "budget", "goal",   "from"};
const Words REPEATED = {"near", "limit", "partly", "question", "hint", "answer"};
const std::map<std::string, Words> ONE_OF = {
    {"kind", {"fix", "hole", "predict", "test", "faster", "instruction", "mechanism", "capstone"}},
    {"predict", {"mask", "formula", "count", "counts", "lines", "none"}},
    {"seen", {"wrong", "rows", "nan", "unwritten", "findings", "different", "told"}},
    {"copies", {"at_wait", "at_issue"}}};

bool among(const std::string& word, const Words& words) { return std::ranges::find(words, word) != words.end(); }

// What stands in a file: values by key, each with its line.
class Reader {
 public:
  Reader(const std::string& path, const std::string& text) : path_(path) {
    const Words lines = lines_of(text);
    const auto is_blank = [](const std::string& line) { return trimmed(line, " \t").empty(); };
    for (std::size_t i = 0; i < lines.size();) {
      const std::string line = lines[i];
      const int number = int(++i);
      if (is_blank(line) || line[0] == '#') continue;
      const std::size_t colon = line.find(':');
      if (line[0] == ' ' || colon == line.npos)
        fail(number, "'" + line + "' is not `key: value`, nor in a block below one");
      const std::string key = line.substr(0, colon), quoted = "`" + key + ":`";
      std::string value = trimmed(line.substr(colon + 1), " \t");
      if (among(key, BLOCKS)) {
        if (!value.empty()) fail(number, quoted + " is a block: its lines stand below it, indented by two blanks");
        for (; i < lines.size() && (is_blank(lines[i]) || lines[i].starts_with("  ")); ++i) {
          if (lines[i].size() > LONGEST_LINE)
            fail(int(i) + 1, "longer than " + std::to_string(LONGEST_LINE) + " bytes");
          value += (is_blank(lines[i]) ? "" : lines[i].substr(2)) + "\n";
        }
        value = trimmed(value, "\n");
      } else if (!among(key, LINES)) {
        fail(number,
             "unknown key " + quoted + "; there are " + joined(LINES, ", ") + ", and blocks " + joined(BLOCKS, ", "));
      }
      if (value.empty() && key != "after") fail(number, quoted + " says nothing");
      if (const auto words = ONE_OF.find(key); words != ONE_OF.end() && !among(value, words->second))
        fail(number, "`" + key + ": " + value + "`: must be one of " + joined(words->second, ", "));
      if (key == "name" && (value.size() > LONGEST_NAME || value.find('_') != value.npos))  // underscores are for bugs
        fail(number, "`name: " + value + "`: plain words, at most " + std::to_string(LONGEST_NAME) + " bytes");
      if (said_.contains(key) && !among(key, REPEATED)) fail(number, quoted + " is there twice");
      said_[key].push_back({value, number});
    }
  }
  [[noreturn]] void fail(int line, const std::string& what) const {
    throw BadInput(path_ + ":" + std::to_string(line) + ": " + what);
  }
  void must(bool holds, const std::string& what) const {
    if (!holds) fail(1, what);
  }
  bool has(const std::string& key) const { return said_.contains(key); }
  std::string text(const std::string& key, const std::string& otherwise = "") const {
    return has(key) ? said_.at(key)[0].first : otherwise;
  }
  Words all(const std::string& key) const {
    Words values;
    if (has(key))
      for (const auto& [value, line] : said_.at(key)) values.push_back(value);
    return values;
  }
  int number(const std::string& key, int most) const {  // from 1 on; 0 where the key is not there
    if (!has(key)) return 0;
    const auto& [value, line] = said_.at(key)[0];
    const auto got = number_in<int>(value, 1, most);
    if (!got) fail(line, "`" + key + ": " + value + "`: a whole number from 1 to " + std::to_string(most));
    return *got;
  }

 private:
  std::string path_;
  std::map<std::string, std::vector<std::pair<std::string, int>>> said_;
};

}  // namespace

Exercise parse_exercise(const std::string& path, const std::string& text) {
  const Reader r(path, text);
  Exercise e{r.number("n", 999), r.text("name"), r.text("kind"), path, ""};
  e.minutes = r.number("minutes", 600), e.budget = r.number("budget", 99), e.goal = r.number("goal", 99);
  e.after = words_of(r.text("after")), e.from = r.text("from"), e.gpu = r.text("gpu"), e.asks = r.text("asks");
  e.predict = r.text("predict", "none"), e.shape = replaced(r.text("shape", "1,8,512,64"), " ", "");
  e.inputs = r.text("inputs", "unit"), e.copies = r.text("copies", "at_wait"), e.seen = r.text("seen", "wrong");
  e.right = r.text("right"), e.near = r.all("near"), e.menu = words_of(r.text("menu"));
  e.limits = r.all("limit"), e.partly = r.all("partly");
  e.questions = r.all("question"), e.hints = r.all("hint"), e.answers = r.all("answer");
  for (const char* key : {"n", "name", "kind", "minutes"}) r.must(r.has(key), std::string("lacks `") + key + ":`");
  const std::string told = e.kind == "fix" ? "symptom" : "task";
  e.symptom = r.text(told);
  r.must(r.has("symptom") + r.has("task") == 1 && r.has(told),
         "lacks a block `" + told + ":`, which kind: " + e.kind + " has, or has two");
  r.must((e.kind == "test") == (e.budget && e.goal), "`budget:` and `goal:` go with kind: test");
  r.must((e.kind == "capstone") == r.has("from"), "`from:` goes with kind: capstone");
  r.must(e.hints.size() == 3, std::to_string(e.hints.size()) + " hints; there must be three");
  r.must(e.kind != "fix" || e.questions.size() == 2 || e.questions.size() == 3,
         std::to_string(e.questions.size()) + " questions; there must be two or three");
  r.must(e.answers.size() == (e.kind == "mechanism" ? e.questions.size() : 0),
         std::to_string(e.answers.size()) + " answers; kind: mechanism has one for each question, others none");
  r.must((e.seen == "told") == r.has("asks") && (e.seen != "told" || e.predict == "count"),
         "`asks:` says what number is asked for where none is seen, with `seen: told` and `predict: count`, and only "
         "there");
  const bool predicts = e.predict != "none";
  r.must(predicts || e.kind != "predict", "lacks `predict:`");
  r.must(predicts || !(r.has("right") || r.has("near")), "`right:` and `near:` need `predict:`");
  r.must(!predicts || r.has("right"), "lacks `right:`, the reference's prediction");
  r.must(!predicts || r.has("near"), "lacks `near:`, a prediction that nearly holds");
  r.must((e.predict == "formula") == r.has("menu"), "`menu:` goes with `predict: formula`, and it with a menu");
  r.must(!r.has("menu") || (e.menu.size() >= 3 && e.menu.size() <= 6), "a menu of three to six formulas");
  for (const auto& [key, says] : {std::pair("right", Words{e.right}), {"near", e.near}})
    for (const std::string& one : says) {
      if (e.predict == "formula") r.must(among(one, e.menu), std::string(key) + ": " + one + " is not on the menu");
      if (e.predict == "mask") check_rule(one);
    }
  return e;
}

std::string as_word(const std::string& name) {
  std::string word;
  for (const unsigned char c : name)
    if (std::isalnum(c))
      word += char(std::tolower(c));
    else if (!word.empty() && word.back() != '-')
      word += '-';
  return word;
}

std::string Exercise::number() const { return (n < 10 ? "0" : "") + std::to_string(n); }
bool Exercise::is_drill() const { return kind == "instruction" || kind == "mechanism"; }
std::string Exercise::handed_in() const { return kind == "predict" ? "" : kind == "test" ? "cases.txt" : "kernel.cu"; }
std::string Exercise::beside(const std::string& ending) const {
  return fs::path(path).replace_extension(ending).string();
}
std::string Exercise::command(const std::string& goal) const { return "make " + goal + " n=" + std::to_string(n); }

Course read_course(const std::string& root) {
  Course course;
  const auto add = [&](const fs::path& folder, const std::string& stage, bool backward, bool of_bugs) {
    for (const fs::path& file : files_in(folder, ".exercise")) {
      Exercise e = parse_exercise(file.string(), read_text(file.string()));
      e.stage = stage.empty() ? "drill-" + file.stem().string() : stage, e.backward = backward;
      if (of_bugs != (e.kind == "fix"))
        throw BadInput(e.path + ": kind fix and a place beside a bug's patch go together");
      if (of_bugs) e.bug = file.stem().string();
      if (of_bugs && !fs::exists(e.beside(".patch"))) throw BadInput(e.path + " lies beside no patch of that name");
      course.all.push_back(std::move(e));
    }
  };
  const char* outside = std::getenv("LAB_BUGS");  // make bugs=DIR: bugs outside of the repository
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(root) / "stages")) {
    const std::string stage = entry.path().filename().string();
    if (!fs::exists(entry.path() / "stage.conf")) continue;
    const bool backward = !line_with(read_text((entry.path() / "stage.conf").string()), {"pass=\"backward\""}).empty();
    add(entry.path() / "bugs", stage, backward, true);
    if (outside && *outside) add(fs::path(outside) / stage, stage, backward, true);
    add(entry.path() / "exercises", stage, backward, false);
  }
  add(fs::path(root) / "checks" / "exercises" / "drills", "", false, false);
  std::ranges::sort(course.all, {}, &Exercise::n);
  std::map<std::string, std::string> known;
  for (const Exercise& e : course.all)
    for (const std::string& key : {"n: " + std::to_string(e.n), "name: " + as_word(e.name)})
      if (const auto [other, fresh] = known.emplace(key, e.path); !fresh)
        throw BadInput(e.path + ": " + key + " is that of " + other->second);
  return course;
}

const Exercise& Course::find(const std::string& word) const {
  if (all.empty()) throw BadInput("there are no exercises");
  const Exercise* best = &all[0];
  Words names;
  if (!word.empty() && std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; })) {
    const int n = number_in<int>(word, 0, 999).value_or(-1);
    for (const Exercise& e : all)
      if (std::abs(e.n - n) < std::abs(best->n - n)) best = &e;
    if (best->n == n) return *best;
    throw BadInput("no exercise " + word + "; the nearest is " + best->number() + " (" + best->name +
                   "), and make exercise lists them");
  }
  for (const Exercise& e : all) {
    names.push_back(as_word(e.name));
    if (names.back() == as_word(word)) return e;
  }
  throw BadInput("no exercise '" + word + "'; the nearest are: " + joined(nearest(word, names), " ") +
                 " - make exercise lists them");
}

}  // namespace lab::desk
