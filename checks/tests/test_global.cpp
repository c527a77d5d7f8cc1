// Global memory between blocks: atomicAdd, the order of blocks, and the checker's reports of two blocks at one element.
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "checks/tests/instrumented.hpp"
#include "checks/tests/test_global_kernels.hpp"
#include "common/backend.hpp"
#include "common/launch.cuh"

namespace {
using namespace lab;
namespace kernels = lab::global_kernels;

const std::string KERNELS = "checks/tests/test_global_kernels.cpp";
constexpr unsigned BLOCKS = 3, THREADS = 32;
constexpr std::size_t FLOATS = 1 + BLOCKS * THREADS;

// The line of `kernel` in `kernels`, a file, that ends in the comment [mark].
int line_of(const std::string& kernel, const std::string& mark, const std::string& kernels) {
  std::ifstream file(kernels);
  REQUIRE_MESSAGE(file.good(), "run the tests from the repository's root: " << kernels << " is not there");
  bool inside = false;
  int number = 0, found = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.rfind("__global__ void ", 0) == 0) inside = line.find(" " + kernel + "(") != line.npos;
    if (!inside || line.find("// [" + mark + "]") == line.npos) continue;
    REQUIRE_MESSAGE(found == 0, "two lines of " << kernel << " are marked [" << mark << "]");
    found = number;
  }
  REQUIRE_MESSAGE(found != 0, "no line of " << kernel << " is marked [" << mark << "]");
  return found;
}

struct Seen {
  std::vector<float> out;
  std::vector<Finding> findings;
};

// A launch of each, one after the other.
Seen run(const std::vector<kernels::Kernel*>& launched, ExecOptions options = {}) {
  take_exec_report();
  float* out = nullptr;
  REQUIRE(cudaMalloc(&out, FLOATS * sizeof(float)) == cudaSuccess);
  cudaMemset(out, 0, FLOATS * sizeof(float));
  options.workers = 1;
  set_exec_options(options);
  for (kernels::Kernel* const kernel : launched)
    CHECK(launch("kernel", kernel, BLOCKS, THREADS, 0, nullptr, out) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  set_exec_options({});
  Seen seen{std::vector<float>(FLOATS), take_exec_report().findings};
  cudaMemcpy(seen.out.data(), out, FLOATS * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(out);
  return seen;
}

Seen run(kernels::Kernel* kernel, ExecOptions options = {}) { return run(std::vector{kernel}, options); }

ExecOptions checked(std::uint64_t order = 0) {
  ExecOptions options;
  options.check = true, options.block_order = order;
  return options;
}

// Under every order of three blocks that the seeds give, what is found is an inter-block race on these two lines.
void broken(kernels::Kernel* kernel, const char* name, const std::set<std::string>& markers) {
  CAPTURE(std::string(name));
  std::set<int> lines;
  for (const std::string& marker : markers) lines.insert(line_of(name, marker, KERNELS));
  for (std::uint64_t order = 0; order < 8; ++order) {
    CAPTURE(order);
    const Seen seen = run(kernel, checked(order));
    REQUIRE_FALSE(seen.findings.empty());
    for (const Finding& f : seen.findings) {
      CHECK(f.kind == Finding::Kind::race_inter_block);
      CHECK(lines.contains(f.first.line));
      CHECK(lines.contains(f.second.line));
      CHECK(f.text.find("inter-block race") != f.text.npos);
      CHECK(f.text.find("nothing orders the blocks of a launch") != f.text.npos);
    }
  }
}
#define BROKEN(kernel, ...) broken(kernels::kernel, #kernel, {__VA_ARGS__})

TEST_SUITE("global memory") {
  TEST_CASE("atomicAdd and add4 add once for each block and element") {
    for (const auto kernel : {kernels::atomic_sums, kernels::sums_of_four})
      for (std::uint64_t order = 0; order < 4; ++order) {
        ExecOptions options;
        options.block_order = order;
        const Seen seen = run(kernel, options);
        for (unsigned i = 0; i < THREADS; ++i) CHECK(seen.out[i] == 7.0f);
        CHECK(seen.out[THREADS] == 0.0f);
      }
  }

  TEST_CASE("atomicAdd takes subnormal numbers for zero") {
    const Seen seen = run(kernels::flushed_sum);
    // The last block finds zero: each has added 2^-126 and taken away half as much again.
    CHECK(seen.out[0] == 0.0f);
    CHECK(seen.out[1] == 0.0f);
    CHECK(seen.out[8] == 0.0f);
  }

  TEST_CASE("blocks start in the order that is asked for") {
    const auto last = [](std::uint64_t order) {
      ExecOptions options;
      options.block_order = order;
      return run(kernels::written_twice, options).out[5];
    };
    CHECK(last(0) == 2.0f);
    CHECK(last(1) == 0.0f);
    std::set<float> lasts;
    for (std::uint64_t order = 2; order < 12; ++order) {
      CHECK(last(order) == last(order));
      lasts.insert(last(order));
    }
    CHECK(lasts == std::set{0.0f, 1.0f, 2.0f});
    ExecOptions sampled;  // of a sample of blocks too
    sampled.blocks = {0, 1}, sampled.block_order = 1;
    CHECK(run(kernels::written_twice, sampled).out[5] == 0.0f);
  }

  TEST_CASE("what blocks may do to global memory" * instrumented()) {
    for (std::uint64_t order = 0; order < 4; ++order)
      for (kernels::Kernel* kernel : {kernels::own_elements, kernels::own_halves, kernels::all_read,
                                      kernels::atomic_sums, kernels::sums_of_four, kernels::read_after_own_write}) {
        const Seen seen = run(kernel, checked(order));
        CHECK_MESSAGE(seen.findings.empty(), seen.findings.front().text);
      }
    // Launches are ordered: a second one may read and write what the first wrote.
    const std::vector<kernels::Kernel*> zeroed_added_read = {kernels::own_elements, kernels::atomic_sums,
                                                             kernels::all_read, kernels::own_elements};
    for (std::uint64_t order = 0; order < 4; ++order) CHECK(run(zeroed_added_read, checked(order)).findings.empty());
  }

  TEST_CASE("what they may not" * instrumented()) {
    BROKEN(written_twice, "write");
    BROKEN(plain_sum, "sum");
    BROKEN(plain_over_atomic, "atomic", "write");
    BROKEN(zeroed_by_one, "zero", "atomic");
    BROKEN(read_of_a_sum, "atomic", "read");
    BROKEN(read_of_another, "write", "read");
    BROKEN(read_then_written, "read", "write");
    const std::string sum = run(kernels::zeroed_by_one, checked()).findings.at(0).text;
    CHECK_MESSAGE(sum.find("this one is atomic, it is not") != sum.npos, sum);
  }
}

}  // namespace
