// The places of a stage that the search may change: stages/STAGE/tunables.conf. A tunable is a place in kernel.cu with a few allowed texts, an
// argument of the table of tiles at its end, or a patch that is there or not. writeups/extending.md has the format.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "common/shape.hpp"

namespace lab::search {

// Of each tunable the value, as a text of C++.
using Setting = std::map<std::string, std::string>;

struct Tunable {
  std::string name, when;           // when: the condition on D and causal under which it matters; "" always
  bool patch = false;               // stages/STAGE/tunables/NAME.patch: 0 without, 1 with
  std::vector<std::string> values;  // at least two
  std::vector<std::string> at;      // pieces of kernel.cu that stand there once, the value in braces
  std::string own;                  // what kernel.cu says; "" of a table's argument
};

class Tunables {
 public:
  // Throw BadInput, with file and line, where tunables.conf is malformed or disagrees with kernel.cu.
  explicit Tunables(const std::string& stage);
  Tunables(const std::string& stage, const std::string& conf, const std::string& kernel);

  const std::string& stage() const { return stage_; }
  // Those that matter for the shape. D, the first of the table's arguments, is the shape's.
  std::vector<const Tunable*> for_shape(const Shape& shape) const;
  // The rows of the table that have the shape's D, each with the kernel's own values elsewhere.
  std::vector<Setting> rows(const Shape& shape) const;
  // The row that the stage takes for the shape, by the plan that it prints: the numbers of "kernel attention<64,4>".
  Setting own(const Shape& shape, const std::string& plan) const;
  // Why the setting cannot be built or run; "" if it can.
  std::string objection(const Setting& setting, const Shape& shape) const;
  // A `let` of the conf, such as smem.
  long number(const std::string& name, const Setting& setting, const Shape& shape) const;
  // The kernel with these values for a compiler: of the table that one row only, taken by every shape of its D.
  std::string source(const Setting& setting, const Shape& shape) const;

 private:
  using Texts = std::vector<std::pair<std::string, std::string>>;
  void read(const std::string& conf);
  void check() const;
  std::string computed(const Setting& setting, const Shape& shape, const std::string& script) const;

  std::string stage_, path_, kernel_path_, kernel_;
  mutable std::string patched_;         // the kernel with the patch that is a tunable, once it was asked for
  std::vector<std::string> arguments_;  // of the table
  std::vector<Tunable> tunables_;
  Texts lets_, musts_;  // name or condition, expression or reason
};

}  // namespace lab::search
