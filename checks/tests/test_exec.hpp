// Shared by the tests of the execution: running a lambda as a kernel, under any schedule, and the text of a failure.
#pragma once
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "common/backend.hpp"
#include "common/cpu/instructions.h"
#include "common/cpu/plain_launch.h"
#include "common/emulator/launch.hpp"
#include "common/ptx/mbarrier.cuh"
#include "common/warp.cuh"

namespace lab {

inline constexpr unsigned FULL = FULL_WARP;

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
  dim3 cluster{1, 1, 1};
  const void* kernel = nullptr;  // whose attributes count
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
  outcome.launched = cpu::launch(
      {"probe", launch.kernel ? launch.kernel : &identity, launch.grid, launch.block, launch.smem, launch.cluster},
      thread);
  outcome.finished = cudaDeviceSynchronize();
  outcome.report = take_exec_report();
  set_exec_options({});
  return outcome;
}
inline Outcome run(dim3 grid, dim3 block, const std::function<void()>& thread) { return run({grid, block}, thread); }

// The same, for a kernel that must not fail.
inline Outcome runs(const Launch& launch, const std::function<void()>& thread) {
  Outcome outcome = run(launch, thread);
  REQUIRE_MESSAGE(outcome.ok(), outcome.message());
  return outcome;
}
inline Outcome runs(dim3 grid, dim3 block, const std::function<void()>& thread) { return runs({grid, block}, thread); }

inline ExecOptions in_order(Schedule schedule, std::uint64_t seed = 1, int workers = 1) {
  ExecOptions options;
  options.schedule = schedule, options.seed = seed, options.workers = workers;
  return options;
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

inline int lane_id() { return int(threadIdx.x % 32); }
inline int warp_id() { return int(threadIdx.x / 32); }

inline bool contains(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}
#define CHECK_CONTAINS(text, piece) CHECK_MESSAGE(contains(text, piece), "'" << (text) << "' lacks '" << (piece) << "'")
// " at FILE:LINE: ", the file being the caller's.
inline std::string at_line(int line, const char* file = __builtin_FILE()) {
  return std::string(" at ") + file + ":" + std::to_string(line) + ": ";
}

// "(FILE:LINE)", as a report of waiting threads has it.
inline std::string spot(int line, const char* file = __builtin_FILE()) {
  return "(" + std::string(file) + ":" + std::to_string(line) + ")";
}

// Notes the line that a report must name, and does it.
#define HERE(line, ...) \
  do {                  \
    line = __LINE__;    \
    __VA_ARGS__;        \
  } while (false)

// The one finding of a failed launch, of the kind that the failure is, and pieces of its message.
inline void check_finding(const Outcome& outcome, cudaError_t error, Finding::Kind kind,
                          std::initializer_list<std::string> pieces) {
  CHECK(outcome.launched == cudaSuccess);
  CHECK_MESSAGE(outcome.finished == error, cudaGetErrorName(outcome.finished) << ": " << outcome.message());
  REQUIRE(outcome.report.findings.size() == 1);
  CHECK(outcome.report.findings[0].kind == kind);
  CHECK(outcome.report.findings[0].kernel == "probe");
  for (const std::string& piece : pieces) CHECK_CONTAINS(outcome.message(), piece);
}
template <class... Text>
void check_failed(const Outcome& outcome, cudaError_t error, Finding::Kind kind, const Text&... pieces) {
  check_finding(outcome, error, kind, {std::string(pieces)...});
}

// A shared array of the block, as a kernel declares it: SHARED(half, tile, [8][64], 1024).
#define SHARED(type, name, extents, align) \
  struct Declares_##name {                 \
    alignas(align) type array extents;     \
  };                                       \
  auto& name = ::lab::plain::shared_variable<Declares_##name, type extents>(#name)

// mbarriers that thread 0 has initialised and all threads see.
template <std::size_t COUNT>
ptx::MBarrier* initialised(ptx::MBarrier (&all)[COUNT], unsigned arrivals = 1) {
  if (threadIdx.x == 0) {
    for (ptx::MBarrier& each : all) cpu::mbarrier_init(&each, arrivals);
    cpu::fence_mbarrier_init();
  }
  __syncthreads();
  return all;
}

// Device memory with a pattern in it.
inline unsigned char byte_at(std::size_t i) { return (unsigned char)(i * 7 + 1); }
struct Global {
  unsigned char* bytes = nullptr;
  explicit Global(std::size_t n) {
    REQUIRE(cudaMalloc(&bytes, n) == cudaSuccess);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = byte_at(i);
  }
  ~Global() { cudaFree(bytes); }
};

}  // namespace lab
