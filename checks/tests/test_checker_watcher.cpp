// The events of ExecOptions::watcher: every event, once, with its place and thread, and none without a watcher.
#include <vector>

#include "checks/tests/rules.hpp"
#include "checks/tests/instrumented.hpp"
#include "checks/tests/test_exec.hpp"
#include "common/launch.cuh"
#include "common/ptx/barrier.cuh"
#include "common/ptx/ldmatrix.cuh"
#include "common/smem_plan.cuh"

#include <cuda_pipeline.h>

namespace {
using namespace lab;
using Kind = ExecEvent::Kind;

struct Told final : ExecWatcher {
  std::vector<ExecEvent> events;
  void see(const ExecEvent& e) override { events.push_back(e); }
  std::vector<ExecEvent> of(Kind kind) const {
    std::vector<ExecEvent> found;
    for (const ExecEvent& e : events)
      if (e.kind == kind) found.push_back(e);
    return found;
  }
};

ExecOptions watched(Told& told, bool check) {
  ExecOptions options;
  options.check = check, options.workers = 1, options.watcher = &told;
  return options;
}

TEST_CASE("watcher: reads and writes of an instrumented kernel, with array, row, byte, warp, lane and line" *
          instrumented()) {
  Told told;
  int* out = nullptr;
  REQUIRE(cudaMalloc(&out, 96 * sizeof(int)) == cudaSuccess);
  set_exec_options(watched(told, true));
  REQUIRE(launch("k", rules::kernel("warp_barrier_orders_no_other_warp").kernel, 1, 96, 256, nullptr,
                 static_cast<const rules::Maps*>(nullptr), out, false) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  set_exec_options({});
  take_exec_report();
  cudaFree(out);

  const auto writes = told.of(Kind::write), reads = told.of(Kind::read);
  REQUIRE(writes.size() == 65);  // 64 zeros, then s[21] by thread 3
  const ExecEvent& one = writes.back();
  CHECK(std::string(one.array) == "s");
  CHECK((one.row == 21 && one.byte == 0 && one.bytes == 4));
  CHECK((one.warp == 0 && one.lane == 3));
  REQUIRE(reads.size() == 1);
  CHECK((reads[0].row == 21 && reads[0].byte == 0 && reads[0].warp == 1 && reads[0].lane == 9));
  CHECK(reads[0].line == one.line + 2);  // in write_then_read
  CHECK(told.of(Kind::arrive).size() == 96);
  CHECK(told.of(Kind::release).size() == 1);
}

TEST_CASE("watcher: copies, groups, waits and warp barriers, in the order in which they happen") {
  Told told;
  Global from(64);
  const auto kernel = [&] {
    SmemCursor cursor;
    auto* s = cursor.array<float>("tile", 4, 8);
    if (threadIdx.x == 0) __pipeline_memcpy_async(s + 20, from.bytes, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncwarp();
    __pipeline_wait_prior(0);
  };
  runs({1, 32, 128, watched(told, false)}, kernel);
  const auto copies = told.of(Kind::copy);
  REQUIRE(copies.size() == 1);
  CHECK(std::string(copies[0].array) == "tile");
  CHECK((copies[0].row == 2 && copies[0].byte == 16 && copies[0].bytes == 16 && copies[0].lane == 0));
  CHECK(told.of(Kind::commit).size() == 32);
  CHECK(told.of(Kind::sync).size() == 1);
  std::vector<Kind> lane0;
  for (const ExecEvent& e : told.events)
    if (e.lane == 0 && e.kind != Kind::sync) lane0.push_back(e.kind);
  CHECK(lane0 == std::vector{Kind::copy, Kind::commit, Kind::wait, Kind::wait});
  std::vector<int> left;
  for (const ExecEvent& e : told.of(Kind::wait))
    if (e.lane == 0) left.push_back(e.bytes);
  CHECK(left == std::vector{1, 0});
}

TEST_CASE("watcher: ldmatrix is read row by row, by the lanes that point at the rows; named barriers by warp") {
  Told told;
  const auto kernel = [&] {
    SmemCursor cursor;
    half* s = cursor.array<half>("tile", 8, 24);
    unsigned r[1];
    ptx::ldmatrix_x1(r, s + 24 * (threadIdx.x % 8));
    threadIdx.x < 32 ? ptx::barrier_arrive(3, 64) : ptx::barrier_sync(3, 64);
  };
  const Outcome outcome = run({1, 64, 384, watched(told, true)}, kernel);
  CHECK(outcome.finished == cudaSuccess);
  const auto reads = told.of(Kind::read);
  REQUIRE(reads.size() == 16);  // eight rows per warp
  for (int i = 0; i < 8; ++i) {
    const ExecEvent& e = reads[std::size_t(i)];
    CHECK((e.row == i && e.byte == 0 && e.bytes == 16 && e.lane == i && e.warp == 0));
  }
  CHECK(told.of(Kind::bar_arrive).size() == 2);
  REQUIRE(told.of(Kind::bar_release).size() == 1);
  CHECK(told.of(Kind::bar_release)[0].bytes == 3);
  const auto passed = told.of(Kind::bar_pass);  // warp 0 did not wait, and goes on without a word
  REQUIRE(passed.size() == 1);
  CHECK((passed[0].warp == 1 && passed[0].lane == 0 && passed[0].bytes == 3));
}

TEST_CASE("watcher: a launch that nobody watches is the same launch") {
  Told told;
  std::uint64_t switches[2];
  for (const bool watching : {false, true}) {
    ExecOptions options;
    options.workers = 1;
    if (watching) options.watcher = &told;
    const Outcome outcome = runs({2, 64, 0, options}, [] { __syncthreads(); });
    switches[watching] = outcome.report.switches;
  }
  CHECK(switches[0] == switches[1]);
  CHECK(told.of(Kind::release).size() == 2);
}

}  // namespace
