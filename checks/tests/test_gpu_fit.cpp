// Whether a GPU can run a stage: made-up properties of GPUs that people have, against the stages that there are and
// ones made up. No GPU is needed.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "checks/tests/scratch.hpp"
#include "common/gpu_fit.hpp"
#include "common/target.hpp"
#include "reference/bad_input.hpp"

namespace {
using namespace lab;

// CUDA C++ Programming Guide, "Compute Capabilities": shared memory per block with the opt-in.
const GpuProperties T4{"Tesla T4", 7, 5, 64 * 1024}, V100{"Tesla V100", 7, 0, 96 * 1024},
    A100{"NVIDIA A100", 8, 0, 163 * 1024}, RTX_3090{"NVIDIA GeForce RTX 3090", 8, 6, 99 * 1024},
    L4{"NVIDIA L4", 8, 9, 99 * 1024}, H200{"NVIDIA H200", 9, 0, 227 * 1024}, B200{"NVIDIA B200", 10, 0, 227 * 1024},
    RTX_5090{"NVIDIA GeForce RTX 5090", 12, 0, 99 * 1024};

const StageNeeds SCALAR{"v1_scalar", "sm_89", "", 44928};
const StageNeeds COPIES{"v2b_single_warp", "sm_89", "cp.async", 99840};
const StageNeeds TENSOR{"v2c6_wmma_pv", "sm_89", "wmma cp.async", 100864};
const StageNeeds HOPPER{"v9_tma", "sm_90a", "tma wgmma", 200000};
const std::vector<StageNeeds> ALL{SCALAR, COPIES, TENSOR, HOPPER};

bool runs(const StageNeeds& stage, const GpuProperties& gpu) { return why_not(stage, gpu).empty(); }

}  // namespace

TEST_CASE("fit: which stage runs on which GPU") {
  for (const GpuProperties& gpu : {T4, V100, A100, RTX_3090, L4, H200, B200, RTX_5090}) {
    CAPTURE(gpu.name);
    CHECK(runs(SCALAR, gpu));
    CHECK(runs(COPIES, gpu) == (gpu.major >= 8));
    CHECK(runs(TENSOR, gpu) == (gpu.major >= 8));
    CHECK(runs(HOPPER, gpu) == (gpu.name == H200.name));
  }
}

TEST_CASE("fit: the line says what is needed, what is there, and what runs instead") {
  CHECK(
      why_not(COPIES, T4) ==
      "needs cp.async (compute capability 8.0) and 99840 B of shared memory per block; Tesla T4 has compute capability "
      "7.5 and 65536 B");
  CHECK(why_not(COPIES, V100) ==
        "needs cp.async (compute capability 8.0) and 99840 B of shared memory per block; Tesla V100 has compute "
        "capability 7.0 and 98304 B");
  CHECK(why_not(HOPPER, B200) ==
        "needs compute capability 9.0 exactly (sm_90a); NVIDIA B200 has compute capability 10.0");
  CHECK(why_not({"v9", "sm_89", "wgmma", 0}, B200) ==
        "needs wgmma (compute capability 9.0 alone); NVIDIA B200 has compute capability 10.0");
  CHECK(why_not({"big", "sm_89", "", 101377}, L4) ==
        "needs 101377 B of shared memory per block; NVIDIA L4 has 101376 B of it");
  CHECK(skip_line(TENSOR, A100, ALL) == "");
  CHECK(skip_line(HOPPER, A100, ALL) ==
        "skipped: v9_tma needs compute capability 9.0 exactly (sm_90a) and 200000 B of shared memory per block; NVIDIA "
        "A100 "
        "has compute capability 8.0 and 166912 B; what runs here: "
        "v1_scalar, v2b_single_warp and v2c6_wmma_pv; backend=cpu runs all");
  CHECK(skip_line(HOPPER, B200, {HOPPER}).find("no stage runs here") != std::string::npos);
  CHECK(skip_line(HOPPER, B200, {}).find("backend=cpu runs every stage") != std::string::npos);
}

TEST_CASE("fit: exactly at the limit it fits, one byte above it does not") {
  for (const Target& target : TARGETS) {
    const GpuProperties gpu{"made up", target.compute_capability / 10, target.compute_capability % 10,
                            target.smem_per_block};
    CHECK(runs({"full", target.name, "", target.smem_per_block}, gpu));
    CHECK_FALSE(runs({"over", target.name, "", target.smem_per_block + 1}, gpu));
  }
}

TEST_CASE("fit: every feature begins where its table says") {
  for (const Feature& f : FEATURES) {
    CAPTURE(f.word);
    const StageNeeds stage{"one", "sm_89", std::string(f.word), 0};
    const auto at = [&](int capability) { return runs(stage, {"gpu", capability / 10, capability % 10, 99 * 1024}); };
    CHECK(at(f.compute_capability));
    CHECK_FALSE(at(f.compute_capability - 1));
    CHECK(at(120) != f.only_there);
  }
}

TEST_CASE("fit: a build without code for this GPU says so") {
  GpuProperties gpu = V100;
  gpu.has_code = false;
  CHECK(
      why_not(SCALAR, gpu) ==
      "has no code in this build for Tesla V100, compute capability 7.0: built elsewhere, or nvcc no longer knows it");
  // A build leaves out code that would not run: the needs are the reason.
  CHECK(why_not(COPIES, gpu) == why_not(COPIES, V100));
}

TEST_CASE("fit: a target or a need that nobody knows is refused by name") {
  CHECK_THROWS_WITH_AS(why_not({"x", "sm_99", "", 0}, L4), "x: target 'sm_99' is not sm_89 or sm_90a", BadInput);
  CHECK_THROWS_WITH_AS(why_not({"x", "sm_89", "wgmma tensors", 0}, L4),
                       "x: needs 'tensors' is not one of wmma ldmatrix mma cp.async tma wgmma", BadInput);
}

TEST_CASE("fit: what the stages here declare, and it is read as written") {
  const auto stages = stages_in("stages");
  REQUIRE(stages.size() >= 5);
  for (const StageNeeds& stage : stages) {
    CAPTURE(stage.stage);
    REQUIRE(find_target(stage.target));
    CHECK(stage.smem > 0);
    CHECK(stage.smem <= find_target(stage.target)->smem_per_block);
    CHECK(runs(stage, H200));
    if (stage.target == "sm_89") CHECK(runs(stage, L4));
  }
  CHECK(std::ranges::count_if(stages, [](const StageNeeds& s) { return runs(s, T4); }) >= 1);
  CHECK(std::ranges::count_if(stages, [](const StageNeeds& s) { return runs(s, T4); }) < int(stages.size()));
}

TEST_CASE("fit: a stage.conf that lacks something is named") {
  namespace fs = std::filesystem;
  const fs::path folder = scratch_path("fit");
  const auto with = [&](const std::string& text) {
    fs::remove_all(folder);
    fs::create_directories(folder / "v9");
    std::ofstream(folder / "v9" / "stage.conf") << text;
    return stages_in(folder);
  };
  const auto good = with("idea=\"target=no\"\ntarget=\"sm_90a\"  # why\nneeds=\"tma wgmma\"\nsmem=1000  # bytes\n");
  REQUIRE(good.size() == 1);
  CHECK(good[0].stage == "v9");
  CHECK(good[0].target == "sm_90a");
  CHECK(good[0].needs == "tma wgmma");
  CHECK(good[0].smem == 1000);
  CHECK_THROWS_AS(with("smem=1000\n"), BadInput);
  CHECK_THROWS_AS(with("target=\"sm_89\"\n"), BadInput);
  CHECK_THROWS_AS(with("target=\"sm_89\"\nsmem=\"99 KiB\"\n"), BadInput);
  fs::remove_all(folder);
  CHECK(stages_in(folder).empty());
}
