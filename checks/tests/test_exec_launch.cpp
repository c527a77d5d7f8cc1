// CUDA on the CPU: launch limits, attributes, error codes and who clears them.

#include "checks/tests/test_exec.hpp"
#include "common/emulator/shared_memory.hpp"
#include "common/launch.cuh"
#include "common/smem_plan.cuh"

using namespace lab;

// --- launch limits and error codes ---------------------------------------------------------------

TEST_CASE("exec: launches that CUDA refuses") {
  const auto refused = [](dim3 grid, dim3 block, const std::string& piece) {
    bool ran = false;
    const Outcome outcome = run({grid, block}, [&] { ran = true; });
    CHECK(outcome.launched == cudaErrorInvalidConfiguration);
    CHECK(outcome.finished == cudaSuccess);
    CHECK_FALSE(ran);
    CHECK_CONTAINS(outcome.message(), "probe: ");
    CHECK_CONTAINS(outcome.message(), piece);
    CHECK(outcome.report.blocks_run == 0u);
  };
  refused(dim3(0), dim3(32), "(0,1,1)");
  refused(dim3(1, 0), dim3(32), "(1,0,1)");
  refused(dim3(1, 1, 0), dim3(32), "(1,1,0)");
  refused(dim3(1), dim3(0), "(0,1,1)");
  refused(dim3(1), dim3(1025), "1025 threads");
  refused(dim3(1), dim3(32, 33), "1056 threads");
  refused(dim3(1), dim3(1, 1, 65), "(1,1,65)");
  refused(dim3(1), dim3(65536, 65536), "(65536,65536,1)");  // 2^32 threads: no wrap-around
  refused(dim3(1, 65536), dim3(1), "(1,65536,1)");
  refused(dim3(1, 1, 65536), dim3(1), "(1,1,65536)");
  refused(dim3(2147483648u), dim3(1), "(2147483648,1,1)");
}

namespace {
__global__ void empty_kernel() {}
__global__ void other_kernel() { blockDim.x == 0 ? __trap() : void(); }
__global__ void last_byte(int* out) {
  auto* bytes = SmemCursor().array<unsigned char>("bytes", 101376, 1);
  bytes[101375] = 7;
  *out = bytes[101375];
}
}  // namespace

TEST_CASE("exec: dynamic shared memory, without and with the opt-in") {
  take_exec_report();
  const auto told = [](std::initializer_list<const char*> pieces) {
    const std::string message = take_exec_report().message;
    for (const char* piece : pieces) CHECK_CONTAINS(message, piece);
    cudaGetLastError();
  };
  const auto go = [](auto* kernel, std::size_t smem) { return launch("empty_kernel", kernel, 1, 32, smem, nullptr); };
  CHECK(go(empty_kernel, 0) == cudaSuccess);
  CHECK(go(empty_kernel, 49152) == cudaSuccess);
  CHECK(take_exec_report().message.empty());

  CHECK(go(empty_kernel, 49153) == cudaErrorInvalidValue);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(int(cudaGetLastError()) == 1);
  told({"empty_kernel: invalid argument", "49153", "49152"});

  REQUIRE(opt_in_smem("empty_kernel", empty_kernel, 101376) == cudaSuccess);
  CHECK(go(empty_kernel, 101376) == cudaSuccess);
  CHECK(go(other_kernel, 49153) == cudaErrorInvalidValue);  // the attribute is one kernel's
  told({});

  CHECK(go(empty_kernel, 101377) == cudaErrorInvalidConfiguration);
  told({"101377", "101376"});

  CHECK(opt_in_smem("empty_kernel", empty_kernel, 101377) == cudaErrorInvalidConfiguration);
  told({"101377", "101376"});
  CHECK(cudaFuncSetAttribute(empty_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 101377) ==
        cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(empty_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, -1) == cudaErrorInvalidValue);
  told({});

  // An attribute can be lowered, too.
  REQUIRE(opt_in_smem("empty_kernel", empty_kernel, 1000) == cudaSuccess);
  CHECK(go(empty_kernel, 1001) == cudaErrorInvalidValue);
  told({"1001 B", "1000 B"});

  int out = 0;
  REQUIRE(opt_in_smem("last_byte", last_byte, 101376) == cudaSuccess);
  CHECK(launch("last_byte", last_byte, 1, 1, 101376, nullptr, &out) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(out == 7);
  take_exec_report();
}

TEST_CASE("exec: who returns an error, and who clears it") {
  take_exec_report();
  cudaGetLastError();
  const auto refused = [] { return launch("empty_kernel", other_kernel, dim3(0), 32, 0, nullptr); };
  CHECK(refused() == cudaErrorInvalidConfiguration);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaPeekAtLastError() == cudaSuccess);

  // Inside a kernel: the launch succeeds, the next synchronisation tells it once, and the next launch works.
  for (const bool stream : {false, true}) {
    CHECK(launch(
              "trapping", +[] { __trap(); }, 1, 32, 0, nullptr) == cudaSuccess);
    CHECK((stream ? cudaStreamSynchronize(nullptr) : cudaDeviceSynchronize()) == cudaErrorLaunchFailure);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(launch("empty_kernel", other_kernel, 1, 32, 0, nullptr) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
  }
  CHECK_CONTAINS(take_exec_report().message, "trapping: block (0,0,0) warp 0 lane 0");
  CHECK(take_exec_report().message.empty());  // the report was handed over
}
