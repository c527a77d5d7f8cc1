// The desk's use of measurements: compute-sanitizer's logs, the benchmark's samples; counts; digests of outputs held to a record.
#include <doctest/doctest.h>

#include "checks/desk/records/records.hpp"
#include "checks/tests/scratch.hpp"

using namespace lab;
using namespace lab::desk;
namespace fs = std::filesystem;

namespace {

using Lines = std::vector<std::string>;

const std::string KERNEL = "void <unnamed>::attention<(int)64, (int)2>(lab::KernelArgs, float)";

// Real forms of compute-sanitizer's records.
const std::string RACES = replaced(R"(========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at KERNEL+0x1b70 in kernel.cu:178
=========     and Read access at KERNEL+0x1a00 in interwarp_race.patch:14 [504 hazards]
=========     and Write access at KERNEL+0x1a00 in kernel.cu:189 [1 hazard]
=========
========= Warning: Race reported between Read access at float warp_sum(float)+0x10 in warp.cuh:12
=========     and Write access at KERNEL+0x1b70 in /work/stages/v2b_single_warp/kernel.cu:178
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 errors, 1 warnings)
)",
                                   "KERNEL", KERNEL);
const std::string MEMORY = replaced(R"(========= COMPUTE-SANITIZER
========= Invalid __shared__ write of size 16 bytes
=========     at __pipeline_memcpy_async(void*, const void*, unsigned long)+0x50 in cuda_pipeline_primitives.h:70
=========     by thread (224,0,0) in block (0,0,0)
=========     Access to 0x7f0000001234 is misaligned
=========     Device Frame: issue_tile+0x10 in tile.cuh:44
=========     Device Frame: KERNEL+0x1a00 in kernel.cu:134
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: launch in kernel.cu:300 [0x1234]
=========
========= Program hit cudaErrorMisalignedAddress (error 716) due to "misaligned address" on CUDA API call to cudaDeviceSynchronize.
=========     Saved host backtrace up to driver entry point at error
========= Program hit cudaErrorMisalignedAddress (error 716) due to "misaligned address" on CUDA API call to cudaGetLastError.
========= Target application returned an error
========= ERROR SUMMARY: 3 errors
)",
                                    "KERNEL", KERNEL);
const std::string SILENT = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";

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

const std::string A = "0123456789abcdef unit (1,2,17,64) scale 0.125\n", B = "fedcba9876543210 unit (1,1,64,64)\n";

}  // namespace

TEST_CASE("sanitizer: races and errors, where and how often") {
  const ToolReport r = read_sanitizer_logs("v2b_single_warp", "interwarp_race",
                                           {{"memcheck", "1,1,128,64,0", MEMORY},
                                            {"racecheck", "1,1,128,64,0", RACES},
                                            {"racecheck", "1,2,100,128,1", RACES}});
  CHECK(!r.clean());
  CHECK(r.ended == 3);
  CHECK(sanitizer_text(r) ==
        "memcheck: Invalid __shared__ write of size 16 bytes: misaligned, kernel attention<64,2>, 1 time\n"
        "    at stages/v2b_single_warp/kernel.cu:134\n    shapes (1,1,128,64,0)\n"
        "memcheck: Program hit cudaErrorMisalignedAddress (error 716) at cudaDeviceSynchronize, 1 time\n"
        "    shapes (1,1,128,64,0)\n"
        "racecheck: race, kernel attention<64,2>, 1008 times\n"
        "    read at stages/v2b_single_warp/bugs/interwarp_race.patch:14 and write at "
        "stages/v2b_single_warp/kernel.cu:178\n    shapes (1,1,128,64,0), (1,2,100,128,1)\n"
        "racecheck: race, kernel attention<64,2>, 2 times\n"
        "    write at stages/v2b_single_warp/kernel.cu:178 and write at stages/v2b_single_warp/kernel.cu:189\n"
        "    shapes (1,1,128,64,0), (1,2,100,128,1)\n"
        "racecheck: race (warning), kernel attention<64,2>, 2 times\n"
        "    read at common/warp.cuh:12 and write at stages/v2b_single_warp/kernel.cu:178\n"
        "    shapes (1,1,128,64,0), (1,2,100,128,1)\n"
        "v2b_single_warp with interwarp_race: 5 findings in 3 runs (memcheck racecheck initcheck synccheck)\n");
  const Json json =
      parse_json(sanitizer_json("gpu NVIDIA H200\ndriver 1\ncuda 13.0\nsanitizer 2 (x)\ndate d\n", {r}), "");
  CHECK(json.at("schema") == "tools-1");
  CHECK(json.at("gpu") == "NVIDIA H200");
  CHECK(json.at("compute_sanitizer") == "2 (x)");
  REQUIRE(json.at("rows").size() == 4);
  CHECK(json.at("rows")[1].at("kinds") == "race, race (warning)");
  CHECK(json.at("rows")[1].at("lines") == "interwarp_race.patch:14, 178, 189");
  CHECK(json.at("rows")[2].at("kinds") == "");
}

TEST_CASE("sanitizer: silence is clean, a run that was cut short is not") {
  CHECK(read_sanitizer_logs("v1_scalar", "", {{"memcheck", "1,1,128,64,0", SILENT}}).clean());
  for (const std::string& cut : {std::string(), std::string("========= COMPUTE-SANITIZER\n")}) {
    const ToolReport r = read_sanitizer_logs("v1_scalar", "", {{"memcheck", "1,1,128,64,0", cut}});
    CHECK(!r.clean());
    CHECK(sanitizer_text(r) ==
          "1 of 1 runs ended without a summary: see the logs\n"
          "v1_scalar: 0 findings in 1 runs (memcheck racecheck initcheck synccheck)\n");
  }
}

TEST_CASE("results: JSON with a line for each member down to a level") {
  const Json value = {{"a", 1.23456789}, {"b", {{"c", {1, 2}}, {"d", Json::object()}}}, {"e", Json::array()}};
  CHECK(one_line(value) == R"({"a": 1.23457, "b": {"c": [1, 2], "d": {}}, "e": []})");
  CHECK(laid_out(value, 1) == "{\n  \"a\": 1.23457,\n  \"b\": {\"c\": [1, 2], \"d\": {}},\n  \"e\": []\n}\n");
  CHECK(laid_out({1, {2}}, 2) == "[\n  1,\n  [\n    2\n  ]\n]\n");
}

TEST_CASE("bench: a ratio pairs the replays of one round, so that a drift which both share cancels") {
  const auto sample = [](const char* program, int round, const char* times) -> std::string {
    return std::string("sample\t") + program + "\t1,8,512,64\tgraph\t" + std::to_string(round) + "\t" + times + "\n";
  };
  const BenchRun run = read_samples({sample("v3j_shorter_loop", 1, "8 9 10") + sample("v3j_shorter_loop", 2, "80 90") +
                                     sample("torch_cudnn", 1, "10 12 10 1") + sample("torch_cudnn", 2, "100 100") +
                                     sample("torch_cudnn", 3, "1")});
  const Spread pairs = paired(run.cases[0], run.cases[1]);
  CHECK(pairs.samples == 5);
  CHECK(pairs.median == doctest::Approx(0.8));  // 0.8 0.75 1.0, 0.8 0.9
  CHECK(pairs.p90 == doctest::Approx(0.96));
  const Ratios of = ratios(run, run.cases[0]);
  REQUIRE(of.vs_pytorch);
  CHECK(of.vs_pytorch->median == pairs.median);
  CHECK(of.pytorch == "torch_cudnn");
}

TEST_CASE("bench: a sweep names the fastest of each shape, and counts where a stage is not behind") {
  CHECK(bench_shapes("sweep").size() == 160);
  const auto at = [](const char* program, const char* shape, const char* us) {
    return std::string("sample\t") + program + "\t" + shape + "\tgraph\t1\t" + us + "\n";
  };
  const BenchRun run =
      read_samples({at("v3j_shorter_loop", "1,8,128,64", "3") + at("v4b_no_waiting", "1,8,128,64", "2.5") +
                    at("torch_cudnn", "1,8,128,64", "5") + at("torch_flash", "1,8,128,64", "6") +
                    at("v3j_shorter_loop", "1,8,256,64", "10.1") + at("torch_cudnn", "1,8,256,64", "10") +
                    at("v3j_shorter_loop", "1,8,512,64", "10.3") + at("torch_cudnn", "1,8,512,64", "10") +
                    at("v3j_shorter_loop", "1,8,1024,64", "1")});
  const std::string table = sweep_table(run);
  CHECK(table.ends_with("a stage is ahead or level (0.98) on 2 of 3 shapes\n"));  // 1.01 is level, 1.03 is not
  CHECK(table.find("v4b_no_waiting             2.50  torch_cudnn          5.00     0.50") != table.npos);
  const Json sweep = parse_json(sweep_json(run), "sweep_json");
  CHECK(sweep.at("schema").get<std::string>() == "sweep-1");
  CHECK(sweep.at("shapes").size() == 4);
  CHECK(sweep.at("shapes").at("1,8,128,64").at("v4b_no_waiting").get<double>() == 2.5);
}

TEST_CASE("results: a file of another schema, or of none, is one line") {
  const std::string path = scratch_path("results") + ".json";
  for (const std::string text : {"{\"schema\": \"tools-9\"}", "[]", "{\"schema\": 1}", "{", ""}) {
    CAPTURE(text);
    write_text(path, text);
    CHECK_THROWS_AS(load_results(path, "tools-1", "make it"), BadInput);
  }
  write_text(path, "{\"schema\": \"tools-1\"}");
  CHECK(load_results(path, "tools-1", "make it").is_object());
  fs::remove(path);
  CHECK_THROWS_AS(load_results(path, "tools-1", "make it"), BadInput);
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
  CHECK(differences(file(110), file(110, "v3a_tma"), "S") == Lines{"v3a_tma: nothing is committed"});
  Json less = file(110);
  less["stages"]["v2d_ldmatrix"]["S"]["totals"].erase("barrier");
  CHECK(differences(file(110), less, "S") == Lines{"v2d_ldmatrix, barrier: committed, and not counted now"});
}

TEST_CASE("bits: a line is a digest and a case; anything else, or a case twice, is refused") {
  const Json digests = digests_in(A + B);
  CHECK(digests.size() == 2);
  CHECK(digests.at("unit (1,2,17,64) scale 0.125") == "0123456789abcdef");
  CHECK_THROWS_AS(digests_in(A + A), BadInput);
  for (const char* odd : {"0123456789abcde unit\n", "0123456789abcdef\n", "0123456789abcdefunit\n", "a warning\n"})
    CHECK_THROWS_AS(digests_in(odd), BadInput);
}

TEST_CASE("bits: a case that differs, is not recorded, or is recorded only, is no pass") {
  const Json both = digests_in(A + B), one = digests_in(A);
  CHECK(compare_bits(both, both, true).good());
  CHECK(compare_bits(both, both, true).equal == 2);
  const BitsVerdict other = compare_bits(digests_in("1" + A.substr(1) + B), both, true);
  CHECK(other.equal == 1);
  CHECK(other.lines == Lines{"other bits: unit (1,2,17,64) scale 0.125"});
  const BitsVerdict unknown = compare_bits(one, both, true);
  CHECK(unknown.lines == Lines{"not in the record: unit (1,1,64,64)"});
  const BitsVerdict gone = compare_bits(both, one, true);
  CHECK(gone.lines == Lines{"in the record, and no case: unit (1,1,64,64)"});
  CHECK(compare_bits(both, one, false).good());  // a part of the cases was run
  CHECK_FALSE(compare_bits(both, Json::object(), false).good());
}

TEST_CASE("bits: of many differences the first are named") {
  std::string before, after;
  for (char c = '0'; c <= '9'; ++c) {
    before += std::string("0123456789abcdef case ") + c + "\n";
    after += std::string("0123456789abcdee case ") + c + "\n";
  }
  const BitsVerdict verdict = compare_bits(digests_in(before), digests_in(after), true);
  CHECK(verdict.equal == 0);
  REQUIRE(verdict.lines.size() == 4);
  CHECK(verdict.lines[3] == "and 7 more of these");
}

TEST_CASE("bits: a record is read as it was written") {
  const Json stages = {{"v1_scalar", digests_in(A + B)}};
  const Json read = parse_json(bits_json({{"gpu", "NVIDIA H200"}}, stages), "a test");
  CHECK(read.at("schema") == "bits-1");
  CHECK(read.at("gpu") == "NVIDIA H200");
  CHECK(read.at("stages") == stages);
}
