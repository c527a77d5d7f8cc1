// desk mutate, desk mutants: what the acceptance and the race check say of mistakes that nobody planted.
#include "checks/desk/mutants.hpp"

#include <chrono>
#include <cstdio>

#include "checks/desk/commands.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/pieces.hpp"
#include "checks/desk/process.hpp"

namespace lab::desk {
namespace {

const std::string RULES = "checks/mutants/mutants.txt";
constexpr int TEST_SECONDS = 900;  // what hangs has the acceptance's own limit long before

// "/REGEX/REPLACEMENT/" with \/ for a slash within.
std::vector<std::string> between_slashes(const std::string& text) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '/')
      parts.back() += text[++i];
    else if (text[i] == '/')
      parts.emplace_back();
    else
      parts.back() += text[i];
  }
  return parts;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<Mutation> all_mutations() { return parse_mutations(read_text(RULES), RULES); }

// The first line that tells why: of a problem, of a finding.
std::string first_reason(const std::string& log) {
  for (const std::string& line : lines_of(log))
    if (line.starts_with("    ") || line.find(", kernel ") != line.npos) return clipped(trimmed(line), 120);
  return "";
}

}  // namespace

std::optional<std::string> Mutation::equivalent_in(const std::string& stage) const {
  for (const std::string& key : {std::string("*"), stage, stage.substr(0, stage.find('_'))})
    if (const auto found = equivalent.find(key); found != equivalent.end()) return found->second;
  return std::nullopt;
}

std::vector<Mutation> parse_mutations(const std::string& text, const std::string& path) {
  std::vector<Mutation> all;
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    const auto wrong = [&](const std::string& what) {
      return BadInput(path + ":" + std::to_string(number) + ": " + what);
    };
    if (line.empty() || line[0] == '#') continue;
    const std::string words = trimmed(line);
    const std::size_t colon = words.find(": ");
    if (line[0] != ' ') {
      if (colon == words.npos) throw wrong("not NAME: what it does");
      const std::vector<std::string> name = words_of(words.substr(0, colon));
      if (name.empty() || name.size() > 2) throw wrong("not NAME: what it does, nor NAME N: what it does");
      for (const Mutation& earlier : all)
        if (earlier.name == name[0]) throw wrong(name[0] + " is there twice");
      Mutation mutation{name[0], words.substr(colon + 2), 0, {}};
      if (name.size() == 2 && (mutation.only = std::atoi(name[1].c_str())) < 1) throw wrong("N counts from 1");
      all.push_back(mutation);
    } else if (all.empty()) {
      throw wrong("a rule before the first name");
    } else if (words.starts_with("equivalent ")) {
      if (colon == words.npos) throw wrong("not equivalent STAGE: why");
      all.back().equivalent[trimmed(words.substr(11, colon - 11))] = words.substr(colon + 2);
    } else {
      const std::vector<std::string> parts = between_slashes(words);
      if (parts.size() != 4 || !parts[0].empty() || !parts[3].empty()) throw wrong("not /REGEX/REPLACEMENT/");
      try {
        all.back().rules.push_back({std::regex(parts[1]), parts[2]});
      } catch (const std::regex_error&) {
        throw wrong("'" + parts[1] + "' is no regular expression");
      }
    }
  }
  for (const Mutation& mutation : all)
    if (mutation.rules.empty()) throw BadInput(path + ": " + mutation.name + " has no rule");
  return all;
}

std::optional<std::string> mutated(const Mutation& mutation, const std::string& source) {
  for (const Mutation::Rule& rule : mutation.rules) {
    std::string result;
    int place = 0;
    bool changed = false;
    for (std::string line : lines_of(source)) {
      if (std::regex_search(line, rule.pattern) && (++place == mutation.only || mutation.only == 0)) {
        const std::string before = line;
        line = std::regex_replace(line, rule.pattern, rule.replacement, std::regex_constants::format_first_only);
        changed |= line != before;
      }
      result += line + "\n";
    }
    if (changed) return result;
  }
  return std::nullopt;
}

// desk mutate STAGE NAME OUT: for the Makefile's rule.
int mutate_command(const Args& args) {
  expect_args(args, 3, 3, "mutate STAGE NAME OUT");
  const std::string path = "stages/" + args[0] + "/kernel.cu";
  for (const Mutation& mutation : all_mutations())
    if (mutation.name == args[1]) {
      const auto text = mutated(mutation, read_text(path));
      if (!text) throw BadInput(mutation.name + " finds nothing to change in " + path);
      write_text(args[2], "#line 1 \"" + path + "\"\n" + *text);
      return 0;
    }
  throw BadInput("no mutation '" + args[1] + "' in " + RULES);
}

// desk mutants MAKE ONLY STAGE...: builds and runs one mutant after the other. ONLY "" is all of them. A mutant is a
// build of the stage, instrumented: `test` runs in it with the checker asleep, then `racecheck` where the test is
// green.
int mutants_command(const Args& args) {
  expect_args(args, 3, 1000, "mutants MAKE ONLY STAGE...");
  const Ladder ladder = read_ladder();
  Counts counts;
  bool known = args[1].empty();
  for (std::size_t i = 2; i < args.size(); ++i) {
    const std::string& stage = args[i];
    const std::string source = read_text("stages/" + stage + "/kernel.cu");
    int red_test = 0, red_race = 0, equivalent = 0, survived = 0;
    for (const Mutation& mutation : all_mutations()) {
      if (!args[1].empty() && mutation.name != args[1]) continue;
      known = true;
      if (!mutated(mutation, source)) continue;
      const std::string dir = "build/cpu/" + stage + "/mutant-" + mutation.name;
      const std::string lab = dir + "/lab", log = "build/logs/mutant-" + stage + "-" + mutation.name + ".log";
      std::string verdict, reason;
      bool good = false;
      const auto begin = std::chrono::steady_clock::now();
      if (run({args[0], "backend=cpu", "-s", lab}, log).status != 0) {
        verdict = "does not compile", reason = "see " + log;
      } else if (run_limited({lab, "test", "quick=1"}, log, TEST_SECONDS).status != 0) {
        verdict = "red: test", reason = first_reason(read_text(log)), good = true, ++red_test;
      } else if (run_limited({lab, "racecheck"}, log, TEST_SECONDS).status != 0) {
        verdict = "red: racecheck", reason = first_reason(read_text(log)), good = true, ++red_race;
      } else if (const auto why = mutation.equivalent_in(stage)) {
        verdict = "green, as it must be", reason = *why, good = true, ++equivalent;
      } else {
        verdict = "SURVIVED", reason = mutation.what, ++survived;
      }
      if (good && verdict.starts_with("red") && mutation.equivalent_in(stage))
        good = false, reason = "but " + RULES + " says that nothing can be seen: " + reason;
      ++(good ? counts.passed : counts.failed);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      std::printf("%-18s %-26s %-20s %5.1f s  %s\n", stage.c_str(), mutation.name.c_str(), verdict.c_str(), seconds,
                  reason.c_str());
      std::fflush(stdout);
    }
    std::printf("%s: %d red in test, %d in racecheck alone, %d equivalent, %d survived\n", stage.c_str(), red_test,
                red_race, equivalent, survived);
  }
  if (!known) throw BadInput("no mutation '" + args[1] + "' in " + RULES);
  std::printf("%d passed, %d failed\n", counts.passed, counts.failed);
  return counts.failed == 0 && counts.passed > 0 ? 0 : 1;
}

}  // namespace lab::desk
