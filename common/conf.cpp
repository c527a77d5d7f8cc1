#include "common/conf.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "reference/bad_input.hpp"

namespace lab {

static bool is_key_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::map<std::string, std::string> parse_conf(const std::string& text, const std::string& path) {
  std::map<std::string, std::string> conf;
  int number = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto wrong = [&](const std::string& what) {
      return BadInput(path + ":" + std::to_string(number) + ": " + what + "; a line is key=\"value\"");
    };
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == line.npos || line[begin] == '#') continue;
    const std::size_t equals = line.find('=');
    if (equals == line.npos) throw wrong("has no '='");
    const std::string key = line.substr(begin, equals - begin);
    if (key.empty() || !std::ranges::all_of(key, is_key_character)) throw wrong("'" + key + "' is no key");
    std::string value;
    std::size_t end;
    if (equals + 1 < line.size() && line[equals + 1] == '"') {
      end = line.find('"', equals + 2);
      if (end == line.npos) throw wrong("the value of " + key + " has no closing quote");
      value = line.substr(equals + 2, end - equals - 2);
      ++end;
    } else {
      end = std::min(line.find_first_of(" \t#", equals), line.size());
      value = line.substr(equals + 1, end - equals - 1);
    }
    end = line.find_first_not_of(" \t", end);
    if (end != line.npos && line[end] != '#') throw wrong("something stands behind the value of " + key);
    if (!conf.emplace(key, value).second) throw wrong(key + " is there twice");
  }
  return conf;
}

}  // namespace lab
