// The desk's use of counts: the file, the tables, and the comparisons.
#include <doctest/doctest.h>

#include <cmath>

#include "checks/desk/records/records.hpp"

using namespace lab::desk;

namespace {

Json counters(const std::string& stage, const std::string& shape, double wavefronts, double barriers) {
  const Json tally = {{"instructions", barriers}, {"wavefronts", wavefronts}};
  return {{"schema", "counters-1"},
          {"stage", stage},
          {"shape", shape},
          {"blocks", 4},
          {"totals", {{"shared load", {{"instructions", 1}, {"wavefronts", wavefronts}}}, {"barrier", tally}}},
          {"floor",
           {{"us", 2.5},
            {"binds", "L2"},
            {"roofs", {{{"name", "issue slots"}, {"us", 0.5}}, {{"name", "L2"}, {"us", 2.5}}}}}}};
}
Json profile(double wavefronts, double barriers) {
  return {{"metrics", {{"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", wavefronts}}},
          {"opcodes", {{"BAR", barriers}}}};
}
const Compared& column(const std::string& name) {
  for (const Compared& what : COMPARED)
    if (what.column == name) return what;
  FAIL("no column " << name);
  return COMPARED[0];
}

}  // namespace

TEST_CASE("counts: pairs, and how far they are apart") {
  const Json totals = counters("v2d_ldmatrix", "1,8,512,64", 110, 7).at("totals");
  const auto wavefronts = pair_of(column("load wavefronts"), totals, profile(100, 7));
  REQUIRE(wavefronts);
  CHECK(wavefronts->off() == doctest::Approx(0.1));
  CHECK(pair_of(column("barriers"), totals, profile(100, 7))->off() == 0);
  CHECK(pair_of(column("shuffles"), totals, profile(100, 7))->off() == 0);  // neither side counts one
  CHECK(std::isinf(pair_of(column("barriers"), totals, profile(100, 0))->off()));
  CHECK(!pair_of(column("store sectors"), totals, profile(100, 7)));  // a profile without the metric
}

TEST_CASE("counts: a large difference wants a reason, and a reason a difference") {
  const Json counted = parse_json(counted_json({counters("v2d_ldmatrix", "S", 110, 7)}), "a test");
  const auto said = [&](const char* short_name, double wavefronts) {
    return unexplained(counted, {{"v2d_ldmatrix", short_name, profile(wavefronts, 7)}}, "S");
  };
  CHECK(said("v2d", 110).empty());
  CHECK(said("v2d", 106).empty());  // 3.8 %
  REQUIRE(said("v2d", 100).size() == 1);
  CHECK(said("v2d", 100)[0] == "v2d, load wavefronts: 110 counted, 100 measured, and no reason is given");
  CHECK(said("v4a", 50).empty());  // explained
  REQUIRE(said("v4a", 110).size() == 1);
  CHECK(said("v4a", 110)[0].ends_with("a reason for a difference that is not there"));
}

TEST_CASE("counts: the file says what was counted, and what has changed") {
  const Json a = counters("v2d_ldmatrix", "S", 110, 7), b = counters("v3a_tma", "S", 5, 1);
  const Json counted = parse_json(counted_json({a, counters("v2d_ldmatrix", "L", 1, 1), b}), "a test");
  CHECK(counted.at("stages").at("v2d_ldmatrix").at("S").at("totals") == a.at("totals"));
  CHECK(counted.at("stages").at("v2d_ldmatrix").at("S").at("floor") == a.at("floor"));
  CHECK(counted.at("stages").at("v3a_tma").at("S").at("blocks") == 4);
}

TEST_CASE("counts: what differs is told stage by stage") {
  const auto file = [](double wavefronts, const std::string& stage = "v2d_ldmatrix") {
    return parse_json(counted_json({counters(stage, "S", wavefronts, 7)}), "a test");
  };
  CHECK(differences(file(110), file(110), "S").empty());
  REQUIRE(differences(file(110), file(111), "S").size() == 2);
  CHECK(differences(file(110), file(111), "S")[0] == "v2d_ldmatrix, shared load: wavefronts 110 committed, 111 now");
  REQUIRE(differences(file(110), file(110, "v3a_tma"), "S").size() == 1);
  CHECK(differences(file(110), file(110, "v3a_tma"), "S")[0] == "v3a_tma: nothing is committed");
  Json less = file(110);
  less["stages"]["v2d_ldmatrix"]["S"]["totals"].erase("barrier");
  REQUIRE(differences(file(110), less, "S").size() == 1);
  CHECK(differences(file(110), less, "S")[0] == "v2d_ldmatrix, barrier: committed, and not counted now");
}

TEST_CASE("counts: tables") {
  const Json counted = parse_json(counted_json({counters("v2d_ldmatrix", "S", 110, 7)}), "a test");
  const std::string table = validation_table(counted, {{"v2d_ldmatrix", "v2d", profile(100, 7)}}, "S");
  CHECK(table.find("| v2d | +10.0 % |") != std::string::npos);
  CHECK(table.find(" = |") != std::string::npos);
  const Json bench = {{"cases",
                       {{{"program", "v2d_ldmatrix"},
                         {"shape", "S"},
                         {"status", "ok"},
                         {"figures", {{"graph", {{"median", 10.0}}}}}}}}};
  const std::string floors = floors_table(counted, {{"v2d_ldmatrix", "v2d"}}, {bench}, "S");
  CHECK(floors.find("| v2d | 10.00 | 2.50 | 25 % | 0.50 | **2.50** |") != std::string::npos);
  CHECK(floors_table(counted, {{"v2d_ldmatrix", "v2d"}}, {}, "S").find("| v2d |  | 2.50 |  |") != std::string::npos);
}
