// __device__ variables: on the CPU they are variables of the kernel's own program or library, in its writable segments.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lab::cpu {

struct Segment {
  std::uintptr_t begin, end;
  std::uintptr_t bias;  // from the addresses in the file
  std::string file;
};
std::vector<Segment> writable_segments();  // of everything that is loaded now

struct Variable {
  std::string name = "a variable";
  std::size_t offset = 0, bytes = 0;  // of the address in it, and of the whole; 0 B: unknown
};
Variable variable_at(const Segment& segment, const void* address);  // slow: for a report

}  // namespace lab::cpu
