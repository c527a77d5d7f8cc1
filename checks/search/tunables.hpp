// The places of a stage that the search may change: stages/STAGE/tunables.conf. A tunable is a place in kernel.cu with a few allowed
// texts, or an argument of its `launch<...>(args)`. writeups/extending.md has the format.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/shape.hpp"

namespace lab::search {

// Of each tunable the value, as a text of C++.
using Setting = std::map<std::string, std::string>;

struct Tunable {
  std::string name, when;  // when: "D == 64", "D == 128" or "causal", of the shapes for which it matters; "" of all
  std::vector<std::string> values;  // at least two
  std::string at;                   // a piece of kernel.cu, there once, the value in braces; "" of a launch's argument
  std::string own;                  // what kernel.cu says there
};

class Tunables {
 public:
  // Throw BadInput where tunables.conf is malformed or disagrees with kernel.cu.
  explicit Tunables(const std::string& stage);
  Tunables(const std::string& stage, const std::string& conf, const std::string& kernel);

  const std::string& stage() const { return stage_; }
  // Those that matter for the shape. D, the first of a launch's arguments, is the shape's.
  std::vector<const Tunable*> for_shape(const Shape& shape) const;
  // Of each launch with the shape's D its arguments, with the kernel's own values elsewhere.
  std::vector<Setting> rows(const Shape& shape) const;
  // The row that the stage takes for the shape, by the plan that the runner prints: "kernel attention<64,4>".
  Setting own(const Shape& shape, const std::string& plan) const;
  // The kernel with these values for a compiler: whatever launch of the shape's D it chooses has this row's arguments.
  std::string source(const Setting& setting, const Shape& shape) const;

 private:
  void read(const std::string& conf);
  void check() const;
  void must(bool holds, const std::string& what) const;
  std::pair<std::size_t, std::size_t> place(const Tunable& tunable, const std::string& source) const;
  std::string launch(const Setting& row, const Shape& shape, const char* comma) const;  // "<64,2,128>"

  std::string stage_, kernel_;
  std::vector<std::string> arguments_;  // of a launch, by `table:`
  std::vector<Tunable> tunables_;
};

}  // namespace lab::search
