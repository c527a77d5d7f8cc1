// Registers, shared memory, spills and stack of every kernel, against the budget of the GPU that its stage is built
// for.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace lab::desk {

// One kernel of one build, as nvcc compiled it for one architecture.
struct ResourceRow {
  std::string stage, bug, arch, kernel;         // "v1_scalar", "" or a bug, "sm_89", "attention<64,2>"
  int registers = 0;                            // per thread
  long static_smem = 0, stack = 0, spills = 0;  // bytes; of static shared memory per block, the others per thread
  long smem = 0;                                // bytes per block, what a launch asks for included
  int allowed = 0;                              // registers, where the budget counts; 0 where it does not
  std::string over;                             // what breaks the budget: "registers", "shared memory", "spills", or ""
};

// What a stage may use, from its stage.conf: at its target alone; spills are forbidden everywhere.
struct Budget {
  std::string arch;
  int registers = 0;
  long smem = 0;
};
// Throws BadInput for a target that common/target.hpp does not know, or registers that are no number.
Budget budget_of(const std::string& stage, const std::string& target, const std::string& registers);

// The kernels of `nvcc -Xptxas -v`, in its order; stage, bug and arch are left to the caller. Throws BadInput if there
// are none.
std::vector<ResourceRow> read_ptxas(const std::string& log);

// Kernel -> bytes of dynamic shared memory, from what `lab plan` printed for several shapes.
std::map<std::string, long> dynamic_smem(const std::vector<std::string>& plans);

// Fills in smem, allowed and over. Throws BadInput where no plan launches the kernel.
void judge(ResourceRow& row, const std::map<std::string, long>& dynamic, const Budget& budget);

std::string resources_table(const std::vector<ResourceRow>& rows);
// Schema resources-1. `nvcc` is its release, "13.0".
std::string resources_json(const std::vector<ResourceRow>& rows, const std::string& nvcc);

}  // namespace lab::desk
