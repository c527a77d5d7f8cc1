// Launches that overlap: two problems of different lengths, each with tensors and a workspace of its own, launched so
// that their blocks run between each other's, then alone once more. What a launch leaves behind for another, such as a
// counter in a __device__ variable or a pointer kept on the host, makes one of them wrong.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checks/acceptance/acceptance.hpp"
#include "common/overlap.hpp"
#include "common/shape.hpp"

namespace lab {

// A problem that can be launched on any stream, again and again.
class Overlapping {
 public:
  virtual ~Overlapping() = default;
  virtual cudaError_t launch(cudaStream_t stream) = 0;
  virtual void poison() = 0;           // its outputs and its workspace
  virtual std::string wrong() = 0;     // about the last launch's outputs, in one line; "": they are right
  virtual double seconds() const = 0;  // that a GPU may take
};
using MakeOverlapping = std::function<std::unique_ptr<Overlapping>(const Shape& shape, std::uint64_t seed)>;

// A case's shape and the other problem's, which it is launched beside.
// `backward`: an oracle takes every gradient, so that no problem is long.
std::vector<Case> overlap_cases(std::uint64_t seed, bool backward = false);
CaseResult run_overlap_case(const Case& test, const MakeOverlapping& make);

// What went wrong, a line each; empty: nothing.
std::vector<std::string> overlapping_launches(const MakeOverlapping& make, const Shape& one, const Shape& other);

// The forward pass of the linked stage.
std::unique_ptr<Overlapping> overlapping_attention(const Shape& shape, std::uint64_t seed);

}  // namespace lab
