// make resources: kernels held against their stages' budgets, as a table and as JSON. test_ptxas.cpp has the verdicts.
#include <doctest/doctest.h>

#include "checks/desk/records/records.hpp"

namespace {
using namespace lab;
using namespace lab::desk;

const StageBudget BUDGET{&SM_89, 48, 100000};

std::string plan(int D, int slots, long dynamic) {
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

}  // namespace

TEST_CASE("resources: dynamic shared memory comes from the plans of the launches") {
  const auto bytes = dynamic_smem({plan(64, 1, 0), plan(128, 3, 97920)});
  CHECK(bytes.at("attention<64>") == 0);
  CHECK(bytes.at("attention<128,3>") == 97920);
  const std::string named = plan(64, 4, 155648);
  const auto by_name = dynamic_smem({named.substr(0, named.size() - 1) + ", \"kernel\": \"attention<64,3,128,4>\"}"});
  CHECK(by_name.at("attention<64,3,128,4>") == 155648);
  CHECK(!by_name.contains("attention<64,3>"));  // which may be another kernel's name
  CHECK_THROWS_AS(dynamic_smem({"{}"}), BadInput);
  CHECK_THROWS_AS(dynamic_smem({"refused"}), BadInput);
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
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == "s: stage.conf declares smem=100001, its largest kernel asks for 100000 B");
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
