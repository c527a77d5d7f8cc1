// A path for a test's files, of this process alone: two runs of the unit tests on one machine must not share one.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <string>

#include "checks/acceptance/whole_file.hpp"

namespace lab {

inline std::string scratch_path(const std::string& name) {
  return std::filesystem::temp_directory_path() / ("lab-" + name + "-" + std::to_string(getpid()));
}

// A folder there, which goes with it.
struct Scratch {
  explicit Scratch(const std::string& name) : root(scratch_path(name)) {
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root);
  }
  ~Scratch() { std::filesystem::remove_all(root); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path(const std::string& below) const { return (root / below).string(); }
  std::string read(const std::string& below) const { return read_whole(path(below)); }
  void write(const std::string& below, const std::string& text) const {
    std::filesystem::create_directories((root / below).parent_path());
    write_whole(path(below), text);
  }
  std::filesystem::path root;
};

// The message of an exception out of `does`, "" if there is none.
template <class Does>
std::string complaint_of(Does does) {
  try {
    does();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

inline bool has(const std::string& text, const std::string& piece) { return text.find(piece) != text.npos; }

}  // namespace lab
