// The benchmark writes what it says, and bad words are refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "checks/bench/bench_samples.hpp"
#include "reference/bad_input.hpp"

namespace {
using namespace lab;

const std::string SAMPLES =
    "meta\tdate\t2026-01-01T00:00:00Z\nmeta\tcommand\tmake bench\nmeta\tcommit\tabc\nmeta\tmachine\ta \"quoted\" one\n"
    "meta\tgpu\tG\nmeta\tdriver\t1\nmeta\tcuda\t13\nmeta\tl2_bytes\t100\nmeta\tkernel v1_scalar\t0123456789abcdef\n"
    "fact\tv1_scalar\t1,8,512,64\tlaunches_per_graph\t20\nfact\tv1_scalar\t1,8,512,64\tsets\t4\n"
    "fact\tv1_scalar\t1,8,512,64\tchecked_rows\t64\nfact\tv1_scalar\t1,8,512,64\tmax_diff\t0.0001\n"
    "sample\tv1_scalar\t1,8,512,64\tgraph\t1\t100 102 101\nsample\tv1_scalar\t1,8,512,64\tcall\t1\t110\n"
    "seen\tv1_scalar\t1,8,512,64\t1980\t130.5\ncase\tv1_scalar\t1,8,512,64\tok\t\n";
const std::string MORE =
    "fact\tv2b_single_warp\t1,8,512,64\tlaunches_per_graph\t20\nfact\tv2b_single_warp\t1,8,512,64\tsets\t4\n"
    "fact\tv2b_single_warp\t1,8,512,64\tchecked_rows\t64\nfact\tv2b_single_warp\t1,8,512,64\tmax_diff\t0.0001\n"
    "sample\tv2b_single_warp\t1,8,512,64\tgraph\t1\t202\nsample\tv2b_single_warp\t1,8,512,64\tcall\t1\t210\n"
    "fact\ttorch_flash\t1,8,512,64\tlaunches_per_graph\t20\nfact\ttorch_flash\t1,8,512,64\tsets\t4\n"
    "sample\ttorch_flash\t1,8,512,64\tgraph\t1\t10.1\nsample\ttorch_flash\t1,8,512,64\tgraph\t2\t10.1\n"
    "sample\ttorch_flash\t1,8,512,64\tcall\t1\t20\n"
    "ceiling\tmatrix_fp16_tflops\t1\t700 700\nceiling\tcopy_gbs\t1\t4000\n"
    "case\tv2b_single_warp\t4,16,8192,64\tskipped\ttoo slow\ncase\tv1_scalar\t2,8,2048,64\tfailed\twrong answer\n";

}  // namespace

TEST_CASE("bench: the benchmark's CSV has the columns of the committed one, and what follows from the samples") {
  std::istringstream text(bench_csv(read_samples({SAMPLES, MORE}), "now"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  REQUIRE(lines.size() == 7);
  CHECK(lines[0].starts_with("# now: date 2026-01-01T00:00:00Z; command make bench;"));
  CHECK(lines[0].ends_with("copy_gbs 4000; matrix_fp16_tflops 700;"));
  std::ifstream committed("writeups/results/bench.csv");
  std::string header;
  while (std::getline(committed, header) && header.starts_with("#")) {
  }
  CHECK(lines[1] == header);
  for (const std::string& line : lines) CHECK((line[0] == '#' || std::ranges::count(line, ',') == 22));
  CHECK(lines[2] ==
        "now,v1_scalar,1,8,512,64,0,ok,101,100.2,101.8,,110,,5.31555,1980,130.5,,torch_flash,9.90099,9.90099,9.90099,0."
        "0001");
  CHECK(lines[3].starts_with("now,v2b_single_warp,1,8,512,64,0,ok,202,202,202,,210,,"));
  CHECK(lines[5] == "now,v2b_single_warp,4,16,8192,64,0,skipped,,,,,,,,,,,,,,,");
  CHECK(bench_table(read_samples({SAMPLES, MORE})).find("failed: wrong answer") != std::string::npos);
}

TEST_CASE("bench: a failed round spoils its case, whatever the other rounds say") {
  const std::string csv =
      bench_csv(read_samples({SAMPLES, "case\tv1_scalar\t1,8,512,64\tfailed\tNaN\n", SAMPLES}), "now");
  CHECK(csv.find("\nnow,v1_scalar,1,8,512,64,0,failed,,") != csv.npos);
}

TEST_CASE("bench: bad words and lines are refused in one line") {
  for (const char* words : {"", "1,8,512", "1,8,512,64,casual", "1,8,512,96", "0,8,512,64", "1,8,512,64;", "acceptanec",
                            "1, 8,512,64", "1,8,512,64,causal,1", "-1,8,512,64", "99999999999,8,512,64"}) {
    CAPTURE(words);
    CHECK_THROWS_AS(bench_shapes(words), BadInput);
  }
  CHECK(bench_shapes("acceptance").size() == 6);
  CHECK(bench_shapes("all").size() == 10);
  CHECK(bench_shapes("1,8,512,64;2,8,2048,128,causal")[1] == Shape{2, 8, 2048, 128, true});
  for (const Shape& shape : bench_shapes("all")) CHECK(bench_shapes(shape_word(shape))[0] == shape);
  for (const char* line : {"sample\tv1\t1,8,512,64\tgraph\t1\tnan", "sample\tv1\t1,8,512,64\tgraph\t1\t-3",
                           "sample\tv1\t1,8,512,64\tgraph\t0\t3", "hello", "sample\tv1\t1,8\tgraph\t1\t3",
                           "sample\tv1\t1,8,512,64\tspeed\t1\t3", "case\tv1\t1,8,512,64\tfine\t", "meta\tgpu",
                           "fact\tv1\t1,8,512,64\tsets\tnan", "fact\tv1\t1,8,512,64\tsets\tfour"}) {
    CAPTURE(line);
    CHECK_THROWS_AS(bench_csv(read_samples({line}), "now"), BadInput);
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
  CHECK(csv.find("\nv4b_no_waiting,1,8,128,64,0,2.5\n") != csv.npos);
}
