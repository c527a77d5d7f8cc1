// Changes of a kernel that the elite loop may make: stages/STAGE/levers.conf. A lever is a place in kernel.cu with a
// few allowed texts, an argument of the table of tiles at its end, or a patch that is there or not. The kernel's own
// values reproduce kernel.cu byte for byte. writeups/extending.md has the format.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checks/expression.hpp"
#include "common/shape.hpp"

namespace lab::desk {

using Numbers = std::map<std::string, long>;

// Of each lever the value, as a text of C++.
using Setting = std::map<std::string, std::string>;

struct Lever {
  std::string name, trades;         // in one line, what more of it gives and takes
  std::string when = {};            // the expression over D and causal that says where it matters; "" everywhere
  std::vector<std::string> values;  // at least two
  std::vector<std::string> at;      // pieces of kernel.cu that stand there once, the value in braces
  bool patch = false;               // stages/STAGE/levers/NAME.patch: 0 without, 1 with
  bool in_table = false;
  std::string own = {};  // what kernel.cu says; "" of a table's argument
};

struct Must {
  std::string expression, reason;
};

class Levers {
 public:
  // Of a stage; `root` is the repository's. Throws BadInput, with file and line, where levers.conf is not as it must
  // be or says of kernel.cu what does not hold.
  explicit Levers(const std::string& stage, const std::string& root = ".");
  Levers(const std::string& stage, const std::string& conf, const std::string& kernel, const std::string& root);

  const std::string& stage() const { return stage_; }
  const std::vector<Lever>& all() const { return levers_; }
  const Lever* find(const std::string& name) const;
  // Those that matter for the shape. D, the first of the table's arguments, is the shape's.
  std::vector<const Lever*> for_shape(const Shape& shape) const;

  // The rows of the table that have the shape's D, each with the kernel's own values elsewhere.
  std::vector<Setting> rows(const Shape& shape) const;
  // The row that the stage takes for the shape, by the plan that its binary prints: the numbers of "attention<64,4>",
  // or where it names no kernel the row for which the conf's `row:` holds.
  Setting own(const Shape& shape, const std::string& plan_json) const;

  // Names in an expression of the conf: D, causal, levers whose values are whole numbers, and the conf's lets.
  Numbers numbers(const Setting& setting, const Shape& shape) const;
  // Why the setting cannot be built or run; "" if nothing speaks against it. Throws BadInput for a value that is not
  // among the lever's.
  std::string objection(const Setting& setting, const Shape& shape) const;

  // The same of the whole kernel as `adopted` makes it: the table's other rows live with these values, too.
  std::string objection_to_adopting(const Setting& setting, const Shape& shape) const;

  // The kernel with these values for a compiler: of the table that one row only, taken by every shape of its D. #line
  // directives name the lines of kernel.cu and of patches.
  std::string narrowed(const Setting& setting, const Shape& shape) const;
  // kernel.cu with these values and its whole table, in which the row of the same identity (the arguments before the
  // bar) has them. Throws BadInput where the table has no such row.
  std::string adopted(const Setting& setting, const Shape& shape) const;
  const std::string& kernel() const { return kernel_; }

 private:
  struct Line {
    std::string text, path;
    int number;
  };
  void read(const std::string& conf);
  void check_against_kernel();
  std::vector<Line> patched(const Setting& setting) const;
  // Whether adopting the setting for the shape changes this row of the table.
  bool is_row_of(const std::vector<std::string>& row, const Setting& setting, const Shape& shape) const;
  std::string with_values(const Setting& setting, const Shape& shape, const std::string& source, bool narrow) const;

  std::string stage_, root_, path_, source_, kernel_;
  std::vector<std::string> arguments_;  // of the table
  std::size_t identity_ = 0;            // the number of leading columns that identify a row
  std::string takes_, row_;
  std::vector<Lever> levers_;
  std::vector<std::pair<std::string, std::string>> lets_;
  std::vector<Must> musts_;
};

// A short name for a candidate: of what is compiled, so that two settings that come to the same are one.
std::string candidate_id(const std::string& stage, const std::string& source);

}  // namespace lab::desk
