// The events of ExecOptions::watcher: every event, once, with its array, row, byte, warp, lane and line. What becomes of
// them is test_trace.cpp's.
#include <cuda_pipeline.h>

#include <vector>

#include "checks/tests/async_fixtures.hpp"
#include "checks/tests/instrumented.hpp"
#include "checks/tests/rules.hpp"
#include "checks/tests/test_exec.hpp"
#include "common/launch.cuh"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mma.cuh"

namespace {
using namespace lab;
using namespace lab::ptx;
using Event = ExecEvent::Kind;

struct Log final : ExecWatcher {
  std::vector<ExecEvent> events;
  void see(const ExecEvent& e) override { events.push_back(e); }
  std::vector<ExecEvent> of(Event kind) const {
    std::vector<ExecEvent> found;
    for (const ExecEvent& e : events)
      if (e.kind == kind) found.push_back(e);
    return found;
  }
  ExecOptions options() {
    ExecOptions options;
    options.workers = 1, options.watcher = this, options.check = true;
    return options;
  }
};

// Of one access or barrier.
bool is(const ExecEvent& e, int warp, int lane, const std::string& array, int row, int byte, int bytes) {
  return e.warp == warp && e.lane == lane && e.array == array && e.row == row && e.byte == byte && e.bytes == bytes;
}

TEST_CASE("watcher: reads and writes of an instrumented kernel, barriers" * instrumented()) {
  Log log;
  int* out = nullptr;
  REQUIRE(cudaMalloc(&out, 96 * sizeof(int)) == cudaSuccess);
  set_exec_options(log.options());
  REQUIRE(launch("k", rules::kernel("warp_barrier_orders_no_other_warp").kernel, 1, 96, 256, nullptr,
                 static_cast<const rules::Maps*>(nullptr), out, false) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  set_exec_options({});
  take_exec_report();
  cudaFree(out);
  const auto writes = log.of(Event::write), reads = log.of(Event::read);
  REQUIRE((writes.size() == 65 && reads.size() == 1));  // 64 zeros, then s[21] by thread 3
  CHECK((is(writes.back(), 0, 3, "s", 21, 0, 4) && is(reads[0], 1, 9, "s", 21, 0, 4)));
  CHECK(reads[0].line == writes.back().line + 2);  // in write_then_read
  CHECK((log.of(Event::arrive).size() == 96 && log.of(Event::release).size() == 1));
}

TEST_CASE("watcher: cp.async, ldmatrix row by row, named barriers by warp") {
  Log log;
  const Global from(64);
  runs({1, 64, 384, log.options()}, [&] {
    half* s = SmemCursor().array<half>("tile", 8, 24);
    unsigned r[1];
    if (threadIdx.x < 8) {
      for (int i = 0; i < 3; ++i) __pipeline_memcpy_async(s + 24 * threadIdx.x + 8 * i, from.bytes, 16);
      __pipeline_commit();
      __pipeline_wait_prior(1);
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    if (threadIdx.x < 32) ldmatrix_x1(r, s + 24 * (threadIdx.x % 8));
    threadIdx.x < 32 ? barrier_arrive(3, 64) : barrier_sync(3, 64);
  });
  std::vector<Event> lane0;
  for (const ExecEvent& e : log.events)
    if (e.warp == 0 && e.lane == 0 && e.kind <= Event::wait) lane0.push_back(e.kind);
  const auto copies = log.of(Event::copy), waits = log.of(Event::wait), reads = log.of(Event::read);
  REQUIRE((copies.size() == 24 && waits.size() == 16 && reads.size() == 8));
  CHECK(is(copies[2], 0, 0, "tile", 0, 32, 16));
  CHECK((waits[0].bytes == 1 && waits[1].bytes == 0));
  for (int i = 0; i < 8; ++i) CHECK(is(reads[std::size_t(i)], 0, i, "tile", i, 0, 16));
  const auto release = log.of(Event::bar_release), passed = log.of(Event::bar_pass);
  REQUIRE((log.of(Event::bar_arrive).size() == 2 && release.size() == 1 && passed.size() == 1));
  CHECK((release[0].bytes == 3 && passed[0].bytes == 3 && passed[0].warp == 1));  // warp 0 goes on without a word
}

TEST_CASE("watcher: a load, its barrier and who waits, in order") {
  Global from(1024), to(1024);
  for (const bool late : {true, false}) {
    Log log;
    ExecOptions options = log.options();
    options.copies = late ? Copies::at_wait : Copies::at_issue;
    int expect = 0, load = 0, wait = 0, store = 0;
    runs({1, 33, 2048, options}, [&] {
      AlignedSmemCursor cursor;
      auto* tile = cursor.array<unsigned char, SWIZZLE_ALIGN>("tile", 4, 256);
      auto* full = barriers(cursor, 3);
      if (threadIdx.x == 32) {
        HERE(expect, mbarrier_arrive_expect_tx(full + 2, 512));
        HERE(load, bulk_load(tile + 256, from.bytes, 512, full + 2));
      }
      __syncthreads();
      if (threadIdx.x != 9) return;
      HERE(wait, mbarrier_wait(full + 2, 0));
      HERE(store, bulk_store(to.bytes, tile + 256, 512));
      bulk_commit();
      bulk_wait<0>();
    });
    struct Expected {
      Event kind;
      int warp, lane;
      const char* array;
      int row, bytes, line;
    };
    std::vector<Expected> expected{
        {Event::mbarrier_arrive, 1, 0, "full", 2, 512, expect}, {Event::tma_issue, 1, 0, "tile", 1, 512, load},
        {Event::tma_land, 1, 0, "tile", 1, 512, load},          {Event::mbarrier_land, 1, 0, "full", 2, 512, load},
        {Event::mbarrier_complete, 1, 0, "full", 2, 0, load},   {Event::mbarrier_pass, 0, 9, "full", 2, 0, wait},
        {Event::tma_issue, 0, 9, "tile", 1, 512, store},        {Event::tma_land, 0, 9, "tile", 1, 512, store}};
    if (late) expected.insert(expected.begin() + 2, {Event::mbarrier_wait, 0, 9, "full", 2, 0, wait});
    std::erase_if(log.events, [](const ExecEvent& e) { return e.kind < Event::tma_issue; });
    REQUIRE(log.events.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      const ExecEvent& e = log.events[i];
      const Expected& x = expected[i];
      CHECK((e.kind == x.kind && e.line == x.line && is(e, x.warp, x.lane, x.array, x.row, e.byte, x.bytes)));
    }
  }
}

}  // namespace
