// ptxas's figures for kernels (nvcc -Xptxas -v), and whether they keep to their stage's budget.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/target.hpp"

namespace lab {

// One kernel for one architecture, as `ptxas -v` reports it. Bytes, and registers per thread.
struct KernelResources {
  std::string kernel;  // without namespaces and parameters: "v2c6_kernel<128,2>"
  std::string arch;    // "sm_89"
  int registers = 0;
  std::size_t stack = 0, spill_stores = 0, spill_loads = 0;
  std::size_t static_smem = 0;
};

// A kernel's name of this kind from the one that a linker knows.
std::string readable_kernel(const std::string& mangled);

struct PtxasLog {
  std::vector<KernelResources> kernels;  // in the order of the text
  // Whole lines that say "Potential Performance Loss": wgmma that ptxas serialised, or setmaxnreg that it ignored. The
  // code runs, right and slow, so ptxas only remarks on it; here it is an error.
  std::vector<std::string> lost;
};

// Reads the text of one nvcc call. Throws std::runtime_error, with the line, if a kernel is begun and its registers are
// never told: a format that is not understood must not pass for a kernel without trouble.
PtxasLog parse_ptxas(std::string_view text);

// A stage's budget: its target's limits, its own registers.
struct StageBudget {
  const Target* target = &SM_89;
  int registers = LAB_REGISTERS;
  std::size_t smem = 0;  // bytes per block that stage.conf declares, static and dynamic together
};

// The exceeded parts of the budget, of "registers", "shared memory", "spills", separated by spaces; "" if none.
// A stage is held to its registers at its own target; elsewhere to the instruction set's limit. Spills are allowed
// nowhere, and shared memory is the same on every architecture. `dynamic_smem`: bytes asked for at launch.
std::string over_budget(const KernelResources& kernel, std::size_t dynamic_smem, const StageBudget& budget);

}  // namespace lab
