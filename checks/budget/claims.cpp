// Prints "STAGE ARCHITECTURE", a line for each that a stage claims to compile for. Arguments: the architectures that
// nvcc knows. Exit status 2 and one line where a stage.conf is wrong.
#include <cstdio>

#include "common/gpu_fit.hpp"
#include "reference/bad_input.hpp"

int main(int argc, char** argv) try {
  const std::vector<std::string> known(argv + 1, argv + argc);
  for (const lab::StageNeeds& stage : lab::stages_in("stages"))
    for (const std::string& architecture : lab::claimed_architectures(stage, known))
      std::printf("%s %s\n", stage.stage.c_str(), architecture.c_str());
  return 0;
} catch (const lab::BadInput& e) {
  std::fprintf(stderr, "claims: %s\n", e.what());
  return 2;
}
