// Tensors between canaries: what they say of a write that should not have been.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "checks/acceptance/device_tensors.hpp"

namespace {

using namespace lab;

std::vector<fp16> counted(std::size_t count) {
  std::vector<fp16> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back({std::uint16_t(i)});
  return values;
}

TEST_CASE("device tensors: one changed element shows, wherever it is") {
  const std::vector<fp16> values = counted(1000);
  const DeviceTensor other(counted(5000)), tensor(values);
  std::string damage = "old";
  CHECK(tensor.holds(values, damage));
  CHECK(damage == "");
  CHECK(tensor.download() == values);
  CHECK(!tensor.holds(counted(999), damage));
  for (const std::size_t at : {0, 500, 999}) {
    std::vector<fp16> changed = values;
    changed[at].bits ^= 1;
    CHECK(!tensor.holds(changed, damage));
    CHECK(damage == "");
  }
  CHECK(other.download() == counted(5000));
}

TEST_CASE("device tensors: a write past either end is damage") {
  const std::vector<fp16> values = counted(100);
  std::string damage;
  const DeviceTensor before(values), after(values);
  const half zero = 0.0f;
  cudaMemcpy(before.data() - 3, &zero, sizeof zero, cudaMemcpyHostToDevice);
  CHECK(before.holds(values, damage));
  CHECK(damage == "3 elements before its start");
  cudaMemcpy(after.data() + 100, &zero, sizeof zero, cudaMemcpyHostToDevice);
  CHECK(after.download(damage) == values);
  CHECK(damage == "0 elements past its end");
}

}  // namespace
