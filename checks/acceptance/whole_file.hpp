// A file as a whole: written (json=PATH, or another key) or not there, and read.
#pragma once
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include "reference/bad_input.hpp"

namespace lab {

// Throws BadInput where it cannot be written; what lay there before is left as it was.
inline void write_whole(const std::string& path, const std::string& text, const std::string& key = "json") {
  const std::string fresh = path + ".new";
  std::ofstream file(fresh, std::ios::binary);
  file << text;
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(fresh, path, error);
  if (file && !error) return;
  std::filesystem::remove(fresh, error);
  throw BadInput(key + "=" + path + ": cannot be written");
}

inline std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) throw BadInput("cannot read " + path + "; run from the repository's root");
  return text.str();
}

inline std::string read_whole(std::FILE* file) {
  std::rewind(file);
  std::string text;
  char buffer[1 << 16];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
  return text;
}

}  // namespace lab
