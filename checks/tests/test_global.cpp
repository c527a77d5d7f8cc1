// Global memory between blocks: atomicAdd, the order of blocks, semaphores (kernels of test_global_kernels.cpp).
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "checks/tests/checked.hpp"
#include "checks/tests/instrumented.hpp"
#include "common/backend.hpp"
#include "common/launch.cuh"

namespace {
using namespace lab;

constexpr unsigned BLOCKS = 3, THREADS = 32;

std::vector<float> floats_of(const char* kernel, ExecOptions options = {}) {
  if (!options.workers) options.workers = 1;
  const std::vector<int> out = checked::run(checked::kernel(kernel), {}, options).out;
  std::vector<float> floats(out.size());
  std::memcpy(floats.data(), out.data(), out.size() * sizeof(int));
  return floats;
}

ExecOptions in_order_of_blocks(std::uint64_t order) {
  ExecOptions options;
  options.block_order = order;
  return options;
}

TEST_SUITE("global memory") {
  TEST_CASE("atomicAdd and add4 add once for each block and element") {
    for (const char* kernel : {"atomic_sums", "sums_of_four"})
      for (std::uint64_t order = 0; order < 4; ++order) {
        const std::vector<float> out = floats_of(kernel, in_order_of_blocks(order));
        for (unsigned i = 0; i < THREADS; ++i) CHECK(out[i] == 7.0f);
        CHECK(out[THREADS] == 0.0f);
      }
  }

  TEST_CASE("atomicAdd on a whole number gives each caller a number of its own") {
    for (std::uint64_t order = 0; order < 4; ++order) {
      const std::vector<float> out = floats_of("atomic_tickets", in_order_of_blocks(order));
      for (unsigned number = 0; number < 16; ++number) CHECK(out[1 + number] == 1.0f);
      unsigned drawn;
      std::memcpy(&drawn, &out[0], sizeof drawn);
      CHECK(drawn == 3 * THREADS);
    }
  }

  TEST_CASE("atomicAdd takes subnormal numbers for zero") {
    const std::vector<float> out = floats_of("flushed_sum");
    // The last block finds zero: each has added 2^-126 and taken away half as much again.
    CHECK((out[0] == 0.0f && out[1] == 0.0f && out[8] == 0.0f));
  }

  TEST_CASE("blocks start in the order that is asked for") {
    const auto last = [](std::uint64_t order) { return floats_of("written_twice", in_order_of_blocks(order))[5]; };
    CHECK(last(0) == 2.0f);
    CHECK(last(1) == 0.0f);
    std::set<float> lasts;
    for (std::uint64_t order = 2; order < 12; ++order) {
      CHECK(last(order) == last(order));
      lasts.insert(last(order));
    }
    CHECK(lasts == std::set{0.0f, 1.0f, 2.0f});
    ExecOptions sampled = in_order_of_blocks(1);  // of a sample of blocks too
    sampled.blocks = {0, 1};
    CHECK(floats_of("written_twice", sampled)[5] == 0.0f);
  }

  TEST_CASE("a semaphore puts blocks in order, in whatever order they start") {
    const auto in_turn = [](const char* kernel, const ExecOptions& options) {
      const std::vector<float> out = floats_of(kernel, options);
      return std::vector(out.begin() + 1, out.begin() + 1 + BLOCKS) == std::vector{0.0f, 1.0f, 2.0f};
    };
    bool passed_first_shows = false;
    for (const Schedule schedule : {Schedule::ascending, Schedule::round_robin, Schedule::random})
      for (std::uint64_t order = 0; order < 8; ++order) {
        ExecOptions options = in_order_of_blocks(order);
        options.schedule = schedule;
        passed_first_shows |= !in_turn("turn_passed_first", options);
        for (options.workers = 1; options.workers <= 3; ++options.workers)
          CHECK_MESSAGE(in_turn("by_turns", options), int(schedule) << " " << order << " " << options.workers);
      }
    CHECK(passed_first_shows);
  }

  TEST_CASE("without room for a second block, one that waits for a later one never ends") {
    for (std::uint64_t order = 0; order < 2; ++order) {
      ExecOptions options = in_order_of_blocks(order);
      options.crowded = true, options.workers = 1;
      const checked::Done done = checked::run(checked::kernel("by_turns"), {}, options);
      CHECK(done.report.hang.deadlock == (order == 1));
    }
  }

  TEST_CASE("a semaphore that is never raised is a deadlock, and says where") {
    for (int workers = 1; workers <= 3; ++workers) {
      ExecOptions options;
      options.workers = workers;
      const checked::Done done = checked::run(checked::kernel("turn_never_comes"), {}, options);
      CHECK(done.error == cudaErrorLaunchTimeout);
      REQUIRE(done.report.hang.deadlock);
      CHECK(done.report.hang.waits.at(0).at == Wait::At::semaphore);
      CHECK(done.report.hang.waits.at(0).line == checked::place_of(checked::kernel("turn_never_comes"), "turn").line);
      CHECK(done.report.message.find("a semaphore to be 1, which is 0") != std::string::npos);
    }
  }

  TEST_CASE("a launch may read and write what the one before wrote" * instrumented()) {
    int* out = nullptr;
    REQUIRE(cudaMalloc(&out, BLOCKS * THREADS * sizeof(int)) == cudaSuccess);
    ExecOptions options;
    options.check = true, options.workers = 1;
    for (options.block_order = 0; options.block_order < 4; ++options.block_order) {
      take_exec_report();
      set_exec_options(options);
      for (const char* kernel : {"own_elements", "atomic_sums", "all_read", "own_elements"})
        CHECK(launch(kernel, checked::kernel(kernel).kernel, BLOCKS, THREADS, 0, nullptr,
                     static_cast<const checked::Maps*>(nullptr), out) == cudaSuccess);
      CHECK(cudaDeviceSynchronize() == cudaSuccess);
      set_exec_options({});
      CHECK(take_exec_report().findings.empty());
    }
    cudaFree(out);
  }

  TEST_CASE("a report says which of two accesses is atomic" * instrumented()) {
    ExecOptions options;
    options.check = true, options.workers = 1;
    const checked::Done done = checked::run(checked::kernel("zeroed_by_one"), {}, options);
    CHECK_MESSAGE(done.text().find("this one is atomic, it is not") != std::string::npos, done.text());
  }
}

}  // namespace
