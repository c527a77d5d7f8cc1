// `lab run`: attention on tensors from files, with the linked stage.
#pragma once
#include <optional>
#include <string>

namespace lab {

struct RunFiles {
  std::string q, k, v, out;  // paths of .npy files
  bool causal = false;
  std::optional<float> scale;  // 1/sqrt(D) if not given
};

// Returns the exit status: 0, or 1 if the launch was refused or failed. Throws BadInput for files and shapes
// that can't be used. `out` is written whole, and only after a good launch.
int run_files(const RunFiles& files);

}  // namespace lab
