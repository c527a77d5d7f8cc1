#include "checks/desk/desk.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace lab::desk {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) throw BadInput(path + " cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) throw BadInput(path + " cannot be read");
  return text;
}

void write_text(const std::string& path, const std::string& text) {
  const std::filesystem::path target(path);
  std::error_code failed;
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), failed);
  const std::string fresh = path + ".new-" + std::to_string(getpid());
  {
    std::ofstream file(fresh, std::ios::binary);
    file << text;
    file.close();
    if (!file) {
      std::filesystem::remove(fresh, failed);
      throw BadInput(path + " cannot be written");
    }
  }
  std::filesystem::rename(fresh, target, failed);
  if (failed) {
    std::filesystem::remove(fresh, failed);
    throw BadInput(path + " cannot be written");
  }
}

void write_if_changed(const std::string& path, const std::string& text) {
  if (!std::filesystem::exists(path) || read_text(path) != text) write_text(path, text);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(trimmed(text.substr(begin, end == text.npos ? end : end - begin)));
    if (end == text.npos) return parts;
    begin = end + separator.size();
  }
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string trimmed(const std::string& text, const char* blanks) {
  const std::size_t first = text.find_first_not_of(blanks);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string joined(const std::vector<std::string>& pieces, const std::string& between) {
  std::string text;
  for (const std::string& piece : pieces) text += (text.empty() ? "" : between) + piece;
  return text;
}

std::string hash_of(const std::vector<std::string>& texts) {
  unsigned long long bits = 0xCBF29CE484222325ull;
  const auto add = [&](unsigned char c) { bits = (bits ^ c) * 0x100000001B3ull; };
  for (const std::string& text : texts) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    add(0xFF);
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", bits);
  return digits;
}

}  // namespace lab::desk
