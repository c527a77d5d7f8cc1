// binutils' addr2line, asked again and again: it reads a program's debug information once, and an answer takes
// microseconds.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace lab::cpu {

// Which source lines a program counter (code.hpp) stands for: "/path/file.cu:12", of inlined frames the innermost first;
// "??:0" where nothing is known. One entry for each of `pcs`, all empty where addr2line is missing or ends. One thread
// at a time.
std::vector<std::vector<std::string>> ask_addr2line(const std::vector<std::uintptr_t>& pcs);

}  // namespace lab::cpu
