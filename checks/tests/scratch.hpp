// A path for a test's files, of this process alone: two runs of the unit tests on one machine must not share one.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <string>

namespace lab {

inline std::string scratch_path(const std::string& name) {
  return std::filesystem::temp_directory_path() / ("lab-" + name + "-" + std::to_string(getpid()));
}

}  // namespace lab
