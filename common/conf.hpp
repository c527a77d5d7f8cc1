// The text of a stage.conf.
#pragma once
#include <map>
#include <string>

namespace lab {

// Reads `key="value"` lines; # starts a comment. Throws BadInput naming file (`path`) and line.
std::map<std::string, std::string> parse_conf(const std::string& text, const std::string& path);

}  // namespace lab
