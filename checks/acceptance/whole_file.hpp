// A file that a command was asked for (json=PATH, or another key): whole, or not there.
#pragma once
#include <filesystem>
#include <fstream>
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

}  // namespace lab
