// wgmma on the CPU: when products happen, and the reports of misuse. Layouts and bits are test_wgmma_cases.cpp's.
#include <cmath>

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
