// desk mutate, desk mutants: what the acceptance and the race check say of unplanned mistakes.
#include <cstring>
#include <fstream>

#include "checks/desk/ladder.hpp"
#include "checks/desk/mutants.hpp"
#include "checks/desk/runs.hpp"

namespace lab::desk {
namespace {

const std::string RULES = "checks/mutants";
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

// How much of a line is code: all but its comment, and the blanks before that.
std::size_t code_end(const std::string& line) {
  const std::size_t last = line.find_last_not_of(' ', line.find("//") - 1);
  return line.starts_with("//") || last == line.npos ? 0 : last + 1;
}

// What is left of a file for rules: code alone. A line's neighbours are lines of code that are no directives.
class CodeLines {
 public:
  explicit CodeLines(const std::string& text) : lines_(lines_of(text)) {
    for (const std::string& line : lines_) code_.push_back(line.substr(0, code_end(line)));
  }
  std::size_t size() const { return lines_.size(); }
  const std::string& code(std::size_t i) const { return code_[i]; }
  std::string with(std::size_t i, const std::string& code) const { return code + lines_[i].substr(code_[i].size()); }
  bool neighbour_has(std::size_t i, int step, const std::optional<std::regex>& wanted) const {
    if (!wanted) return true;
    do i += std::size_t(step);
    while (i < code_.size() && (trimmed(code_[i]).empty() || code_[i][0] == '#'));
    return i < code_.size() && std::regex_search(code_[i], *wanted);
  }

 private:
  std::vector<std::string> lines_, code_;
};

std::vector<Source> changed_by(const Mutation::Rule& rule, int only, const std::vector<Source>& sources) {
  std::vector<Source> changed;
  int place = 0;
  for (const Source& source : sources) {
    if (source.text.find(rule.literal) == source.text.npos) continue;
    const CodeLines lines(source.text);
    std::string result;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::string code = lines.code(i);
      if (!code.empty() && std::regex_search(code, rule.pattern) && lines.neighbour_has(i, -1, rule.after) &&
          lines.neighbour_has(i, 1, rule.before) && (++place == only || only == 0))
        code = std::regex_replace(code, rule.pattern, rule.replacement, std::regex_constants::format_first_only);
      result += lines.with(i, code) + "\n";
    }
    if (result != source.text) changed.push_back({source.path, result});
  }
  return changed;
}

// A mutant's result without its rule: the rule says whether it is as it must be.
struct Judgement {
  std::string word;  // "test", "racecheck", "green", "same-code", "does-not-compile"
  std::string reason;
};

// Verdicts outlive the run that found them, under a number that stands for all that enters them: a run that was
// stopped goes on where it was, and a new rule costs its own time only. Lines NUMBER=WORD REASON.
constexpr const char* VERDICTS = "build/logs/mutant-verdicts.txt";
std::optional<Judgement> kept_verdict(const Verdict& kept, const std::string& key) {
  const std::string said = kept.last(key);
  const std::size_t blank = said.find(' ');  // none: a run was stopped while it wrote this
  if (blank == said.npos) return {};
  return Judgement{said.substr(0, blank), said.substr(blank + 1)};
}

// Whether two objects are the same to the linker, debug information aside.
bool same_code(const std::string& a, const std::string& b, const std::string& scratch) {
  for (const auto& [from, to] : {std::pair(a, scratch + "/a.o"), std::pair(b, scratch + "/b.o")})
    if (run({"objcopy", "--strip-debug", from, to}, scratch + "/objcopy.log").status != 0) return false;
  return read_text(scratch + "/a.o") == read_text(scratch + "/b.o");
}

const std::string UNCHANGED = "unchanged";  // the mutant that is none: what others' machine code is held against

// Builds a mutant and asks until something is red, the quick questions first.
Judgement judge_mutant(const std::string& make, const std::string& stage, const std::string& name) {
  const std::string builds = "build/cpu/" + stage, draft = builds + "/draft-" + name + "/lab";
  const std::string dir = builds + "/mutant-" + name, lab = dir + "/lab";
  const std::string log = "build/logs/mutant-" + stage + "-" + name + ".log";
  const auto red = [&](const Argv& argv) { return run_limited(judged(argv, log), log, TEST_SECONDS).status != 0; };
  const auto because = [&](const char* word) {
    return Judgement{word, clipped(verdict_beside(log).first("why"), 120)};
  };
  if (run({make, "backend=cpu", "-s", draft}, log).status != 0) return {"does-not-compile", "see " + log};
  const bool wrong = red({draft, "test", "cheapest=40", "once=1"});
  fs::remove(draft);  // 20 MB each
  if (wrong) return because("test");
  if (run({make, "backend=cpu", "-s", lab}, log).status != 0) return {"does-not-compile", "see " + log};
  if (same_code(dir + "/kernel.o", builds + "/mutant-" + UNCHANGED + "/kernel.o", dir))
    return {"same-code", "the compiler makes the same of it"};
  if (red({lab, "racecheck", "short=1"}) || red({lab, "test", "cheapest=40"})) return because("test");
  if (red({lab, "racecheck"})) return because("racecheck");
  if (red({lab, "test", "quick=1"})) return because("test");
  return {"green", ""};
}

// A rule that finds its text in no stage has lost it to an edit, and asks nothing from then on.
void refuse_dead_rules(const std::vector<Mutation>& mutations) {
  std::vector<std::vector<Source>> stages;
  const Ladder ladder = read_ladder();
  for (const Stage* stage : ladder.all()) stages.push_back(sources_of(stage->dir));
  if (const std::vector<std::string> dead = dead_rules(mutations, stages); !dead.empty())
    throw BadInput(RULES + ": " + dead[0] + " changes no stage" +
                   (dead.size() > 1 ? ", and " + std::to_string(dead.size() - 1) + " more rules" : ""));
}

}  // namespace

std::optional<std::string> Mutation::equivalent_in(const std::string& stage) const {
  for (const std::string& key : {std::string("*"), stage, short_stage_name(stage)})
    if (const auto found = equivalent.find(key); found != equivalent.end()) return found->second;
  return std::nullopt;
}

std::string literal_in(const std::string& pattern) {
  std::string longest, run;
  const auto end_run = [&] {
    if (run.size() > longest.size()) longest = run;
    run.clear();
  };
  int depth = 0;  // of groups: one may be optional, so its text does not count
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i];
    if (c == '|') return "";
    const bool escaped = c == '\\' && i + 1 < pattern.size();
    if (escaped) c = pattern[++i];
    const bool plain = escaped ? std::ispunct(static_cast<unsigned char>(c)) : !std::strchr("^$.*+?{}()[]", c);
    if (!escaped) depth += (c == '(') - (c == ')');
    if (!escaped && depth == 0 && (c == '*' || c == '?' || c == '{') && !run.empty()) run.pop_back();
    if (plain && depth == 0)
      run += c;
    else
      end_run();
    if (!escaped && c == '{') i = std::min(pattern.find('}', i), pattern.size());
    if (!escaped && c == '[')
      while (++i < pattern.size() && pattern[i] != ']') i += pattern[i] == '\\';
  }
  end_run();
  return longest;
}

std::vector<Mutation> all_mutations() {
  std::vector<Mutation> all;
  for (const fs::path& path : files_in(RULES, ".txt")) all = parse_mutations(read_text(path), path, std::move(all));
  return all;
}

std::vector<Mutation> parse_mutations(const std::string& text, const std::string& path, std::vector<Mutation> all) {
  const std::size_t earlier = all.size();
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
      for (const Mutation& one : all)
        if (one.name == name[0]) throw wrong(name[0] + " is there twice");
      Mutation mutation{name[0], words.substr(colon + 2), 0, {}};
      if (name.size() == 2 && (mutation.only = std::atoi(name[1].c_str())) < 1) throw wrong("N counts from 1");
      all.push_back(mutation);
    } else if (all.size() == earlier) {
      throw wrong("a rule before the first name");
    } else if (words.starts_with("equivalent ")) {
      if (colon == words.npos) throw wrong("not equivalent STAGE: why");
      all.back().equivalent[trimmed(words.substr(11, colon - 11))] = words.substr(colon + 2);
    } else {
      const std::vector<std::string> parts = between_slashes(words);
      if (parts.size() < 4 || parts.size() % 2 || !parts.front().empty() || !parts.back().empty())
        throw wrong("not /REGEX/REPLACEMENT/");
      const auto regex = [&](const std::string& part) {
        try {
          return std::regex(part);
        } catch (const std::regex_error&) {
          throw wrong("'" + part + "' is no regular expression");
        }
      };
      Mutation::Rule rule{words, regex(parts[1]), parts[2], {}, {}};
      for (std::size_t i = 3; i + 1 < parts.size(); i += 2) {
        const std::string where = trimmed(parts[i]);
        if (where != "after" && where != "before") throw wrong("'" + where + "' is neither after nor before");
        (where == "after" ? rule.after : rule.before) = regex(parts[i + 1]);
      }
      rule.literal = literal_in(parts[1]);
      all.back().rules.push_back(rule);
    }
  }
  for (const Mutation& mutation : all)
    if (mutation.rules.empty()) throw BadInput(path + ": " + mutation.name + " has no rule");
  return all;
}

std::vector<Source> sources_of(const std::string& stage, const std::string& root) {
  const std::regex include(R"re(^\s*#\s*include\s+"(common/.*\.cuh)")re");
  std::vector<Source> sources = {{kernel_path(stage), ""}};
  for (std::size_t i = 0; i < sources.size(); ++i) {
    sources[i].text = read_text(root + "/" + sources[i].path);
    std::smatch found;
    for (const std::string& line : lines_of(sources[i].text))
      if (std::regex_search(line, found, include) &&
          std::ranges::find(sources, found[1].str(), &Source::path) == sources.end())
        sources.push_back({found[1].str(), ""});
  }
  return sources;
}

std::vector<Source> mutated(const Mutation& mutation, const std::vector<Source>& sources) {
  for (const Mutation::Rule& rule : mutation.rules)
    if (const std::vector<Source> changed = changed_by(rule, mutation.only, sources); !changed.empty()) return changed;
  return {};
}

std::vector<std::string> dead_rules(const std::vector<Mutation>& all, const std::vector<std::vector<Source>>& stages) {
  std::vector<std::string> dead;
  for (const Mutation& mutation : all)
    for (const Mutation::Rule& rule : mutation.rules)
      if (std::ranges::none_of(stages,
                               [&](const auto& sources) { return !changed_by(rule, mutation.only, sources).empty(); }))
        dead.push_back(mutation.name + ": " + rule.text);
  return dead;
}

std::string mutants_table(const std::vector<std::pair<std::string, MutantCounts>>& stages) {
  std::string text =
      "| stage | rules that apply | red in `test` | red in `racecheck` | equivalent | survived |\n"
      "|---|--:|--:|--:|--:|--:|\n";
  MutantCounts all;
  const auto row = [&](const std::string& name, const MutantCounts& c) {
    std::vector<std::string> cells = {name};
    for (const int n : {c.rules, c.test, c.racecheck, c.equivalent, c.survived}) cells.push_back(std::to_string(n));
    text += table_row(cells);
  };
  for (const auto& [name, c] : stages) {
    row(name, c);
    all.rules += c.rules, all.test += c.test, all.racecheck += c.racecheck;
    all.equivalent += c.equivalent, all.survived += c.survived;
  }
  if (stages.size() > 1) row("all", all);
  return text;
}

// desk mutate STAGE NAME OUT: for the Makefile's rule. Headers that the mistake changes go to OUT's directory, which
// comes first where the compiler looks for them.
int mutate_command(const Args& args) {
  const std::vector<Source> sources = sources_of(args[0]);
  const std::string dir = fs::path(args[2]).parent_path().string();
  std::vector<Mutation> all = all_mutations();
  all.push_back({UNCHANGED, "none", 0, {}});
  for (const Mutation& mutation : all)
    if (mutation.name == args[1]) {
      const std::vector<Source> changed = mutated(mutation, sources);
      if (changed.empty() && mutation.name != UNCHANGED)
        throw BadInput(mutation.name + " finds nothing to change in " + sources[0].path);
      fs::remove_all(dir + "/common");
      std::string kernel = sources[0].text;
      for (const Source& source : changed)
        if (source.path == sources[0].path)
          kernel = source.text;
        else
          write_text(dir + "/" + source.path, "#line 1 \"" + source.path + "\"\n" + source.text);
      write_text(args[2], "#line 1 \"" + sources[0].path + "\"\n" + kernel);
      return 0;
    }
  throw BadInput("no mutation '" + args[1] + "' in " + RULES);
}

// desk mutants MAKE ONLY STAGE...: builds and runs one mutant after the other. ONLY "" is all of them, and may be
// several names. A mutant is a build of the stage, instrumented, in which the checker sleeps while `test` runs.
int mutants_command(const Args& args) {
  const std::vector<Mutation> mutations = all_mutations();
  const std::vector<std::string> wanted = words_of(args[1]);
  for (const std::string& name : wanted)
    if (std::ranges::find(mutations, name, &Mutation::name) == mutations.end())
      throw BadInput("no mutation '" + name + "' in " + RULES);
  std::vector<Mutation> asked = mutations;
  if (!wanted.empty()) std::erase_if(asked, [&](const Mutation& m) { return !std::ranges::count(wanted, m.name); });
  refuse_dead_rules(asked);
  const Verdict kept = Verdict::from(VERDICTS);
  Counts counts;
  std::vector<std::pair<std::string, MutantCounts>> table;
  for (std::size_t i = 2; i < args.size(); ++i) {
    const std::string& stage = args[i];
    const std::vector<Source> sources = sources_of(stage);
    const std::string unchanged = "build/cpu/" + stage + "/mutant-" + UNCHANGED + "/lab";
    const std::string draft = "build/cpu/" + stage + "/draft-" + UNCHANGED + "/lab";
    const std::string log = "build/logs/mutant-" + stage + ".log";
    if (run({args[0], "backend=cpu", "-s", unchanged, draft}, log).status != 0)
      throw BadInput(stage + " does not build; see " + log);
    if (run({draft, "test", "cheapest=40", "once=1"}, log).status != 0)
      throw BadInput(stage + " is red without a mistake; see " + log);
    std::vector<std::string> common;  // the stage's own text, and the harness
    for (const Source& source : sources) common.push_back(source.text);
    for (const char* path : {"build/cpu/flags", "build/cpu/liblab.a", "build/cpu/libtest.a"})
      common.push_back(read_text(path));
    MutantCounts c;
    for (const Mutation& mutation : asked) {
      const std::vector<Source> changed = mutated(mutation, sources);
      if (changed.empty()) continue;
      std::vector<std::string> all = common;
      for (const Source& source : changed) all.insert(all.end(), {source.path, source.text});
      const std::string key = hash_of(all);
      const Stopwatch watch;
      const std::optional<Judgement> before = kept_verdict(kept, key);
      const Judgement verdict = before ? *before : judge_mutant(args[0], stage, mutation.name);
      const double seconds = watch.seconds();
      if (!before) {
        fs::remove("build/cpu/" + stage + "/mutant-" + mutation.name + "/lab");  // 20 MB each
        if (verdict.word != "does-not-compile")
          std::ofstream(VERDICTS, std::ios::app) << key << '=' << verdict.word << ' ' << verdict.reason << '\n';
      }

      const auto why = mutation.equivalent_in(stage);
      const bool red = verdict.word == "test" || verdict.word == "racecheck", same = verdict.word == "same-code";
      std::string word = red ? "red: " + verdict.word : verdict.word, reason = verdict.reason;
      bool good = red && !why;
      ++c.rules;
      if (red && why)
        reason = "but " + RULES + " says that nothing can be seen: " + reason;
      else if (same || (why && verdict.word == "green"))
        word = same ? "same code" : "green, as it must be", good = true, reason = same ? reason : *why;
      else if (verdict.word == "green")
        word = "SURVIVED", reason = mutation.what;
      ++(!good ? c.survived : !red ? c.equivalent : verdict.word == "test" ? c.test : c.racecheck);
      counts.add(good);
      std::printf("%-18s %-26s %-20s %5.1f s%s  %s\n", stage.c_str(), mutation.name.c_str(), word.c_str(), seconds,
                  before ? " (kept)" : "", reason.c_str());
      std::fflush(stdout);
    }
    table.emplace_back(stage, c);
  }
  std::printf("\n%s\n", mutants_table(table).c_str());
  return told(counts);
}

}  // namespace lab::desk
