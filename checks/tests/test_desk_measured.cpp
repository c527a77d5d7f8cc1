// The desk's use of measurements on a GPU: Nsight Compute's CSV, compute-sanitizer's logs, the benchmark's
// samples.
#include <doctest/doctest.h>

#include "checks/desk/records/records.hpp"
#include "checks/tests/scratch.hpp"

namespace {
using namespace lab;
using namespace lab::desk;
namespace fs = std::filesystem;

const std::string CSV_HEAD =
    "==PROF== Connected to process 12\n\"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric "
    "Value\"\n";

std::string csv_line(const std::string& kernel, const std::string& metric, const std::string& unit,
                     const std::string& value) {
  return "\"0\",\"12\",\"" + kernel + "\",\"" + metric + "\",\"" + unit + "\",\"" + value + "\"\n";
}

std::string value_of(const std::vector<ProfileRow>& rows, const std::string& what) {
  for (const ProfileRow& row : rows)
    if (row.what == what) return row.value + ": " + row.diagnosis;
  return "no such row";
}

const std::string KERNEL = "void <unnamed>::attention<(int)64, (int)2>(lab::KernelArgs, float)";

// Real forms of compute-sanitizer's records.
const std::string RACES =
    "========= COMPUTE-SANITIZER\n"
    "========= Error: Race reported between Write access at " +
    KERNEL +
    "+0x1b70 in kernel.cu:178\n"
    "=========     and Read access at " +
    KERNEL +
    "+0x1a00 in interwarp_race.patch:14 [504 hazards]\n"
    "=========     and Write access at " +
    KERNEL +
    "+0x1a00 in kernel.cu:189 [1 hazard]\n"
    "=========\n"
    "========= Warning: Race reported between Read access at float warp_sum(float)+0x10 in warp.cuh:12\n"
    "=========     and Write access at " +
    KERNEL +
    "+0x1b70 in /work/stages/v2b_single_warp/kernel.cu:178\n"
    "=========\n========= RACECHECK SUMMARY: 2 hazards displayed (1 errors, 1 warnings)\n";
const std::string MEMORY =
    "========= COMPUTE-SANITIZER\n"
    "========= Invalid __shared__ write of size 16 bytes\n"
    "=========     at __pipeline_memcpy_async(void*, const void*, unsigned long)+0x50 in "
    "cuda_pipeline_primitives.h:70\n"
    "=========     by thread (224,0,0) in block (0,0,0)\n"
    "=========     Access to 0x7f0000001234 is misaligned\n"
    "=========     Device Frame: issue_tile+0x10 in tile.cuh:44\n"
    "=========     Device Frame: " +
    KERNEL +
    "+0x1a00 in kernel.cu:134\n"
    "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
    "=========         Host Frame: launch in kernel.cu:300 [0x1234]\n"
    "=========\n"
    "========= Program hit cudaErrorMisalignedAddress (error 716) due to \"misaligned address\" on CUDA API call to "
    "cudaDeviceSynchronize.\n=========     Saved host backtrace up to driver entry point at error\n"
    "========= Program hit cudaErrorMisalignedAddress (error 716) due to \"misaligned address\" on CUDA API call to "
    "cudaGetLastError.\n"
    "========= Target application returned an error\n========= ERROR SUMMARY: 3 errors\n";
const std::string SILENT = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";

}  // namespace

TEST_CASE("profile: the committed files say again what follows from their metrics") {
  std::size_t seen = 0;
  for (const auto& entry : fs::directory_iterator("writeups/results")) {
    if (!entry.path().filename().string().starts_with("profile-")) continue;
    CAPTURE(entry.path().string());
    const Json committed = parse_json(read_text(entry.path()), entry.path());
    std::string csv = CSV_HEAD;
    const std::string kernel = "void <unnamed>::" + committed.at("kernel").get<std::string>() + "(lab::KernelArgs)";
    for (const auto& [metric, value] : committed.at("metrics").items())
      csv += csv_line(kernel, metric, metric.find("duration") == metric.npos ? "" : "us", one_line(value, 12));
    std::string opcodes;
    const Json counts = committed.value("opcodes", Json::object());
    for (const auto& [opcode, count] : counts.items())
      opcodes += (opcodes.empty() ? "1 (" : "; ") + opcode + ": " + one_line(count, 12);
    if (!opcodes.empty()) csv += csv_line(kernel, "sass__inst_executed_per_opcode", "", opcodes + ")");
    const Profile profile = read_profile(csv);
    Json facts;
    for (const auto& [key, value] : committed.items())
      if (value.is_string() && key != "schema") facts[key] = value;
    const Shape shape = *shape_of(committed.at("shape").get<std::string>());
    CHECK(parse_json(profile_json(facts, profile, diagnose(profile, shape)), "again") == committed);
    ++seen;
  }
  CHECK(seen >= 5);
}

TEST_CASE("profile: units, names and what a GPU does not give") {
  const Profile p =
      read_profile(CSV_HEAD + csv_line(KERNEL, "gpu__time_duration.sum", "ms", "1.5") +
                   csv_line(KERNEL, "dram__bytes.sum", "Mbyte", "2,000.5") +
                   csv_line(KERNEL, "smsp__inst_executed.sum", "inst", "32,768") +
                   csv_line(KERNEL, "dram__throughput.avg.pct_of_peak_sustained_elapsed", "%", "20") +
                   csv_line(KERNEL, "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", "%", "25") +
                   csv_line(KERNEL, "sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "n/a"));
  CHECK(p.kernel == "attention<64, 2>");
  CHECK(p.metric("gpu__time_duration.sum") == 1500);
  CHECK(p.metric("dram__bytes.sum") == 2000.5e6);
  CHECK(!p.metric("sm__throughput.avg.pct_of_peak_sustained_elapsed"));
  const auto rows = diagnose(p, {1, 1, 64, 64, false});
  CHECK(value_of(rows, "time under the profiler").starts_with("1500.0 us"));
  CHECK(value_of(rows, "instructions a row and 64 keys").starts_with("512:"));
  CHECK(value_of(rows, "DRAM throughput") == "20.0 %: Device memory is busy, and not the limit.");
  CHECK(value_of(rows, "fp32 pipe active") == "25.0 %: Scalar arithmetic is not what takes the time.");
  CHECK(value_of(rows, "tensor pipe active") == "-: This ncu or GPU does not give it.");
  CHECK(value_of(rows, "stalls") == "-: This ncu or GPU does not give it.");
  CHECK(value_of(diagnose(p, {1, 1, 64, 64, true}), "instructions a row and 64 keys").starts_with("1024:"));
  CHECK(read_profile(CSV_HEAD + csv_line("attention<64>", "x", "", "1")).kernel == "attention<64>");
  const auto opcodes = [](const char* value) {
    return read_profile(CSV_HEAD + csv_line(KERNEL, "gpu__time_duration.sum", "us", "1") +
                        csv_line(KERNEL, "sass__inst_executed_per_opcode", "", value))
        .opcodes;
  };
  CHECK(opcodes("5,120 (FFMA: 4,096; BAR: 1,024)") ==
        std::vector<std::pair<std::string, double>>{{"BAR", 1024}, {"FFMA", 4096}});
  CHECK(opcodes("5,120").empty());
  CHECK_THROWS_WITH_AS(opcodes("5,120 (4,096; 1,024)"), "ncu's CSV: '4,096' is no opcode and its count", BadInput);
  CHECK(profile_metrics().starts_with("gpu__time_duration.sum,"));
  CHECK(profile_metrics().ends_with(",smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio"));
}

TEST_CASE("profile: what is no CSV of ncu is refused") {
  for (const std::string& csv : {std::string(), std::string("==ERROR== no permission\n"), CSV_HEAD,
                                 std::string("\"ID\",\"Kernel Name\"\n\"0\",\"x\"\n"), CSV_HEAD + "\"0\",\"12\"\n",
                                 CSV_HEAD + csv_line(KERNEL, "x", "", "nan")}) {
    CAPTURE(csv);
    CHECK_THROWS_AS(read_profile(csv), BadInput);
  }
}

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
  const BenchRun run = read_samples({sample("v3j_next_q", 1, "8 9 10") + sample("v3j_next_q", 2, "80 90") +
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
  const BenchRun run = read_samples({at("v3j_next_q", "1,8,128,64", "3") + at("v4b_no_waiting", "1,8,128,64", "2.5") +
                                     at("torch_cudnn", "1,8,128,64", "5") + at("torch_flash", "1,8,128,64", "6") +
                                     at("v3j_next_q", "1,8,256,64", "10.1") + at("torch_cudnn", "1,8,256,64", "10") +
                                     at("v3j_next_q", "1,8,512,64", "10.3") + at("torch_cudnn", "1,8,512,64", "10") +
                                     at("v3j_next_q", "1,8,1024,64", "1")});
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
