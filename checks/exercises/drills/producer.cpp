// Inputs of `producer`, and the right answer: a 64 x 64 product; which warp asks, and that products overlap.
#include <string>

#include "checks/exercises/drills/drill.hpp"

__global__ void mechanism(lab::TensorMap a, lab::TensorMap b, int steps, float* out);

namespace {

constexpr int CONSUMERS = 4;

std::string what_is_wrong(int steps, std::span<const lab::ExecEvent> events) {
  if (const std::string wrong = lab::asked_elsewhere(events, CONSUMERS); !wrong.empty()) return wrong;
  return too_little(lab::overlap_of(events), steps - 1, "step");
}

lab::Drill of(int steps) {
  lab::Drill d;
  d.name = lab::number_of(steps, "step");
  const std::size_t K = 64 * std::size_t(steps), matrix = 64 * K;
  d.in = lab::small_numbers(2 * matrix);
  multiply(d, 64, 64, K, true);
  d.start = [steps, K, matrix](const half* in, float* out) {
    const lab::TensorShape tensor = lab::matrix_of(64, K, 64, 64);
    return lab::with_map(in, tensor, [&](lab::TensorMap a) {
      return lab::with_map(in + matrix, tensor, [&](lab::TensorMap b) {
        return start(mechanism, {160, 6 * 64 * 64 * sizeof(half) + 192}, std::move(a), std::move(b), steps, out);
      });
    });
  };
  d.order = [steps](std::span<const lab::ExecEvent> events) { return what_is_wrong(steps, events); };
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() { return {of(1), of(5)}; }
