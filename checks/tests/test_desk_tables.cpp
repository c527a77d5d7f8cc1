// The tables of the pages: what `lab blindness`, `lab racecheck`, `lab plan` and committed results become.
#include <doctest/doctest.h>

#include "checks/desk/records/records.hpp"

namespace {
using namespace lab;
using namespace lab::desk;

const std::string BLIND =
    "notes 0 0.000119 pass\nnotes 1 NaN fail\nunit 0 0.000721 pass\nunit 1 12.500000 fail\nschedules differ\n";
const std::string REFUSED = "notes 0 - refused\nnotes 1 - refused\nunit 0 - refused\nunit 1 - refused\n";

Json tools() {
  return parse_json(
      R"json({"schema": "tools-1", "gpu": "G", "driver": "D", "cuda": "13.0", "compute_sanitizer": "2025.3 (build 1)",
          "date": "2026-11-21", "rows": [
          {"stage": "v1_scalar", "bug": "x", "tool": "memcheck", "lines": "12",
           "kinds": "Invalid __shared__ write of size 16 bytes: misaligned, Program hit cudaErrorX (error 1) at cudaY"},
          {"stage": "v1_scalar", "bug": "x", "tool": "racecheck", "kinds": "race, race (warning)", "lines": ""},
          {"stage": "v1_scalar", "bug": "x", "tool": "initcheck", "kinds": "", "lines": ""},
          {"stage": "v1_scalar", "bug": "x", "tool": "synccheck",
           "kinds": "Program hit cudaErrorInvalidValue (error 1) at cudaLaunchKernel", "lines": ""}]})json",
      "tools");
}

std::string plan(int D, int bytes) {
  return "{\n  \"stage\": \"v1_scalar\", \"bug\": \"\", \"target\": \"sm_89\",\n  \"B\": 1, \"H\": 8, \"S\": 512, "
         "\"D\": " +
         std::to_string(D) +
         ", \"causal\": false,\n  \"tile_m\": 48, \"tile_n\": 64, \"rows_per_warp\": 6, \"slots\": 2,\n"
         "  \"grid\": [11, 8, 1], \"block\": [256, 1, 1],\n  \"static_smem\": 0, \"dynamic_smem\": 0, \"smem\": " +
         std::to_string(bytes) +
         ",\n  \"arrays\": [\n    {\"name\": \"sQ\", \"type\": \"half\", \"rows\": 48, \"pitch\": " +
         std::to_string(D + 8) + ", \"bytes\": " + std::to_string(bytes - 192) +
         "},\n    {\"name\": \"row_max\", \"type\": \"float\", \"rows\": 48, \"pitch\": 1, \"bytes\": 192}\n  ]\n}\n";
}

}  // namespace

TEST_CASE("tables: blindness is read whole, or refused") {
  const Blindness b = read_blindness(BLIND, "lab");
  CHECK(b.notes[1].largest == "NaN");
  CHECK(b.unit[0].verdict == "pass");
  CHECK(b.schedules == "differ");
  CHECK(blindness_row("v1, x", b) == "| v1, x | pass, 1.2e-04 | **fail**, NaN | pass, 7.2e-04 | **fail**, 1.2e+01 |\n");
  CHECK(blindness_row("v1, y", read_blindness(REFUSED, "lab")) ==
        "| v1, y | refused | refused | refused | refused |\n");
  const Blindness hangs = read_blindness(
      "notes 0 0.000119 pass\nnotes 1 - hangs\nunit 0 - stops\nunit 1 - hangs\nschedules agree\n", "lab");
  CHECK(blindness_row("v1, z", hangs) == "| v1, z | pass, 1.2e-04 | **hangs** | **stops** | **hangs** |\n");
  CHECK(
      tools_row("v1, z", hangs, {}, tools(), "v1_scalar", "z") ==
      "| v1, z | **hangs** if causal | **stops**, **hangs** if causal | agree | - | not run | not run | not run | not "
      "run |\n");
  for (const std::string bad : {"", "notes 0 0.1 pass\n", "notes 0 0.1 perhaps\n", "notes 2 0.1 pass\n"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(read_blindness(bad, "lab"), BadInput);
  }
}

TEST_CASE("tables: what the CPU checker saw") {
  CHECK(checker_cell({}) == "-");
  CHECK(checker_cell(Verdict("finding=inter-warp race\nfinding=uninitialised read\nfinding=inter-warp race\n"
                             "finding=launch refused\n")) == "inter-warp race; uninitialised read");
  CHECK(checker_cell(Verdict("finding=launch refused\nremark=1 finding\n")) == "launch refused");
}

TEST_CASE("tables: what compute-sanitizer saw, and a whole row") {
  const Json t = tools();
  CHECK(tool_cell(t, "v1_scalar", "x", "memcheck") == "misaligned");
  CHECK(tool_cell(t, "v1_scalar", "x", "racecheck") == "race; race (warning)");
  CHECK(tool_cell(t, "v1_scalar", "x", "initcheck") == "-");
  CHECK(tool_cell(t, "v1_scalar", "x", "synccheck") == "cudaErrorInvalidValue");
  CHECK(tool_cell(t, "v1_scalar", "y", "memcheck") == "not run");
  CHECK(tools_row("v1, x", read_blindness(BLIND, "lab"), {}, t, "v1_scalar", "x") ==
        "| v1, x | **fail** if causal | **fail** if causal | **differ** | - | misaligned | race; race (warning) | - | "
        "cudaErrorInvalidValue |\n");
  CHECK(tools_row("v1, y", read_blindness(REFUSED, "lab"), {}, t, "v1_scalar", "y") ==
        "| v1, y | refused | refused | - | - | not run | not run | not run | not run |\n");
  const std::string footer = tools_footer(t, "FILE");
  CHECK(footer.find("compute-sanitizer 2025.3 on an\nG, driver D, CUDA 13.0, 2026-11-21,") != std::string::npos);
  CHECK(footer.ends_with("the lines they name are in FILE.*\n"));
}

TEST_CASE("tables: registers and shared memory of a stage, smallest to largest") {
  const Json r = parse_json(R"({"kernels": [
      {"stage": "s", "bug": "", "arch": "sm_89", "registers": 40, "smem": 81920},
      {"stage": "s", "bug": "", "arch": "sm_89", "registers": 39, "smem": 97920},
      {"stage": "s", "bug": "x", "arch": "sm_89", "registers": 99, "smem": 999999},
      {"stage": "s", "bug": "", "arch": "sm_90", "registers": 32, "smem": 1024},
      {"stage": "t", "bug": "", "arch": "sm_90a", "registers": 168, "smem": 204800}]})",
                            "resources");
  CHECK(resources_cell(r, "s", "sm_89") == "39-40 | 80.0-95.6 KiB");
  CHECK(resources_cell(r, "t", "sm_90a") == "168 | 200.0-200.0 KiB");
  CHECK(resources_cell(r, "t", "sm_89") == "not measured | not measured");
}

TEST_CASE("plans: side by side") {
  CHECK(plan_table(plan(64, 7104), plan(128, 13248)) ==
        "| | (1,8,512,64) | bytes | (1,8,512,128) | bytes |\n|---|---|--:|---|--:|\n"
        "| `sQ`, half | 48 x 72 | 6912 | 48 x 136 | 13056 |\n| `row_max`, float | 48 | 192 | 48 | 192 |\n"
        "| **shared memory per block** | | **7104** | | **13248** |\n"
        "| tile | 48 queries x 64 keys | | 48 queries x 64 keys | |\n| rows a computing warp owns | 6 | | 6 | |\n"
        "| K/V slots | 2 | | 2 | |\n| grid, blocks of 256 threads | 11 x 8 x 1 | | 11 x 8 x 1 | |\n");
  std::string narrow = plan(64, 7104);
  narrow.replace(narrow.find("[256"), 4, "[128");
  CHECK(plan_table(narrow, narrow).find("| grid, blocks of 128 threads |") != std::string::npos);
  CHECK(plan_table(narrow, plan(64, 7104)).find("| grid, blocks of 128 and 256 threads |") != std::string::npos);
  std::string without = plan(64, 7104);  // an array that the other shape's kernel lacks
  without.replace(without.find("row_max"), 7, "row_sum");
  const std::string both = plan_table(plan(64, 7104), without);
  CHECK(both.find("| `row_max`, float | 48 | 192 | – | – |\n| `row_sum`, float | – | – | 48 | 192 |\n") != both.npos);
  CHECK_THROWS_AS(plan_table(plan(64, 7104), "{}"), BadInput);
}

TEST_CASE("labs: paths are made of a pattern, and stages read from paths") {
  CHECK(lab_path("build/cpu/STAGE/VARIANT/lab", "v1_scalar", "fixed") == "build/cpu/v1_scalar/fixed/lab");
  CHECK(variant_of("ldm", "fixed") == "bug-ldm");
  CHECK(variant_of("", "checked") == "checked");
  CHECK(stage_of("build/gpu/v1_scalar/fixed/lab") == "v1_scalar");
  CHECK_THROWS_AS(lab_path("build/cpu/STAGE/lab", "v1_scalar", "fixed"), BadInput);
  CHECK_THROWS_AS(stage_of("lab"), BadInput);
}
