// ptxas' reports, read as nvcc 13.0 writes them, and the verdicts on them.
#include "checks/budget/ptxas.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace {
using namespace lab;

// nvcc 13.0.88, -arch=sm_89 -cubin -Xptxas -v stages/v2c6_wmma_pv/kernel.cu: two of its four kernels.
constexpr const char* REAL = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN41_GLOBAL__N__1ed306e7_9_kernel_cu_3295a18f11v2c6_kernelILi128ELi2EEEvPK6__halfS3_S3_PS1_iifb' for 'sm_89'
ptxas info    : Function properties for _ZN41_GLOBAL__N__1ed306e7_9_kernel_cu_3295a18f11v2c6_kernelILi128ELi2EEEvPK6__halfS3_S3_PS1_iifb
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 43 registers, used 1 barriers, 397 bytes cmem[0]
ptxas info    : Compile time = 73.088 ms
ptxas info    : Compiling entry function '_ZN41_GLOBAL__N__1ed306e7_9_kernel_cu_3295a18f11v2c6_kernelILi64ELi3EEEvPK6__halfS3_S3_PS1_iifb' for 'sm_89'
ptxas info    : Function properties for _ZN41_GLOBAL__N__1ed306e7_9_kernel_cu_3295a18f11v2c6_kernelILi64ELi3EEEvPK6__halfS3_S3_PS1_iifb
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 48 registers, used 1 barriers, 397 bytes cmem[0]
ptxas info    : Compile time = 72.473 ms
)";

// One kernel, as ptxas would tell it.
std::string kernel(const char* name, const char* arch, const char* frame, const char* used) {
  return std::string("ptxas info    : Compiling entry function '") + name + "' for '" + arch +
         "'\nptxas info    : Function properties for " + name + "\n    " + frame + "\nptxas info    : " + used + "\n";
}
constexpr const char* NO_SPILL = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";

}  // namespace

TEST_CASE("ptxas: a real report") {
  const PtxasLog log = parse_ptxas(REAL);
  REQUIRE(log.kernels.size() == 2);
  CHECK(log.lost.empty());
  CHECK(log.kernels[0].kernel == "v2c6_kernel<128,2>");
  CHECK(log.kernels[0].arch == "sm_89");
  CHECK(log.kernels[0].registers == 43);
  CHECK(log.kernels[1].kernel == "v2c6_kernel<64,3>");
  CHECK(log.kernels[1].registers == 48);
  for (const KernelResources& k : log.kernels) CHECK(k.stack + k.spill_stores + k.spill_loads + k.static_smem == 0);
}

TEST_CASE("ptxas: stack, spills and static shared memory") {
  const PtxasLog log = parse_ptxas(kernel("_ZN12_GLOBAL__N_19attentionILi64EEEvPK6__half", "sm_90a",
                                          "96 bytes stack frame, 132 bytes spill stores, 164 bytes spill loads",
                                          "Used 255 registers, used 4 barriers, 96 bytes cumulative stack size, "
                                          "39168 bytes smem, 400 bytes cmem[0]") +
                                   kernel("plain", "sm_89", NO_SPILL, "Used 12 registers, used 0 barriers"));
  REQUIRE(log.kernels.size() == 2);
  CHECK(log.kernels[0].kernel == "attention<64>");
  CHECK(log.kernels[0].arch == "sm_90a");
  CHECK(log.kernels[0].registers == 255);
  CHECK(log.kernels[0].stack == 96);
  CHECK(log.kernels[0].spill_stores == 132);
  CHECK(log.kernels[0].spill_loads == 164);
  CHECK(log.kernels[0].static_smem == 39168);
  CHECK(log.kernels[1].kernel == "plain");
}

TEST_CASE("ptxas: wgmma that was serialised is an error, whatever its code; other remarks are not") {
  const std::string info =
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
      "insufficient register resources for the wgmma pipeline in the function 'attention'";
  const std::string warning =
      "ptxas warning : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to allow debugging.";
  const PtxasLog log = parse_ptxas(info + "\n" + REAL + warning + "\nptxas warning : (C7507) another\n" +
                                   "ptxas info    : (C7518) Potential Performance Loss: wgmma, as of late\n" +
                                   "ptxas info    : (C7519) injected\n");
  CHECK(log.kernels.size() == 2);
  REQUIRE(log.lost.size() == 3);
  CHECK(log.lost[0] == info);
  CHECK(log.lost[1] == warning);
  CHECK(log.lost[2].find("C7518") != std::string::npos);
}

TEST_CASE("ptxas: what is not understood does not pass for a good kernel") {
  CHECK_THROWS_AS(parse_ptxas(kernel("k", "sm_89", NO_SPILL, "Registers: 43")), std::runtime_error);
  CHECK_THROWS_AS(parse_ptxas(kernel("k", "sm_89", "0 bytes stack frame", "Used 43 registers")), std::runtime_error);
  CHECK_THROWS_AS(parse_ptxas(kernel("k", "sm_89", NO_SPILL, "nothing") + REAL), std::runtime_error);
  CHECK_THROWS_AS(parse_ptxas("ptxas info    : Compiling entry function k for sm_89\n"), std::runtime_error);
  CHECK(parse_ptxas("").kernels.empty());
}

TEST_CASE("budget: each limit on its own, at it and one above") {
  const StageBudget ada{&SM_89, 56, 100864};
  const auto verdict = [](int registers, std::size_t smem, std::size_t spills, const StageBudget& budget,
                          const char* arch = "sm_89") {
    return over_budget({"k", arch, registers, 0, spills, 0, 1024}, smem - 1024, budget);
  };
  CHECK(verdict(56, 100864, 0, ada) == "");
  CHECK(verdict(57, 100864, 0, ada) == "registers");
  CHECK(verdict(56, 100865, 0, ada) == "shared memory");
  CHECK(verdict(56, 100864, 4, ada) == "spills");
  CHECK(verdict(200, 200000, 4, ada) == "registers shared memory spills");
  CHECK(verdict(200, 100864, 0, ada, "sm_90") == "");  // its registers are a budget at its own target
  CHECK(verdict(200, 100864, 4, ada, "sm_90") == "spills");
  CHECK(verdict(56, 100865, 0, ada, "sm_90") == "shared memory");
  CHECK(verdict(56, 101376, 0, {&SM_89, 56, 0}) == "");
  CHECK(verdict(56, 101377, 0, {&SM_89, 56, 0}) == "shared memory");
  const StageBudget hopper{&SM_90A, 168, 232448};
  CHECK(verdict(168, 232448, 0, hopper, "sm_90a") == "");
  CHECK(verdict(169, 232448, 0, hopper, "sm_90a") == "registers");
  CHECK(verdict(168, 232449, 0, hopper, "sm_90a") == "shared memory");
  CHECK(over_budget({"k", "sm_89", 56, 0, 0, 4, 0}, 0, ada) == "spills");
}

TEST_CASE("budget: the first five stages keep the lab's own 72 registers") {
  for (const char* stage : {"v1_scalar", "v2b_single_warp", "v2c3_scalar_smem", "v2c5_wmma_qk", "v2c6_wmma_pv"}) {
    CAPTURE(stage);
    std::ifstream conf(std::filesystem::path("stages") / stage / "stage.conf");
    REQUIRE(conf.good());
    int registers = 0;
    for (std::string line; std::getline(conf, line);)
      if (line.rfind("registers=\"", 0) == 0) registers = std::stoi(line.substr(11));
    CHECK(registers > 0);
    CHECK(registers <= LAB_REGISTERS);
  }
}
