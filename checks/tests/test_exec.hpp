// Shared by the tests of the execution: running a lambda as a kernel, under any schedule, and the text of a failure.
#pragma once
#include <cuda_runtime.h>
#ifdef LAB_EMULATED
#define DOCTEST_BREAK_INTO_DEBUGGER() ((void)0)  // its asm is no PTX, which the front end wants
#endif
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "common/backend.hpp"
#include "common/cpu/instructions.h"
#include "common/cpu/plain_launch.h"
#include "common/emulator/launch.hpp"
#include "common/warp.cuh"

namespace lab {

inline constexpr unsigned FULL = FULL_WARP;

// TEST_CASE("..." * instrumented()): needs the calls that g++ puts before the loads and stores of a checked kernel. The sanitizers'
// build (make sanitize) has none and leaves these cases out; one that is not marked and needs them is red there.
inline doctest::test_suite instrumented() { return {"instrumented"}; }

struct Outcome {
  cudaError_t launched{}, finished{};
  ExecReport report;
  const std::string& message() const { return report.message; }
  bool ok() const { return launched == cudaSuccess && finished == cudaSuccess && report.message.empty(); }
};

struct Launch {
  dim3 grid, block;
  std::size_t smem = 0;
  ExecOptions options{};
};

// Runs `thread` as the kernel "probe". Kernels here are lambdas that write into the test's own arrays: a
// block's threads never run at the same time, so only blocks need places of their own.
inline Outcome run(const Launch& launch, const std::function<void()>& thread) {
  take_exec_report();
  cudaGetLastError();
  cudaDeviceSynchronize();
  set_exec_options(launch.options);
  static const char identity = 0;
  Outcome outcome;
  outcome.launched = cpu::launch({"probe", &identity, launch.grid, launch.block, launch.smem}, thread);
  outcome.finished = cudaDeviceSynchronize();
  outcome.report = take_exec_report();
  set_exec_options({});
  return outcome;
}

// The same, for a kernel that must not fail.
inline Outcome runs(const Launch& launch, const std::function<void()>& thread) {
  Outcome outcome = run(launch, thread);
  REQUIRE_MESSAGE(outcome.ok(), outcome.message());
  return outcome;
}

inline ExecOptions in_order(Schedule schedule, std::uint64_t seed = 1, int workers = 1) {
  return {.schedule = schedule, .seed = seed, .workers = workers};
}

// Every schedule: what a correct kernel computes must not depend on it.
template <class Body>
void under_all_schedules(Body body) {
  for (const Schedule schedule : SCHEDULES)
    for (std::uint64_t seed = 1; seed <= (schedule == Schedule::random ? 3 : 1); ++seed) {
      CAPTURE(std::string(name(schedule)));
      CAPTURE(seed);
      body(in_order(schedule, seed));
    }
}

// " at FILE:LINE: ", the file being the caller's.
inline std::string at_line(int line, const char* file = __builtin_FILE()) {
  return std::string(" at ") + file + ":" + std::to_string(line) + ": ";
}

// Notes the line that a report must name, and does it.
#define HERE(line, ...) \
  do {                  \
    line = __LINE__;    \
    __VA_ARGS__;        \
  } while (false)

// The one finding of a failed launch, of the kind that the failure is, and pieces of its message.
template <class... Text>
void check_failed(const Outcome& outcome, cudaError_t error, Finding::Kind kind, const Text&... pieces) {
  CHECK(outcome.launched == cudaSuccess);
  CHECK_MESSAGE(outcome.finished == error, cudaGetErrorName(outcome.finished) << ": " << outcome.message());
  REQUIRE(outcome.report.findings.size() == 1);
  CHECK(outcome.report.findings[0].kind == kind);
  CHECK(outcome.report.findings[0].kernel == "probe");
  for (const std::string& piece : {std::string(pieces)...})
    CHECK(outcome.message().c_str() == doctest::Contains(piece.c_str()));
}

// A shared array of the block, as a kernel declares it: SHARED(half, tile, [8][64], 1024).
#define SHARED(type, name, extents, align) \
  struct Declares_##name {                 \
    alignas(align) type array extents;     \
  };                                       \
  auto& name = ::lab::plain::shared_variable<Declares_##name, type extents>(#name)

// mbarriers that thread 0 has initialised and all threads see.
template <std::size_t COUNT>
std::uint64_t* initialised(std::uint64_t (&all)[COUNT], unsigned arrivals = 1) {
  if (threadIdx.x == 0) {
    for (std::uint64_t& each : all) cpu::mbarrier_init(&each, arrivals);
    cpu::fence_mbarrier_init();
  }
  __syncthreads();
  return all;
}
#define AWAIT(barrier, parity) \
  do {                         \
  } while (!cpu::mbarrier_try_wait(barrier, parity))

}  // namespace lab
