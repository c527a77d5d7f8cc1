// Lines of the tests' kernels, found by the comments that mark them.
#pragma once
#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace lab {

// The line of `kernel` in `kernels`, a file, that ends in the comment [mark].
inline int line_of(const std::string& kernel, const std::string& mark, const std::string& kernels) {
  std::ifstream file(kernels);
  REQUIRE_MESSAGE(file.good(), "run the tests from the repository's root: " << kernels << " is not there");
  bool inside = false;
  int number = 0, found = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.rfind("__global__ void ", 0) == 0) inside = line.find(" " + kernel + "(") != line.npos;
    if (!inside || line.find("// [" + mark + "]") == line.npos) continue;
    REQUIRE_MESSAGE(found == 0, "two lines of " << kernel << " are marked [" << mark << "]");
    found = number;
  }
  REQUIRE_MESSAGE(found != 0, "no line of " << kernel << " is marked [" << mark << "]");
  return found;
}

}  // namespace lab
