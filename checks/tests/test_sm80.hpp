// Running the kernels of test_sm80_kernels.cpp under the checker, and what its reports must name.
#pragma once
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "checks/tests/marked_line.hpp"
#include "checks/tests/test_sm80_kernels.hpp"
#include "common/backend.hpp"
#include "common/launch.cuh"

namespace lab::sm80_tests {

inline const std::string KERNELS = "checks/tests/test_sm80_kernels.cpp";

struct Run {
  const char* name;
  sm80_kernels::Kernel* kernel;
  unsigned threads;
  std::size_t smem;
};
#define SM80(kernel) #kernel, lab::sm80_kernels::kernel

inline std::vector<Finding> findings(const Run& run, const ExecOptions& chosen = {}) {
  take_exec_report();
  int* out = nullptr;
  const std::size_t bytes = run.threads * sizeof(int) + 16;
  REQUIRE(cudaMalloc(&out, bytes) == cudaSuccess);
  cudaMemset(out, 0, bytes);
  ExecOptions options = chosen;
  options.check = true;
  set_exec_options(options);
  const cudaError_t launched = launch(run.name, run.kernel, 1, run.threads, run.smem, nullptr, out);
  const cudaError_t finished = cudaDeviceSynchronize();
  set_exec_options({});
  const ExecReport report = take_exec_report();
  cudaFree(out);
  CHECK_MESSAGE(launched == cudaSuccess, report.message);
  CHECK_MESSAGE(finished == cudaSuccess, report.message);
  return report.findings;
}

inline std::string texts(const std::vector<Finding>& all) {
  std::string text;
  for (const Finding& f : all) text += f.text + "\n";
  return text;
}

template <class Body>
void under_all_options(Body body) {
  for (const Schedule schedule : {Schedule::ascending, Schedule::descending, Schedule::round_robin, Schedule::random})
    for (const Copies copies : {Copies::at_wait, Copies::at_issue})
      for (std::uint64_t seed = 1; seed <= (schedule == Schedule::random ? 4 : 1); ++seed) {
        ExecOptions options;
        options.schedule = schedule, options.copies = copies, options.seed = seed;
        CAPTURE(std::string(name(schedule)));
        CAPTURE(std::string(name(copies)));
        CAPTURE(seed);
        body(options);
      }
}

inline void silent(const Run& run) {
  under_all_options([&](const ExecOptions& options) {
    const auto found = findings(run, options);
    CHECK_MESSAGE(found.empty(), run.name << ":\n" << texts(found));
  });
}

// Under any schedule there is a race, and only between these two lines: which came first is the schedule's choice.
inline void races(const Run& run, Finding::Kind kind, const char* one, const char* other) {
  const int a = line_of(run.name, one, KERNELS), b = line_of(run.name, other, KERNELS);
  under_all_options([&](const ExecOptions& options) {
    const auto found = findings(run, options);
    CAPTURE(run.name);
    CAPTURE(texts(found));
    CHECK(!found.empty());
    for (const Finding& f : found) {
      CHECK(std::string(name(f.kind)) == std::string(name(kind)));
      CHECK(((f.first.line == a && f.second.line == b) || (f.first.line == b && f.second.line == a)));
      CHECK(f.second.file == KERNELS);
      CHECK(f.hazard == (f.first.write ? f.second.write ? "WAW" : "RAW" : "WAR"));
    }
  });
}

// The one finding, as ascending order shows it.
inline Finding only(const Run& run, const ExecOptions& options = {}) {
  const auto found = findings(run, options);
  CAPTURE(run.name);
  CAPTURE(texts(found));
  REQUIRE(found.size() == 1);
  return found[0];
}

struct Side {
  const char* mark;
  int warp, lane;
  bool write;
};
inline void check_side(const Run& run, const Finding::Access& access, const Side& side) {
  CHECK(access.valid);
  CHECK(access.file == KERNELS);
  CHECK(access.line == line_of(run.name, side.mark, KERNELS));
  CHECK(access.warp == side.warp);
  CHECK(access.lane == side.lane);
  CHECK(access.write == side.write);
}

}  // namespace lab::sm80_tests
