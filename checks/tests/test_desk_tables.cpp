// The tables of the pages: what `lab blindness`, `lab racecheck` and committed results become. nvcc's output about
// kernels, for make resources: kernels held against their budgets. test_ptxas.cpp has the verdicts.
#include <doctest/doctest.h>

#include "checks/desk/records/records.hpp"
#include "checks/tests/scratch.hpp"

using namespace lab;
using namespace lab::desk;

namespace {

using Lines = std::vector<std::string>;

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

const StageBudget BUDGET{&SM_89, 48, 100000};

std::string slots_plan(int D, int slots, long dynamic) {
  return "{\"D\": " + std::to_string(D) + ", \"slots\": " + std::to_string(slots) +
         ", \"dynamic_smem\": " + std::to_string(dynamic) + "}";
}

ResourceRow row(int registers, std::size_t smem, std::size_t spills, const std::string& arch,
                const std::string& bug = "") {
  KernelResources used;
  used.kernel = "attention<64,2>", used.arch = arch, used.registers = registers, used.static_smem = 100;
  used.spill_loads = spills;
  return judged("s", bug, used, {{"attention<64,2>", smem - 100}}, BUDGET);
}

const std::string PTXAS_LINES =
    "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
    "ptxas info    : Function properties for k\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 12 registers, used 0 barriers\n";
const std::string LOST = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async is serialized";

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

TEST_CASE("labs: paths are made of a pattern, and stages read from paths") {
  CHECK(lab_path("build/cpu/STAGE/VARIANT/lab", "v1_scalar", "fixed") == "build/cpu/v1_scalar/fixed/lab");
  CHECK(variant_of("ldm", "fixed") == "bug-ldm");
  CHECK(variant_of("", "checked") == "checked");
  CHECK(stage_of("build/gpu/v1_scalar/fixed/lab") == "v1_scalar");
  CHECK_THROWS_AS(lab_path("build/cpu/STAGE/lab", "v1_scalar", "fixed"), BadInput);
  CHECK_THROWS_AS(stage_of("lab"), BadInput);
}

TEST_CASE("resources: dynamic shared memory comes from the plans of the launches") {
  const auto bytes = dynamic_smem({slots_plan(64, 1, 0), slots_plan(128, 3, 97920)});
  CHECK(bytes.at("attention<64>") == 0);
  CHECK(bytes.at("attention<128,3>") == 97920);
  const std::string named = slots_plan(64, 4, 155648);
  const auto by_name = dynamic_smem({named.substr(0, named.size() - 1) + ", \"kernel\": \"attention<64,3,128,4>\"}"});
  CHECK(by_name.at("attention<64,3,128,4>") == 155648);
  CHECK(!by_name.contains("attention<64,3>"));  // which may be another kernel's name
  CHECK_THROWS_AS(dynamic_smem({"{}"}), BadInput);
  CHECK_THROWS_AS(dynamic_smem({"refused"}), BadInput);
}

TEST_CASE("resources: what the kernels of a backward stage ask for, by the addresses of their launches") {
  const std::string plan = R"({"kernels": [{"address": "40a0", "dynamic_smem": 0},
                                           {"address": "40b0", "dynamic_smem": 199744}]})";
  const std::string symbols =
      "00000000000040a0 t _ZN3lab12_GLOBAL__N_19row_termsILi64EEEvPK6__half\n"
      "00000000000040b0 t _ZN12_GLOBAL__N_19gradientsILi64ELi2EEEvPK6__half\n0000000000004000 T main\n";
  const auto bytes = launched_smem(plan, symbols);
  CHECK(bytes.size() == 2);
  CHECK(bytes.at("row_terms<64>") == 0);
  CHECK(bytes.at("gradients<64,2>") == 199744);
  CHECK_THROWS_AS(launched_smem(plan, "00000000000040a0 t main\n"), BadInput);
}

TEST_CASE("resources: a kernel is judged with what its launch asks for, by its stage's budget") {
  CHECK(row(48, 100000, 0, "sm_89").over == "");
  CHECK(row(48, 100000, 0, "sm_89").smem == 100000);
  CHECK(row(48, 100000, 0, "sm_89").allowed == 48);
  CHECK(row(49, 100001, 4, "sm_89").over == "registers shared memory spills");
  CHECK(row(48, 100001, 0, "sm_89", "big").over == "");  // a bug may ask for more than is declared
  CHECK(row(48, 101377, 0, "sm_89", "big").over == "shared memory");
  CHECK(row(99, 1000, 0, "sm_90").over == "");
  CHECK(row(99, 1000, 0, "sm_90").allowed == 0);
  KernelResources other;
  other.kernel = "attention<96>";
  CHECK_THROWS_AS(judged("s", "", other, {}, BUDGET), BadInput);
}

TEST_CASE("resources: a budget is what stage.conf says, or refused") {
  const StageBudget hopper = budget_of("s", "sm_90a", "168", "200000");
  CHECK(hopper.target->smem_per_block == 232448);
  CHECK(hopper.registers == 168);
  CHECK(hopper.smem == 200000);
  CHECK(budget_of("s", "sm_89", "56", "101376").registers == 56);
  CHECK_THROWS_AS(budget_of("s", "sm_42", "56", "1000"), BadInput);
  CHECK_THROWS_AS(budget_of("s", "", "56", "1000"), BadInput);
  CHECK_THROWS_AS(budget_of("s", "sm_89", "many", "1000"), BadInput);
  CHECK_THROWS_AS(budget_of("s", "sm_89", "56 ", "1000"), BadInput);
  CHECK_THROWS_AS(budget_of("s", "sm_89", "", "1000"), BadInput);
  CHECK_THROWS_AS(budget_of("s", "sm_89", "56", ""), BadInput);
  CHECK_THROWS_AS(budget_of("s", "sm_89", "56", "0"), BadInput);
  CHECK_THROWS_AS(budget_of("s", "sm_89", "56", "101377"), BadInput);
}

TEST_CASE("resources: a stage declares what its largest correct kernel asks for") {
  const std::vector<ResourceRow> rows = {row(48, 1024, 0, "sm_89"), row(48, 100000, 0, "sm_90"),
                                         row(48, 101000, 0, "sm_89", "big")};
  CHECK(wrong_smem(rows, {{"s", BUDGET}}).empty());
  const auto lines = wrong_smem(rows, {{"s", {&SM_89, 48, 100001}}});
  CHECK(lines == Lines{"s: stage.conf declares smem=100001, its largest kernel asks for 100000 B: write that there"});
  CHECK(wrong_smem({}, {{"s", BUDGET}}).size() == 1);
}

TEST_CASE("resources: the table shows correct kernels and the bugs that break the budget; the JSON all") {
  const std::vector<ResourceRow> rows = {row(48, 1024, 0, "sm_89"), row(60, 1024, 0, "sm_89", "big"),
                                         row(48, 1024, 0, "sm_89", "small")};
  const std::string table = resources_table(rows);
  CHECK(table.find("s                                       sm_89  attention<64,2>      48  48     1024 B    1.0 KiB "
                   "     0      0  ok\n") != std::string::npos);
  CHECK(table.find("big                  sm_89  attention<64,2>      60  48     1024 B    1.0 KiB      0      0  over: "
                   "registers\n") != std::string::npos);
  CHECK(table.find("small") == std::string::npos);
  const Json json = parse_json(resources_json(rows, "13.0"), "resources");
  CHECK(json.at("schema") == "resources-1");
  CHECK(json.at("nvcc") == "13.0");
  CHECK(json.at("budget").at("smem") == 101376);
  REQUIRE(json.at("kernels").size() == 3);
  CHECK(json.at("kernels")[1].at("over") == "registers");
  CHECK(json.at("kernels")[0].at("static_smem") == 100);
}

TEST_CASE("archs, ptxas: what nvcc says of a kernel that does not compile, or not well") {
  CHECK(trouble_in({0, "", PTXAS_LINES}) == "");
  CHECK(trouble_in({0, "", LOST + "\n" + PTXAS_LINES}) == LOST);
  CHECK(trouble_in({0, "", "ptxas info    : (C7515) another\n" + PTXAS_LINES}) == "");
  CHECK(trouble_in({0, "", ""}) == "ptxas names no kernel");
  CHECK(trouble_in({2, "", "a warning\nk.cu(3): error: no such thing\n1 error detected\n"}) ==
        "k.cu(3): error: no such thing");
  CHECK(trouble_in({1, "", "nvcc fatal   : Unsupported gpu architecture\n"}) ==
        "nvcc fatal   : Unsupported gpu architecture");
  CHECK(trouble_in({137, "", ""}) == "nvcc ends with status 137");
}

TEST_CASE("archs: what nvcc said before counts if the command is the same and nothing was touched since") {
  const std::string log = lab::scratch_path("nvcc") + ".log";
  const auto inputs = std::filesystem::file_time_type::clock::now();
  write_text(log, "nvcc -arch=sm_90 k.cu\n" + PTXAS_LINES);
  std::filesystem::last_write_time(log, inputs + std::chrono::seconds(1));
  CHECK(said_before(log, "nvcc -arch=sm_90 k.cu", inputs) == PTXAS_LINES);
  CHECK_FALSE(said_before(log, "nvcc -arch=sm_9 k.cu", inputs));
  CHECK_FALSE(said_before(log, "nvcc -arch=sm_90 k.c", inputs));
  std::filesystem::last_write_time(log, inputs);
  CHECK_FALSE(said_before(log, "nvcc -arch=sm_90 k.cu", inputs));
  std::filesystem::remove(log);
  CHECK_FALSE(said_before(log, "nvcc -arch=sm_90 k.cu", inputs));
}
