// Unplanned mistakes: rules (checks/mutants/*.txt) that change a line of any stage in which their text
// stands, be it in kernel.cu or in a header of common/ that it includes. They measure the acceptance, where bugs'
// patches teach.
#pragma once
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace lab::desk {

struct Mutation {
  struct Rule {
    std::string text;  // as in the file
    std::regex pattern;
    std::string replacement;                  // as std::regex_replace takes it
    std::optional<std::regex> after, before;  // what the lines of code around have, if asked for
    std::string literal = {};                 // text that stands wherever the pattern does
  };
  std::string name, what;
  int only = 0;                                        // the place where it applies, counted from 1; 0: every one
  std::vector<Rule> rules;                             // the first whose text stands in a stage counts
  std::map<std::string, std::string> equivalent = {};  // stage, or "*": why nothing can be seen there

  // Why nothing can be seen in this stage, if so. `stage` is a directory or its short name.
  std::optional<std::string> equivalent_in(const std::string& stage) const;
};

// The longest text that stands wherever the pattern does: a file without it need not be searched. "" if none is known.
std::string literal_in(const std::string& pattern);

// Throws BadInput naming file and line.
std::vector<Mutation> parse_mutations(const std::string& text, const std::string& path, std::vector<Mutation> all = {});
// Of all files.
std::vector<Mutation> all_mutations();

struct Source {
  std::string path, text;
};

// A stage as its kernel is compiled: kernel.cu, then the .cuh headers of common/ that it includes, directly or through
// another, in the order in which they are met. Paths are relative to the root.
std::vector<Source> sources_of(const std::string& stage, const std::string& root = ".");

// The files that the mistake changes, changed; none where its text does not stand. Places are counted through all
// files.
std::vector<Source> mutated(const Mutation& mutation, const std::vector<Source>& sources);

// The rules of `all`, each "NAME: /REGEX/...", whose text stands in none of the stages: they would ask nothing.
std::vector<std::string> dead_rules(const std::vector<Mutation>& all, const std::vector<std::vector<Source>>& stages);

// What `make mutants` says of one stage.
struct MutantCounts {
  int rules = 0;       // whose text stands in it
  int test = 0;        // turned red by what `make test` does: the acceptance, and the short race check
  int racecheck = 0;   // turned red by the whole race check, before the costly half of the acceptance was asked
  int equivalent = 0;  // nothing to be seen: the reason is in the rules, or the machine code is the same
  int survived = 0;    // the rest, and what does not compile
};
std::string mutants_table(const std::vector<std::pair<std::string, MutantCounts>>& stages);

}  // namespace lab::desk
