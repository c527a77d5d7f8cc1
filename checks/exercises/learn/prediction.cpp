#include <unistd.h>

#include "checks/exercises/learn/exercise.hpp"
#include "checks/exercises/rule.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

constexpr int SECONDS = 240;

// "reads=12 barriers=3"
std::map<std::string, std::string> counts_said(const std::string& text) {
  std::map<std::string, std::string> counts;
  for (const std::string& word : words_of(text)) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos || equals == 0 || equals + 1 == word.size())
      throw BadInput("'" + word + "' is not NAME=COUNT");
    counts[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return counts;
}

Prediction judge_counts(const Exercise& e, const std::string& log, const std::string& say) {
  std::map<std::string, std::string> seen = facts_in(log), said = counts_said(say);
  const std::map<std::string, std::string> asked = counts_said(e.right);
  Prediction verdict{true, "", 0, int(asked.size())};
  for (const auto& [what, count] : said)
    if (!asked.contains(what)) throw BadInput("'" + what + "' is not asked for; " + prediction_asked(e));
  for (const auto& [what, unused] : asked) {
    for (auto* one : {&seen, &said}) one->try_emplace(what, "nothing");
    const bool good = said[what] == seen[what] && seen[what] != "nothing";
    verdict.holds &= good, verdict.right += good;
    verdict.says +=
        "  " + what + ": you say " + said[what] + ", measured " + seen[what] + (good ? "" : "  <-- differs") + "\n";
  }
  return verdict;
}

// What says something of the kernel as it was handed out: a build's path. Of a prediction of a whole stage, that stage's kernel.
std::string built_for(const Exercise& e, const std::string& make) {
  const bool whole = e.kind == "predict";
  const std::string word = whole ? "solved" : e.number() + "-given", path = built_path(e.stage, word);
  if (!fs::exists(path))
    std::fprintf(stderr, "compiling %s, and what runs it; the first time this takes a minute or two\n",
                 whole ? e.kernel().c_str() : ("exercise " + e.number() + "'s kernel as it was handed out").c_str());
  const std::string trouble = build_work(e.stage, make, whole ? read_text(e.kernel()) : handed_out(e), word,
                                         whole ? e.kernel() : e.dir() + "/kernel.cu");
  if (!trouble.empty()) throw BadInput("what was handed out does not build: " + trouble);
  return path;
}

// Its log, and gone. Several may run at a time.
struct SaidFile {
  SaidFile() {
    static std::atomic<int> count{0};
    path = "build/logs/learn-says-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".log";
  }
  ~SaidFile() { fs::remove(path), fs::remove(path + ".verdict"); }
  std::string path;
};

}  // namespace

std::string verdict_told(const Prediction& p, bool gave_up) {
  std::string text = p.holds || gave_up ? p.says : "";
  if (p.holds) return text + "right.";
  for (const std::string& line : p.near) text += line + "\n";
  return text + (p.asked > 1 ? std::to_string(p.right) + " of " + std::to_string(p.asked) + " right" : "not right");
}

std::string prediction_asked(const Exercise& e) {
  const std::string begin = e.command("predict") + " say=";
  if (e.predict == "mask")
    return begin + "'RULE': a C expression over b h row col S D causal" +
           (e.backward ? " dq dk dv, as in 'dk && row % 16 < 4'" : ", as in 'row % 16 < 4 && col >= 32'");
  if (e.predict == "formula") return begin + "NAME, one of: " + joined(e.menu, ", ");
  if (e.predict == "count") return begin + "NUMBER";
  if (e.predict == "lines") return begin + "'LINE LINE': two lines of " + e.file();
  std::vector<std::string> names;
  for (const auto& [what, unused] : counts_said(e.right)) names.push_back(what + "=COUNT");
  return begin + "'" + joined(names, " ") + "'";
}

std::string menu_explained(const Exercise& e, const std::string& make) {
  if (e.predict != "formula") return "";
  const SaidFile log;
  run_limited(runs_of(built_for(e, make), {"predict", "formulas"}), log.path, SECONDS);
  std::string text;
  for (const std::string& line : lines_of(read_text(log.path)))
    if (const auto words = words_of(line); !words.empty() && std::ranges::find(e.menu, words[0]) != e.menu.end())
      text += "  " + line + "\n";
  return text;
}

std::string as_typed(const Exercise& e, const std::string& prediction) {
  if (e.predict != "lines") return prediction;
  const std::vector<std::string> lines = lines_of(handed_out(e));
  std::vector<std::string> typed;
  for (const std::string& piece : split(prediction, " | ")) {
    int at = 0, places = 0, number = 0;
    for (const std::string& line : lines) {
      ++number;
      if (line.find(piece) != line.npos) at = number, ++places;
    }
    if (places != 1)
      throw BadInput(e.path + ": '" + piece + "' is in " + std::to_string(places) + " lines of what is handed out");
    typed.push_back(std::to_string(at));
  }
  return joined(typed, " ");
}

Prediction judge_prediction(const Exercise& e, const std::string& make, const std::string& say,
                            const std::string& built_as) {
  // What needs no build comes first.
  if (e.predict == "mask") Rule rule(say);
  if (e.predict == "counts") counts_said(say);
  if (e.predict == "formula" && std::ranges::find(e.menu, say) == e.menu.end())
    throw BadInput("'" + say + "' is not on the menu; the nearest are: " + joined(nearest(say, e.menu), " "));
  if (e.seen == "told") {  // nothing is run: what the number is about is refused, or hangs
    const auto yours = number_in<long>(say);
    if (!yours) throw BadInput("'" + say + "' is no whole number");
    const bool right = *yours == std::stol(e.right);
    return {right, "", right, 1};
  }
  const std::string path = built_as.empty() ? built_for(e, make) : built_path(e.stage, built_as);
  const SaidFile log;
  if (e.predict == "counts") {
    run_limited(runs_of(path, {"counts", "shape=" + e.shape}), log.path, SECONDS);
    return judge_counts(e, read_text(log.path), say);
  }
  const Argv asks = runs_of(path, {"predict", "kind=" + e.predict, "say=" + say, "shape=" + e.shape,
                                   "inputs=" + e.inputs, "copies=" + e.copies, "seen=" + e.seen});
  const Ended ended = run_limited(judged(asks, log.path), log.path, SECONDS);
  const Verdict verdict = verdict_beside(log.path);
  const std::string text = read_text(log.path);
  if (ended.status == 2) throw BadInput(replaced(trimmed(text, "\n"), "lab: ", ""));
  // Neither yes nor no: a fault, or a binary that is not there.
  if (ended.status > 2)
    throw BadInput("the prediction could not be judged: exit status " + std::to_string(ended.status));
  const bool holds = ended.status == 0;
  return {holds, text, number_in<int>(verdict.first("right")).value_or(holds),
          number_in<int>(verdict.first("asked")).value_or(1), verdict.all("near")};
}

}  // namespace lab::desk
