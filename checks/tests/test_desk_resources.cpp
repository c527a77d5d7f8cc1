// make resources: what ptxas says, and what of it is too much.
#include <doctest/doctest.h>

#include "checks/desk/desk.hpp"
#include "checks/desk/records/json_text.hpp"
#include "checks/desk/records/resources.hpp"

namespace {
using namespace lab;
using namespace lab::desk;

const std::string LOG =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function '_ZN55_GLOBAL__N__a_9_kernel_cu9attentionILi128ELi3EEvPK6__halfS3_' for "
    "'sm_89'\nptxas info    : Function properties for _ZN55_GLOBAL__N__a_9attentionILi128ELi3EEv\n"
    "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
    "ptxas info    : Used 40 registers, used 1 barriers, 408 bytes cmem[0]\n"
    "ptxas info    : Compiling entry function '_ZN9attentionILi64EEvPK6__half' for 'sm_89'\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 64 registers, used 1 barriers, 44928 bytes smem, 408 bytes cmem[0]\n";

std::string plan(int D, int slots, long dynamic) {
  return "{\"D\": " + std::to_string(D) + ", \"slots\": " + std::to_string(slots) +
         ", \"dynamic_smem\": " + std::to_string(dynamic) + "}";
}

ResourceRow judged(int registers, long smem, long spills, const std::string& arch) {
  ResourceRow row;
  row.stage = "s", row.arch = arch, row.kernel = "attention<64,2>";
  row.registers = registers, row.static_smem = 100, row.spills = spills;
  judge(row, {{"attention<64,2>", smem - 100}}, {"sm_89", 48, 101376});
  return row;
}

}  // namespace

TEST_CASE("resources: ptxas is read kernel by kernel") {
  const auto rows = read_ptxas(LOG);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].kernel == "attention<128,3>");
  CHECK(rows[0].registers == 40);
  CHECK(rows[0].stack == 8);
  CHECK(rows[0].spills == 16);
  CHECK(rows[0].static_smem == 0);
  CHECK(rows[1].kernel == "attention<64>");
  CHECK(rows[1].registers == 64);
  CHECK(rows[1].spills == 0);
  CHECK(rows[1].static_smem == 44928);
  CHECK_THROWS_AS(read_ptxas(""), BadInput);
  CHECK_THROWS_AS(read_ptxas("nvcc fatal: no such file\n"), BadInput);
}

TEST_CASE("resources: dynamic shared memory comes from the plans of the launches") {
  const auto bytes = dynamic_smem({plan(64, 1, 0), plan(128, 3, 97920)});
  CHECK(bytes.at("attention<64>") == 0);
  CHECK(bytes.at("attention<128,3>") == 97920);
  CHECK_THROWS_AS(dynamic_smem({"{}"}), BadInput);
  CHECK_THROWS_AS(dynamic_smem({"refused"}), BadInput);
}

TEST_CASE(
    "resources: a kernel is held to its stage's registers and its target's shared memory, spills are never allowed") {
  CHECK(judged(48, 101376, 0, "sm_89").over == "");
  CHECK(judged(49, 101376, 0, "sm_89").over == "registers");
  CHECK(judged(48, 101377, 0, "sm_89").over == "shared memory");
  CHECK(judged(49, 101377, 4, "sm_89").over == "registers shared memory spills");
  CHECK(judged(99, 200000, 0, "sm_90").over == "");
  CHECK(judged(99, 200000, 4, "sm_90").over == "spills");
  CHECK(judged(99, 200000, 0, "sm_90").allowed == 0);
  ResourceRow row;
  row.kernel = "attention<96>";
  CHECK_THROWS_AS(judge(row, {}, {"sm_89", 48, 101376}), BadInput);
  CHECK(budget_of("s", "sm_89", "56").registers == 56);
  CHECK(budget_of("s", "sm_89", "").registers == 72);
  CHECK(budget_of("s", "sm_90a", "168").smem == 232448);
  CHECK_THROWS_AS(budget_of("s", "sm_42", "56"), BadInput);
  CHECK_THROWS_AS(budget_of("s", "", "56"), BadInput);
  CHECK_THROWS_AS(budget_of("s", "sm_89", "many"), BadInput);
}

TEST_CASE("resources: the table shows correct kernels and the bugs that break the budget; the JSON all") {
  ResourceRow fine = judged(48, 1024, 0, "sm_89"), bug = judged(60, 1024, 0, "sm_89"), quiet = fine;
  bug.bug = "big", quiet.bug = "small";
  const std::string table = resources_table({fine, bug, quiet});
  CHECK(table.find("s                                       sm_89  attention<64,2>      48  48     1024 B    1.0 KiB "
                   "     0      0  ok\n") != std::string::npos);
  CHECK(table.find("big                  sm_89  attention<64,2>      60  48     1024 B    1.0 KiB      0      0  over: "
                   "registers\n") != std::string::npos);
  CHECK(table.find("small") == std::string::npos);
  const Json json = parse_json(resources_json({fine, bug, quiet}, "13.0"), "resources");
  CHECK(json.at("schema") == "resources-1");
  CHECK(json.at("nvcc") == "13.0");
  CHECK(json.at("budget").at("smem") == 101376);
  REQUIRE(json.at("kernels").size() == 3);
  CHECK(json.at("kernels")[1].at("over") == "registers");
  CHECK(json.at("kernels")[0].at("static_smem") == 100);
}
