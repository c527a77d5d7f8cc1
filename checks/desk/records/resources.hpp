// make resources: every kernel as ptxas sees it, held against the budget of its stage, as a table and as JSON.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "checks/budget/ptxas.hpp"

namespace lab::desk {

// One kernel of one build, and what is said of it.
struct ResourceRow {
  std::string stage, bug;  // "v1_scalar", "" or a bug's name
  KernelResources used;
  std::size_t smem = 0;  // bytes per block, what a launch asks for included
  int allowed = 0;       // registers, where the stage's own budget counts; 0 where it does not
  std::string over;      // what over_budget() says
};

// From what a stage.conf says. Throws BadInput for a target that common/target.hpp does not know, for what is no
// number, and for more shared memory than the target has.
StageBudget budget_of(const std::string& stage, const std::string& target, const std::string& registers,
                      const std::string& smem);

// Kernel -> bytes of dynamic shared memory, from what `lab plan` printed for several shapes.
std::map<std::string, std::size_t> dynamic_smem(const std::vector<std::string>& plans);

// Throws BadInput where no plan launches the kernel.
ResourceRow judged(const std::string& stage, const std::string& bug, const KernelResources& used,
                   const std::map<std::string, std::size_t>& dynamic, const StageBudget& budget);

// A line for each stage whose largest correct kernel asks for another number of bytes than its stage.conf declares.
std::vector<std::string> wrong_smem(const std::vector<ResourceRow>& rows,
                                    const std::map<std::string, StageBudget>& budgets);

// Correct kernels, and the bugs' that break their budget.
std::string resources_table(const std::vector<ResourceRow>& rows);

// Schema resources-1. `nvcc` is its release, "13.0".
std::string resources_json(const std::vector<ResourceRow>& rows, const std::string& nvcc);

}  // namespace lab::desk
