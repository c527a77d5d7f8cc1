// Where the time of one launch goes: what `lab phases` prints, put side by side.
#include <doctest/doctest.h>

#include "checks/desk/records/records.hpp"

namespace {
using namespace lab;
using namespace lab::desk;

const Json FACTS = {{"stage", "v9z_test"}, {"shape", "1,8,512,64"}, {"gpu", "GPU"}};

TEST_CASE("desk: times and stamps are read, and nothing else") {
  const PhasesOutput out = read_phases_output("note\ntime 4.5 4.25 4.75\nstamp 3 100 300 200\n", "lab");
  CHECK(out.us == std::vector<double>{4.5, 4.25, 4.75});
  REQUIRE(out.stamps.size() == 1);
  CHECK(out.stamps.at(3) == std::vector<unsigned>{100, 300, 200});
  CHECK_THROWS_WITH_AS(read_phases_output("stamp 1 2\n", "build/x"), "build/x printed no time", BadInput);
}

TEST_CASE("desk: a stamp's name is the comment in the line that adds it") {
  const Patch patch = parse_patch("stages/v/phases/stamps.patch",
                                  "plants: a clock\npredicted: none\n\n--- a/stages/v/kernel.cu\n"
                                  "+++ b/stages/v/kernel.cu\n@@ -1,2 +1,3 @@\n x;\n"
                                  "+  stamp(4);  // Q is there\n   stamp(5);  // not added\n");
  CHECK(stamp_names(patch) == std::map<int, std::string>{{4, "Q is there"}});
}

TEST_CASE("desk: parts in their order with their median, stamps with their percentiles") {
  const std::vector<Part> parts = {{"phase-1_launch", "an empty launch", {{0.9, 0.7, 0.8}, {}}},
                                   {"phase-stamps", "clocks", {{5}, {{1, {30, 10, 20}}}}},
                                   {"fixed", "the whole kernel", {{4.2, 4.1, 4.3}, {}}}};
  const Json json = parse_json(phases_json(FACTS, parts, {{1, "Q is there"}}), "it");
  CHECK(json["schema"] == "phases-1");
  REQUIRE(json["parts"].size() == 2);  // the one that reads its clock is not timed
  CHECK(json["parts"][0]["us"] == doctest::Approx(0.8));
  CHECK(json["parts"][0]["least"] == doctest::Approx(0.7));
  CHECK(json["parts"][1]["what"] == "the whole kernel");
  CHECK(json["phases"][0]["name"] == "Q is there");
  CHECK(json["phases"][0]["median"] == 20);
  CHECK(json["phases"][0]["p90"] == 30);
  const std::string text = phases_text(FACTS, parts, {{1, "Q is there"}});
  CHECK(text.starts_with("v9z_test, 1,8,512,64: GPU\n"));
  CHECK(text.find("    0.80 (0.70 to 0.90)  an empty launch\n") != text.npos);
  CHECK(text.find("      20 (10 to 30)  Q is there\n") != text.npos);
  CHECK_THROWS_WITH_AS(phases_text(FACTS, parts, {}), "stamp 1 has no name in its patch", BadInput);
}

TEST_CASE("desk: every part of a kernel is found, applies, and every stamp has a name") {
  const auto names = phases_of("v4b_no_waiting");
  REQUIRE(names.size() >= 5);
  CHECK(std::ranges::is_sorted(names));
  for (const std::string& name : names) {
    const Patch patch = read_patch(patch_path("v4b_no_waiting", name));
    CHECK(patch.path == "stages/v4b_no_waiting/phases/" + name.substr(6) + ".patch");
    for (const Hunk& hunk : patch.hunks)
      for (const PatchLine& line : hunk.lines)
        if (line.kind == '+' && line.text.find("stamp(") != line.text.npos)
          CHECK_MESSAGE(line.text.find(";  // ") != line.text.npos, patch.path, ": ", line.text);
  }
  CHECK(phases_of("v1_scalar").empty());
}

}  // namespace
