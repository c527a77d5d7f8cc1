// Where the code of kernels is: in a library that was loaded, or, of the unit tests, in this program, which runs at the
// address that it was linked for. A program counter is kept as an offset into that: it fits into 32 bits.
#pragma once
#include <cstdint>
#include <string>

namespace lab::cpu {

extern std::uintptr_t code_base;
void kernels_are_in(const std::string& library, std::uintptr_t base);

// Some code that is loaded was compiled with the checker's instrumentation.
extern bool instrumented;

}  // namespace lab::cpu
