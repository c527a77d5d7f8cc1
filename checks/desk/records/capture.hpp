// Other programs, for what they print.
#pragma once
#include <string>
#include <vector>

namespace lab::desk {

struct Ran {
  int status = 0;  // as the shell counts: 128 + N after signal N, 127 where there is no such program
  std::string out, err;
};

// Runs argv[0], found along PATH, with `input` as its standard input, and keeps what it prints. Throws
// std::runtime_error if no process can be had.
Ran capture(const std::vector<std::string>& argv, const std::string& input = "");

// The same for a command line of sh.
Ran capture_sh(const std::string& command, const std::string& input = "");

// The first line that a program printed, without the end of line; "" if it failed or printed nothing.
std::string first_line(const std::vector<std::string>& argv);

}  // namespace lab::desk
