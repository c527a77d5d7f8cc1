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
  CHECK(sanitizer_csv("gpu NVIDIA H200\ndate d\n", {r}) ==
        "# gpu NVIDIA H200, date d\nstage,bug,tool,kinds,lines\n"
        "v2b_single_warp,interwarp_race,memcheck,\"Invalid __shared__ write of size 16 bytes: misaligned, Program hit "
        "cudaErrorMisalignedAddress (error 716) at cudaDeviceSynchronize\",134\n"
        "v2b_single_warp,interwarp_race,racecheck,\"race, race (warning)\",\"interwarp_race.patch:14, 178, 189\"\n"
        "v2b_single_warp,interwarp_race,initcheck,,\nv2b_single_warp,interwarp_race,synccheck,,\n");
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
  const std::string csv = sweep_csv(run);
  CHECK(std::ranges::count(csv, '\n') == 10);
  CHECK(has(csv, "\nv4b_no_waiting,1,8,128,64,0,2.5\n"));
}
