// nvcc's output about kernels, for make resources: kernels held against their budgets. test_ptxas.cpp has the verdicts.
#include <doctest/doctest.h>

#include "checks/desk/records/records.hpp"
#include "checks/tests/scratch.hpp"

using namespace lab;
using namespace lab::desk;

namespace {

using Lines = std::vector<std::string>;

const StageBudget BUDGET{&SM_89, 48, 100000};

std::string slots_plan(int D, int slots, long dynamic) {
  return "D " + std::to_string(D) + "\nslots " + std::to_string(slots) + "\nrows_per_warp 1\ndynamic_smem " +
         std::to_string(dynamic) + "\n";
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

TEST_CASE("labs: paths are made of a pattern, and stages read from paths") {
  CHECK(lab_path("build/cpu/STAGE/VARIANT/kernel.so", "v1_scalar", "fixed") == "build/cpu/v1_scalar/fixed/kernel.so");
  CHECK(variant_of("ldm", "fixed") == "bug-ldm");
  CHECK(variant_of("", "checked") == "checked");
  CHECK(stage_of("build/gpu/v1_scalar/fixed/kernel.so") == "v1_scalar");
  CHECK_THROWS_AS(lab_path("build/cpu/STAGE/kernel.so", "v1_scalar", "fixed"), BadInput);
  CHECK_THROWS_AS(stage_of("kernel.so"), BadInput);
}

TEST_CASE("resources: dynamic shared memory comes from the plans of the launches") {
  const auto bytes = dynamic_smem({slots_plan(64, 1, 0), slots_plan(128, 3, 97920)});
  CHECK(bytes.at("attention<64>") == 0);
  CHECK(bytes.at("attention<128,3>") == 97920);
  const auto by_name = dynamic_smem({"kernel attention<64,3,128,4>\n" + slots_plan(64, 4, 155648)});
  CHECK(by_name.at("attention<64,3,128,4>") == 155648);
  CHECK(!by_name.contains("attention<64,3>"));  // which may be another kernel's name
  CHECK_THROWS_AS(dynamic_smem({""}), BadInput);
  CHECK_THROWS_AS(dynamic_smem({"refused"}), BadInput);
}

TEST_CASE("resources: what the kernels of a backward stage ask for, by the addresses of their launches") {
  const std::string plan = "40a0 0\n40b0 199744\n";
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

TEST_CASE("resources: the table shows correct kernels and the bugs that break the budget; the CSV all") {
  const std::vector<ResourceRow> rows = {row(48, 1024, 0, "sm_89"), row(60, 1024, 0, "sm_89", "big"),
                                         row(48, 1024, 0, "sm_89", "small")};
  const std::string table = resources_table(rows);
  CHECK(table.find("s                                       sm_89  attention<64,2>      48  48     1024 B    1.0 KiB "
                   "     0      0  ok\n") != std::string::npos);
  CHECK(table.find("big                  sm_89  attention<64,2>      60  48     1024 B    1.0 KiB      0      0  over: "
                   "registers\n") != std::string::npos);
  CHECK(table.find("small") == std::string::npos);
  const std::string csv = resources_csv(rows, "13.0");
  CHECK(csv.starts_with("# nvcc 13.0,"));
  CHECK(has(csv, "s,big,sm_89,\"attention<64,2>\",60,1024,100,0,0,registers\n"));
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
