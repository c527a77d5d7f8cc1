#include <unistd.h>

#include "checks/desk/learn/learn.hpp"
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
  std::map<std::string, std::string> seen = facts_in(log);
  const std::map<std::string, std::string> asked = counts_said(e.right), said = counts_said(say);
  Prediction verdict{true, "", 0, int(asked.size())};
  for (const auto& [what, count] : said)
    if (!asked.contains(what)) throw BadInput("'" + what + "' is not asked for; " + prediction_asked(e));
  for (const auto& [what, unused] : asked) {
    const auto mine = said.find(what);
    const std::string measured = seen.contains(what) ? seen[what] : "nothing";
    const bool good = mine != said.end() && mine->second == measured;
    verdict.holds &= good, verdict.right += good;
    verdict.says += "  " + what + ": you say " + (mine == said.end() ? "nothing" : mine->second) + ", measured " +
                    measured + (good ? "" : "  <-- differs") + "\n";
  }
  return verdict;
}

}  // namespace

std::string verdict_told(const Prediction& p, bool gave_up) {
  std::string text = p.holds || gave_up ? p.says : "";
  if (p.holds) return text + "right.";
  for (const std::string& line : p.near) text += line + "\n";
  if (p.asked > 1) return text + std::to_string(p.right) + " of " + std::to_string(p.asked) + " right";
  return text + "not right";
}

std::string prediction_asked(const Exercise& e) {
  const std::string begin = "make predict n=" + std::to_string(e.n) + " say=";
  if (e.predict == "mask")
    return begin + "'RULE': a C expression over b h row col S D causal" +
           (e.backward ? " dq dk dv, as in 'dk && row % 16 < 4'" : ", as in 'row % 16 < 4 && col >= 32'");
  if (e.predict == "formula") return begin + "NAME, one of: " + joined(e.menu, ", ");
  if (e.predict == "count") return begin + "NUMBER";
  if (e.predict == "lines") return begin + "'LINE LINE': two lines of " + e.file();
  std::string names;
  for (const auto& [what, unused] : counts_said(e.right)) names += (names.empty() ? "" : " ") + what + "=COUNT";
  return begin + "'" + names + "'";
}

std::string menu_explained(const Exercise& e, const std::string& make) {
  if (e.predict != "formula") return "";
  const std::string word = e.number() + "-given", log = "build/logs/learn-" + word + "-says.log";
  if (!build_learner(e.stage, make, handed_out(e), word, e.dir() + "/kernel.cu").empty()) return "";
  run_limited({learner_path(e.stage, word), "predict", "formulas"}, log, SECONDS);
  std::string text;
  for (const std::string& line : lines_of(read_text(log)))
    if (const auto words = words_of(line); !words.empty() && std::ranges::find(e.menu, words[0]) != e.menu.end())
      text += "  " + line + "\n";
  return text;
}

std::string as_typed(const Exercise& e, const std::string& prediction) {
  if (e.predict != "lines") return prediction;
  const std::size_t bar = prediction.find(" | ");
  const std::vector<std::string> lines = lines_of(handed_out(e));
  std::string typed;
  std::vector<std::string> pieces = {prediction.substr(0, bar)};
  if (bar != prediction.npos) pieces.push_back(prediction.substr(bar + 3));
  for (const std::string& piece : pieces) {
    int at = 0, places = 0, number = 0;
    for (const std::string& line : lines) {
      ++number;
      if (line.find(piece) != line.npos) at = number, ++places;
    }
    if (places != 1)
      throw BadInput(e.path + ": '" + piece + "' is in " + std::to_string(places) + " lines of what is handed out");
    typed += (typed.empty() ? "" : " ") + std::to_string(at);
  }
  return typed;
}

Prediction judge_prediction(const Exercise& e, const std::string& make, const std::string& say,
                            const std::string& built_as) {
  // Errors that need no build are reported at once.
  if (e.predict == "mask") Rule rule(say);
  if (e.predict == "counts") counts_said(say);
  if (e.predict == "formula" && std::ranges::find(e.menu, say) == e.menu.end())
    throw BadInput("'" + say + "' is not on the menu; the nearest are: " + joined(nearest(say, e.menu), " "));
  if (e.seen == "told") {
    // Nothing is run: what the number is about is refused, or hangs.
    const auto yours = number_in<long>(say);
    if (!yours) throw BadInput("'" + say + "' is no whole number");
    const long right = std::stol(e.right);
    return {yours == right, "", yours == right, 1};
  }
  const bool whole = e.kind == "predict";
  const std::string source = whole ? read_text(kernel_path(e.stage)) : handed_out(e);
  const bool built = !built_as.empty();
  const std::string word = built   ? built_as
                           : whole ? "solved"
                                   : e.number() + "-given",
                    shown = whole ? kernel_path(e.stage) : e.dir() + "/kernel.cu";
  if (!built && !fs::exists(learner_path(e.stage, word)))
    std::fprintf(stderr,
                 "building exercise %s's kernel as it was handed out, and what runs it; the first time this takes a "
                 "minute or two\n",
                 e.number().c_str());
  const std::string trouble = built ? "" : build_learner(e.stage, make, source, word, shown);
  if (!trouble.empty()) throw BadInput("what was handed out does not build: " + trouble);
  // Several may be judged at a time.
  static std::atomic<int> judgements{0};
  const std::string log =
      "build/logs/learn-" + word + "-says-" + std::to_string(getpid()) + "-" + std::to_string(judgements++) + ".log";
  const auto said = [&] {
    std::string text = read_text(log);
    fs::remove(log);
    return text;
  };
  if (e.predict == "counts") {
    run_limited({learner_path(e.stage, word), "counts", "shape=" + e.shape}, log, SECONDS);
    return judge_counts(e, said(), say);
  }
  const Argv asks = {learner_path(e.stage, word), "predict",
                     "kind=" + e.predict,         "say=" + say,
                     "shape=" + e.shape,          "inputs=" + e.inputs,
                     "copies=" + e.copies,        "seen=" + e.seen};
  const Ended ended = run_limited(judged(asks, log), log, SECONDS);
  const Verdict verdict = verdict_beside(log);
  fs::remove(log + ".verdict");
  std::string text = said();
  if (ended.status == 2) {
    while (text.ends_with("\n")) text.pop_back();
    throw BadInput(text.starts_with("lab: ") ? text.substr(5) : text);
  }
  // Neither yes nor no: a fault, or a binary that is not there.
  if (ended.status > 2)
    throw BadInput("the prediction could not be judged: exit status " + std::to_string(ended.status));
  const bool holds = ended.status == 0;
  return {holds, text, number_in<int>(verdict.first("right")).value_or(holds),
          number_in<int>(verdict.first("asked")).value_or(1), verdict.all("near")};
}

}  // namespace lab::desk
