// wgmma on the CPU: when products happen; and `make probe what=wgmma`: its wgmma and its copy engine do what
// common/wgmma_layout.hpp and checks/probes/box_cases.hpp say, which is what the probe holds a GPU to.
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "checks/probes/wgmma_sections.cuh"
#include "checks/tests/async_fixtures.hpp"
#include "checks/tests/test_exec.hpp"

using namespace lab;
using namespace lab::ptx;
using Kind = Finding::Kind;

namespace {

constexpr std::size_t TILES_BYTES = 16 * 1024;

template <class Body>
void under_all_modes(Body body) {
  for (const Copies products : {Copies::at_wait, Copies::at_issue, Copies::random})
    under_all_schedules([&](ExecOptions options) {
      options.products = products;
      CAPTURE(std::string(name(products)));
      body(options);
    });
}

}  // namespace

// --- when products happen ------------------------------------------------------------------------------------

TEST_CASE("wgmma: a missing wait shows as NaN where products are late, and not where they are early") {
  for (const Copies products : {Copies::at_wait, Copies::at_issue}) {
    ExecOptions options;
    options.products = products;
    float before[128], after[128];
    runs({1, 128, TILES_BYTES, options}, [&] {
      const Tiles t = tiles();
      float d[32];
      wgmma_fence();
      wgmma<64>(d, t.of_a, t.of_b, false);
      wgmma_commit();
      before[threadIdx.x] = d[9];
      wgmma_wait<0>();
      after[threadIdx.x] = d[9];
    });
    for (const float x : before) CHECK((products == Copies::at_wait ? std::isnan(x) : x == 16.0f));
    for (const float x : after) CHECK(x == 16.0f);
  }
}

TEST_CASE("wgmma: a late product reads what its operands hold by then") {
  for (const Copies products : {Copies::at_wait, Copies::at_issue}) {
    ExecOptions options;
    options.products = products;
    float from_shared[128], from_registers[128];
    runs({1, 128, TILES_BYTES, options}, [&] {
      const Tiles t = tiles();
      float d[32], e[32];
      unsigned a[4] = {0x3C003C00u, 0x3C003C00u, 0x3C003C00u, 0x3C003C00u};  // ones
      wgmma_fence();
      wgmma<64>(d, t.of_a, t.of_b, false);
      wgmma<64>(e, a, t.of_b, false);
      wgmma_commit();
      __syncthreads();
      for (unsigned& pair : a) pair = 0x40004000u;  // twos
      for (int i = int(threadIdx.x); i < 64 * 64; i += 128) t.a[i] = half(3.0f);
      __syncthreads();
      wgmma_wait<0>();
      from_shared[threadIdx.x] = d[0], from_registers[threadIdx.x] = e[0];
    });
    const bool late = products == Copies::at_wait;
    for (const float x : from_shared) CHECK(x == (late ? 48.0f : 16.0f));
    for (const float x : from_registers) CHECK(x == (late ? 32.0f : 16.0f));
  }
}

TEST_CASE("wgmma: each warp's rows are computed by its own wait, from what B holds then") {
  float result[128];
  runs({1, 128, TILES_BYTES}, [&] {
    const Tiles t = tiles();
    float d[32];
    wgmma_fence();
    wgmma<64>(d, t.of_a, t.of_b, false);
    wgmma_commit();
    if (threadIdx.x >= 32) __syncthreads();
    wgmma_wait<0>();
    result[threadIdx.x] = d[0];
    if (threadIdx.x >= 32) return;
    for (int i = int(threadIdx.x); i < 64 * 64; i += 32) t.b[i] = half(5.0f);  // too early: the others still read it
    __syncthreads();
  });
  for (int i = 0; i < 128; ++i) CHECK(result[i] == (i < 32 ? 16.0f : 80.0f));
}

TEST_CASE("wgmma: wait<1> leaves the last group under way") {
  float first[128], second[128];
  runs({1, 128, TILES_BYTES}, [&] {
    const Tiles t = tiles();
    float d[32], e[32];
    wgmma_fence();
    wgmma<64>(d, t.of_a, t.of_b, false);
    wgmma_commit();
    wgmma<64>(e, t.of_a, t.of_b, false);
    wgmma_commit();
    wgmma_wait<1>();
    first[threadIdx.x] = d[31], second[threadIdx.x] = e[31];
    wgmma_wait<0>();
  });
  for (int i = 0; i < 128; ++i) {
    CHECK(first[i] == 16.0f);
    CHECK(std::isnan(second[i]));
  }
}

// --- misuse --------------------------------------------------------------------------------------------------

TEST_CASE("wgmma: three warps of four are a deadlock that says whom they wait for") {
  under_all_modes([](const ExecOptions& options) {
    int line = 0;
    const Outcome outcome = run({1, 256, TILES_BYTES, options}, [&] {
      const Tiles t = tiles();
      float d[32];
      if (threadIdx.x / 32 != 6) {
        if (threadIdx.x >= 128) HERE(line, wgmma<64>(d, t.of_a, t.of_b, false));
      } else {
        __syncthreads();
      }
    });
    check_failed(outcome, cudaErrorLaunchTimeout, Kind::deadlock);
    const std::string place = std::string(__FILE__) + ":" + std::to_string(line);
    CHECK_CONTAINS(outcome.message(),
                   "Warps 4..5 lanes 0..31 wait in wgmma.mma_async for warp 6 of the warpgroup (" + place + ").");
    CHECK_CONTAINS(outcome.message(), "Warp 7 lanes 0..31 wait in wgmma.mma_async for warp 6 of the warpgroup");
  });
}

namespace {

// Written by `make probe what=wgmma sample=...` on an H200; its head is four lines.
const char* const SAMPLE = "reference/wgmma_sample.txt";

}  // namespace

TEST_CASE("wgmma: the probe's products, dot products and boxes, and the bits of a GPU") {
  std::ifstream file(SAMPLE);
  REQUIRE(file.good());
  std::string line;
  for (int i = 0; i < 4; ++i) std::getline(file, line);
  const std::string measured(std::istreambuf_iterator<char>(file), {});
  std::string sample;
  long cases = 0;
  take_exec_report();
  for (const probe::Section& section : wgmma_probe::sections(wgmma_probe::SAMPLED, false)) {
    probe::Tally tally;
    section.work(tally);
    CHECK_MESSAGE((tally.wrong == 0 && tally.cases > 0), section.name << "\n" << tally.report);
    sample += tally.sample, cases += tally.cases;
    const std::string message = take_exec_report().message;
    if (!section.name.starts_with("refused"))
      CHECK_MESSAGE(message.empty(), message);
    else
      CHECK_CONTAINS(message, section.name.find("of no 16 bytes") != section.name.npos ? "a multiple of 8 halves"
                                                                                       : "0 and more is allowed");
  }
  CHECK(cases >= 700 + 1200);
  // Line by line: a report of the whole would be as long as the file.
  std::istringstream ours(sample), theirs(measured);
  int different = 0;
  for (std::string other; std::getline(theirs, line); different += line != other) std::getline(ours, other);
  CHECK(different == 0);
  CHECK(sample.size() == measured.size());
}

// A wrong number of announced bytes, under both ways of counting: each must be one that a GPU may show.
TEST_CASE("copy engine: too few bytes announced end a phase early or never, too many never") {
  for (const Copies copies : {Copies::at_wait, Copies::at_issue, Copies::random})
    for (const box_cases::Case& c : box_cases::announced_cases()) {
      CAPTURE(name(copies));
      const unsigned all = 2 * box_cases::box_halves(c.shape);
      ExecOptions options;
      options.copies = copies;
      set_exec_options(options);
      take_exec_report();
      unsigned bytes = 0;
      for (const unsigned ended : wgmma_probe::announced_once(c)) {
        bytes += box_cases::ANNOUNCED_STEP;
        const bool expected =
            copies == Copies::at_issue ? box_cases::must_end(bytes, all) : box_cases::may_end(bytes, all);
        CHECK_MESSAGE(bool(ended) == expected, bytes << " of " << all << " announced");
      }
      set_exec_options({});
      CHECK_MESSAGE(take_exec_report().message.empty(), "the launch has something to say");
    }
}
