// Mistakes that nobody planted: rules (checks/mutants/mutants.txt) that change a line of any stage's kernel.cu in which
// their text stands. They measure the acceptance, where bugs' patches teach.
#pragma once
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace lab::desk {

struct Mutation {
  struct Rule {
    std::regex pattern;
    std::string replacement;  // as std::regex_replace takes it
  };
  std::string name, what;
  int only = 0;                                        // the place where it applies, counted from 1; 0: every one
  std::vector<Rule> rules;                             // the first whose text stands in a kernel counts
  std::map<std::string, std::string> equivalent = {};  // stage, or "*": why nothing can be seen there

  // Why nothing can be seen in this stage, if so. `stage` is a directory or its short name.
  std::optional<std::string> equivalent_in(const std::string& stage) const;
};

// Throws BadInput naming file and line.
std::vector<Mutation> parse_mutations(const std::string& text, const std::string& path);

// The kernel with the mistake in it; nothing where its text does not stand.
std::optional<std::string> mutated(const Mutation& mutation, const std::string& source);

}  // namespace lab::desk
