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

}  // namespace

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
