// Where the code of kernels is, and binutils' addr2line, asked again and again: it reads a program's debug information
// once, and an answer takes microseconds.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace lab::cpu {

// In a library that was loaded, or, of the unit tests, in this program, which runs at the address that it was linked for. A
// program counter is kept as an offset into that: it fits into 32 bits.
extern std::uintptr_t code_base;
void kernels_are_in(const std::string& library, std::uintptr_t base);
extern bool instrumented;  // some code that is loaded was compiled with the checker's instrumentation

// Which source lines a program counter stands for: "/path/file.cu:12", of inlined frames the innermost first;
// "??:0" where nothing is known. One entry for each of `pcs`, all empty where addr2line is missing or ends. One thread
// at a time.
std::vector<std::vector<std::string>> ask_addr2line(const std::vector<std::uintptr_t>& pcs);

}  // namespace lab::cpu
