// Tensors between canaries: what they say of a write that should not have been; and the arguments of a launch.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "checks/acceptance/device_tensors.hpp"
#include "common/attention.hpp"

using namespace lab;

namespace {
void nothing() {}
}  // namespace

TEST_CASE("device tensors: the values come back, and a write past either end is damage") {
  std::vector<fp16> values;
  for (std::size_t i = 0; i < 100; ++i) values.push_back({std::uint16_t(i)});
  const DeviceTensor before(values), after(values);
  std::string damage = "old";
  CHECK(std::ranges::equal(before.fetch(damage), values));
  CHECK(damage == "");
  const half zero = 0.0f;
  cudaMemcpy(before.data() - 3, &zero, sizeof zero, cudaMemcpyHostToDevice);
  cudaMemcpy(after.data() + 100, &zero, sizeof zero, cudaMemcpyHostToDevice);
  CHECK(std::ranges::equal(before.fetch(damage), values));
  CHECK(damage == "3 elements before its start");
  before.fetch(damage), after.fetch(damage);
  CHECK(damage == "0 elements past its end");
}

TEST_CASE("arguments of a launch: an error that an older call has returned is not the launch's") {
  const DeviceTensor tensor(64);
  half* const t = tensor.data();
  REQUIRE(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, -1) != cudaSuccess);
  REQUIRE(cudaPeekAtLastError() != cudaSuccess);
  CHECK(check({t, t, t, t, {1, 1, 1, 64, false}}) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaSuccess);
}
