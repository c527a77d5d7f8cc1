// `lab run`: attention on tensors from files, with the linked stage.
#pragma once
#include <string>

namespace lab {

struct RunFiles {
  std::string q, k, v, out;  // paths of .npy files
  bool causal = false;
  float scale = 0;           // 0: 1/sqrt(D)
};

// Returns the exit status: 0, or 1 if the launch was refused or failed. Throws BadInput before anything runs.
// `out` is complete or untouched.
int run_files(const RunFiles& files);

}  // namespace lab
