// CUDA on the CPU: shared memory, faults, stacks, allocations, cp.async.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "checks/tests/instrumented.hpp"
#include "checks/tests/test_exec.hpp"
#include "common/emulator/shared_memory.hpp"
#include "common/smem_plan.cuh"

using namespace lab;

// --- shared memory -------------------------------------------------------------------------------

TEST_CASE("exec: shared memory is NaN, as fp32 and as fp16, at the start of every block") {
  constexpr int BLOCKS = 5, FLOATS = 300, HALVES = 500;
  for (const bool gaps : {false, true}) {
    int fresh[BLOCKS] = {};
    ExecOptions options = in_order(Schedule::ascending, 1, 2);
    options.gaps = gaps;
    runs({BLOCKS, 32, smem_bytes(FLOATS, 4) + smem_bytes(HALVES, 2), options}, [&] {
      SmemCursor cursor;
      float* floats = cursor.array<float>("floats", FLOATS, 1);
      half* halves = cursor.array<half>("halves", HALVES / 50, 50);
      LAB_SHARED(half, fixed, [16][24]);
      __syncwarp();
      if (threadIdx.x == 0) {
        for (int i = 0; i < FLOATS; ++i) fresh[blockIdx.x] += std::isnan(floats[i]);
        for (int i = 0; i < HALVES; ++i) fresh[blockIdx.x] += std::isnan(__half2float(halves[i]));
        for (int i = 0; i < 16 * 24; ++i) fresh[blockIdx.x] += std::isnan(__half2float(fixed[i / 24][i % 24]));
        for (int i = 0; i < FLOATS; ++i) floats[i] = 1.0f;  // what the next block must not find
        for (int i = 0; i < HALVES; ++i) halves[i] = half(1.0f);
        for (int i = 0; i < 16 * 24; ++i) fixed[i / 24][i % 24] = half(1.0f);
      }
    });
    for (const int count : fresh) CHECK(count == FLOATS + HALVES + 16 * 24);
  }
}

TEST_CASE("exec: all threads carve the same arrays, one after the other, on 32-byte boundaries") {
  constexpr std::size_t A = smem_bytes(7 * 9, 2), B = smem_bytes(13, 4);
  static_assert(A == 128 && B == 64);
  for (const bool gaps : {false, true}) {
    std::set<void*> first, second;
    std::ptrdiff_t apart = 0;
    ExecOptions options = in_order(Schedule::descending);
    options.gaps = gaps;
    runs({1, 64, A + B, options}, [&] {
      SmemCursor cursor;
      half* a = cursor.array<half>("a", 7, 9);
      float* b = cursor.array<float>("b", 13, 1);
      first.insert(a);
      second.insert(b);
      apart = reinterpret_cast<char*>(b) - reinterpret_cast<char*>(a);
    });
    CHECK(first.size() == 1);
    CHECK(second.size() == 1);
    CHECK(reinterpret_cast<std::uintptr_t>(*first.begin()) % 128 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(*second.begin()) % 32 == 0);
    if (gaps)
      CHECK(std::size_t(apart) >= A + 16 * 9 * 2);
    else
      CHECK(std::size_t(apart) == A);
  }
}

TEST_CASE("exec: a write outside the request is reported even without the checker") {
  const auto write_at = [](std::ptrdiff_t where, int blocks = 1) {
    return run({blocks, 32, 64 + 160}, [=] {
      SmemCursor cursor;
      unsigned char* bytes = cursor.array<unsigned char>("bytes", 64, 1);
      cursor.array<float>("rows", 10, 4);
      if (threadIdx.x == 5) bytes[where] = 1;
    });
  };
  CHECK(write_at(0).ok());
  CHECK(write_at(223).ok());
  for (const std::ptrdiff_t outside : {224, 225, 1000, 40000, -1, -500}) {
    CAPTURE(outside);
    const Outcome outcome = write_at(outside, 3);
    check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::out_of_bounds);
    CHECK_CONTAINS(outcome.message(), "probe: block 0: 1 B written outside the request");
  }
  CHECK_CONTAINS(write_at(224).message(), "rows[10][0]");
}

// --- memory faults -------------------------------------------------------------------------------

TEST_CASE("exec: memory that is not there" * faults()) {
  int* buffer = nullptr;
  REQUIRE(cudaMalloc(&buffer, 1000 * sizeof(int)) == cudaSuccess);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer) % 256 == 0);
  volatile int out = 0;
  int line = 0;
  const auto go = [&](std::ptrdiff_t at, bool null, bool write) {
    return run({dim3(3, 2), 64}, [&, at, null, write] {
      if (blockIdx.x != 1 || blockIdx.y != 1 || threadIdx.x != 35) return;
      volatile int* p = (null ? nullptr : buffer) + at;
      if (write) {
        HERE(line, *p = 1);
      } else {
        HERE(line, out = *p);
      }
    });
  };
  CHECK(go(999, false, true).ok());
  CHECK(go(999, false, false).ok());
  for (const bool write : {false, true}) {
    Outcome outcome = go(5000, false, write);
    check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::fault);
    CHECK_CONTAINS(outcome.message(),
                   "probe: block (1,1,0) warp 1 lane 3" + at_line(line) + "memory fault at address 0x");
    CHECK_CONTAINS(outcome.message(), "(16000 B past the end of a buffer of 4000 B)");
    CHECK(outcome.report.findings[0].second.line == line);

    outcome = go(-10, false, write);
    check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::fault);

    outcome = go(2, true, write);
    check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::fault,
                 "probe: block (1,1,0) warp 1 lane 3" + at_line(line) + "memory fault at address 0x8 (");
  }
  CHECK(cudaFree(buffer) == cudaSuccess);
  const Outcome outcome = go(0, false, false);  // after cudaFree
  check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::fault);
}

namespace {
// Half a KiB of stack a level.
[[gnu::noinline]] int dig(int levels) {
  volatile char here[512];
  here[0] = char(levels);
  return levels ? dig(levels - 1) + here[0] : here[0];
}
}  // namespace

TEST_CASE("exec: a fiber's stack that overflows" * faults()) {
  for (const int thread : {0, 1, 33, 63}) {
    CAPTURE(thread);
    int out = 0;
    const Outcome outcome = run({dim3(2), 64}, [&] {
      __syncthreads();
      if (int(threadIdx.x) == thread && blockIdx.x == 1) out += dig(1000);
      __syncthreads();
    });
    check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::fault,
                 "probe: block (1,0,0) warp " + std::to_string(thread / 32) + " lane " + std::to_string(thread % 32) +
                     at_line(0).substr(0, 4 + std::string(__FILE__).size()),
                 "stack", "overflowed");
    CHECK(run({1, 64}, [&] { __syncthreads(); }).ok());
  }
  int out = 0;
  CHECK(run({1, 1024}, [&] { out += dig(40); }).ok());  // 20 KiB are there for every thread
}

TEST_CASE("exec: cudaMalloc and cudaFree") {
  void* p = &p;
  CHECK(cudaMalloc(&p, 0) == cudaSuccess);
  CHECK(p == nullptr);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  CHECK(cudaMalloc(&p, std::size_t(1) << 50) == cudaErrorMemoryAllocation);
  std::vector<char*> buffers(20);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    REQUIRE(cudaMalloc(&buffers[i], 1 + 997 * i) == cudaSuccess);
    CHECK(cudaMemset(buffers[i], int(i), 1 + 997 * i) == cudaSuccess);
  }
  for (std::size_t i = 0; i < buffers.size(); i += 2) CHECK(cudaFree(buffers[i]) == cudaSuccess);
  char* reused = nullptr;
  REQUIRE(cudaMalloc(&reused, 3000) == cudaSuccess);
  cudaMemset(reused, 99, 3000);
  for (std::size_t i = 1; i < buffers.size(); i += 2) {
    std::vector<char> host(1 + 997 * i);
    CHECK(cudaMemcpy(host.data(), buffers[i], host.size(), cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(host == std::vector<char>(host.size(), char(i)));
    CHECK(cudaFree(buffers[i]) == cudaSuccess);
  }
  CHECK(cudaFree(reused) == cudaSuccess);
  CHECK(cudaFree(reused) == cudaErrorInvalidValue);
  // Whoever keeps a pointer beyond cudaFree is not to find the next buffer there.
  char* next = nullptr;
  REQUIRE(cudaMalloc(&next, 3000) == cudaSuccess);
  CHECK(next != reused);
  CHECK(cudaFree(next) == cudaSuccess);
}

// --- cp.async ------------------------------------------------------------------------------------

namespace {
template <class Body>
void in_both_copy_modes(Body body) {
  for (const Copies copies : {Copies::at_wait, Copies::at_issue}) {
    CAPTURE(std::string(name(copies)));
    ExecOptions options = in_order(Schedule::ascending);
    options.copies = copies;
    body(options);
  }
}
}  // namespace

TEST_CASE("exec: cp.async of 4, 8 and 16 bytes, and what it fills with zeros") {
  const Global global(4096);
  in_both_copy_modes([&](const ExecOptions& options) {
    for (const std::size_t bytes : {4, 8, 16})
      for (const std::size_t zeros : {std::size_t(0), std::size_t(1), bytes / 2, bytes}) {
        std::vector<unsigned char> got(32 * 16);
        runs({1, 32, 512, options}, [&] {
          SmemCursor cursor;
          unsigned char* s = cursor.array<unsigned char>("s", 32, 16);
          __pipeline_memcpy_async(s + 16 * threadIdx.x, global.bytes + 64 * threadIdx.x, bytes, zeros);
          __pipeline_commit();
          __pipeline_wait_prior(0);
          std::memcpy(&got[16 * threadIdx.x], s + 16 * threadIdx.x, 16);
        });
        for (std::size_t i = 0; i < 512; ++i) {
          const std::size_t in_copy = i % 16;
          const int expected = in_copy >= bytes ? 0xFF : in_copy >= bytes - zeros ? 0 : byte_at(i / 16 * 64 + in_copy);
          CHECK(int(got[i]) == expected);
        }
      }
  });
}

TEST_CASE("exec: groups complete in order, at the wait, or at the issue") {
  const Global global(4096);
  in_both_copy_modes([&](const ExecOptions& options) {
    int arrived[8][6] = {};  // after each step: which of the copies are there
    runs({1, 1, 96, options}, [&] {
      SmemCursor cursor;
      unsigned char* s = cursor.array<unsigned char>("s", 6, 16);
      const auto look = [&](int step) {
        asm volatile("" ::: "memory");
        for (int i = 0; i < 6; ++i) arrived[step][i] = s[16 * i + 3] == byte_at(std::size_t(16 * i + 3));
      };
      const auto copy = [&](int i) { __pipeline_memcpy_async(s + 16 * i, global.bytes + 16 * i, 16); };
      copy(0), copy(1);
      __pipeline_commit();  // group 0: 0, 1
      copy(2);
      __pipeline_commit();  // group 1: 2
      __pipeline_commit();  // group 2: empty, and it counts
      copy(3);
      __pipeline_commit();  // group 3: 3
      copy(4);              // in no group yet
      look(0);
      __pipeline_wait_prior(4), look(1);
      __pipeline_wait_prior(3), look(2);
      __pipeline_wait_prior(2), look(3);
      __pipeline_wait_prior(1), look(4);
      __pipeline_wait_prior(0), look(5);
      __pipeline_commit();
      copy(5);
      __pipeline_wait_prior(1), look(6);
      __pipeline_wait_prior(0), look(7);
    });
    const int deferred[8][6] = {{0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {1, 1, 0, 0, 0, 0}, {1, 1, 1, 0, 0, 0},
                                {1, 1, 1, 0, 0, 0}, {1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 1, 0}};
    for (int step = 0; step < 8; ++step)
      for (int i = 0; i < 6; ++i) {
        CAPTURE(step);
        CAPTURE(i);
        if (options.copies == Copies::at_issue)
          CHECK(arrived[step][i] == (i < 5 || step >= 6));
        else
          CHECK(arrived[step][i] == deferred[step][i]);
      }
  });
}

TEST_CASE("exec: a cp.async from an address that is not there" * faults()) {
  const Global global(64);
  in_both_copy_modes([&](const ExecOptions& options) {
    const Outcome outcome = run({1, 64, 32, options}, [&] {
      SmemCursor cursor;
      unsigned char* s = cursor.array<unsigned char>("s", 16, 1);
      if (threadIdx.x != 63) return;
      __pipeline_memcpy_async(s, global.bytes + 8192, 16);
      __pipeline_commit();
      __pipeline_wait_prior(0);
    });
    check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::fault, "probe: block (0,0,0) warp 1 lane 31",
                 "8128 B past the end of a buffer of 64 B");
  });
}
