// `lab run`: attention on tensors from files, with the linked stage.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "reference/npy.hpp"

namespace lab {

struct RunFiles {
  std::string q, k, v, out;  // paths of .npy files
  bool causal = false;
  std::optional<float> scale;  // 1/sqrt(D) if not given
};

// The shape of a tensor that a stage can be given. Throws BadInput, as all three do.
Shape shape_of(const std::string& path, const NpyTensor& tensor);
// Where the result will go, links followed so that it replaces what they point to.
std::string writable_target(const std::string& out);
// A note for each input with NaN or infinities.
void tell_non_finite(std::initializer_list<std::pair<const char*, const NpyTensor*>> inputs);

// Returns the exit status: 0, or 1 if the launch was refused or failed. Throws BadInput for files and shapes
// that can't be used. `out` is written whole, and only after a good launch.
int run_files(const RunFiles& files);

}  // namespace lab
