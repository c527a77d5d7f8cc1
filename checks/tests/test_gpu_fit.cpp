// Whether a GPU can run a stage: made-up properties of GPUs that people have, against stages that are made up. No GPU
// is needed.
#include <doctest/doctest.h>

#include <string>

#include "common/gpu_fit.hpp"
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

TEST_CASE("fit: the line says what is needed, what is there, and what to do") {
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
  CHECK(why_not({"full", "sm_89", "", 101376}, L4) == "");
  CHECK(skip_line(TENSOR, A100) == "");
  CHECK(skip_line(HOPPER, A100) ==
        "skipped: v9_tma needs compute capability 9.0 exactly (sm_90a) and 200000 B of shared memory per block; NVIDIA "
        "A100 has compute capability 8.0 and 166912 B; backend=cpu runs it");
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
