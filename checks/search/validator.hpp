// The checks that a candidate must pass before one of its times counts. Six guards: oracle, memory, determinism, stream, settings,
// roofline; writeups/extending.md says why each is there.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "checks/acceptance/subject.hpp"

namespace lab::search {

// Why a candidate is refused: the guard that caught it, or "launch", and what it saw.
struct Refused : std::runtime_error {
  Refused(const std::string& guard, const std::string& seen) : std::runtime_error(guard + ": " + seen) {}
};

// Calls of the candidate that run in one go: microseconds a call, or nothing where there is no clock to believe.
using Batch = std::function<std::optional<double>()>;

// The machine that runs the candidate (device.cpp).
class Device {
 public:
  virtual ~Device() = default;
  virtual cudaStream_t stream() = 0;
  virtual bool has_clock() const = 0;
  // N(0,1) times `factor`, plus `offset`; a hash of seed and index.
  virtual void fill(half* to, std::size_t size, std::uint64_t seed, float factor, float offset) = 0;
  // A number that changes with any bit of the tensor and its place.
  virtual std::uint64_t digest(const half* tensor, std::size_t size) = 0;
  // Gathers what `call(0)` to `call(calls - 1)` launch on stream(). Throws Refused, then or when it runs, where a call
  // launches nothing, or elsewhere.
  virtual Batch gather(int calls, const std::function<void(int)>& call) = 0;
  // The device settings that a candidate has changed, such as an L2 that keeps; "" if nothing.
  virtual std::string settings_changed() = 0;
};
std::unique_ptr<Device> make_device();

struct Plan {
  int calls = 16;       // timed together, each with inputs of its own
  int rounds = 9;       // of new inputs at new addresses
  int sampled = 16;     // rows of each timed call that the oracle computes
  int of_single = 256;  // rows of each single call
  std::uint64_t seed = 1;
};
// How many calls and rounds are good for a shape on this device.
Plan plan_for(const Shape& shape, const Device& device);

struct Passed {
  std::vector<double> us;  // a call, one figure a round; empty without a clock
  std::size_t calls_checked = 0, rows_checked = 0;
};

// No attention of this shape takes less time on any GPU that the lab knows.
double floor_us(const Shape& shape);

// Throws Refused.
Passed validate(Device& device, const Subject& candidate, const Shape& shape, const Plan& plan);

}  // namespace lab::search
