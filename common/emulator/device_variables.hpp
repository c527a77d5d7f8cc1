// __device__ variables: on the CPU they are variables of the kernel's own program or library, in its writable segments.
#pragma once
#include <cstddef>
#include <string>

#include "common/emulator/global_shadow.hpp"

namespace lab::cpu {

// The cell of the word at `address` if these bytes lie among variables; else null.
GlobalCell* variable_cell(const void* address, std::size_t bytes);
// A launch begins: libraries may have been loaded since the last one.
void find_variables();
struct Variable {
  std::string name;  // empty: unknown
  const void* address = nullptr;
  std::size_t bytes = 0;
};
Variable variable_at(const void* address);  // slow: for a report

}  // namespace lab::cpu
