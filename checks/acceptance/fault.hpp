// The result of a launch, and its faults before any number is looked at.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/backend.hpp"
#include "common/fp16.hpp"
#include "reference/attention.hpp"

namespace lab {

// How much something says about its cause: a report gives the most telling one first.
enum class Tells { failure, finding, stray_write, changed_input, race, numbers };
struct Fault {
  Tells tells{};
  std::string what;
  bool again = false;  // what another fault of the launch has said
};

struct Ran {
  cudaError_t returned{}, last{}, finished{};  // from launch(), from cudaGetLastError() after it, from the kernel
  ExecReport report;
  std::vector<fp16> out;      // as far as it got
  std::vector<Fault> strays;  // of a launch that is ok: writes outside the output and into inputs
  bool ok() const { return returned == cudaSuccess && last == cudaSuccess && finished == cudaSuccess; }
  // A GPU is busy with it: only the end of this process frees the GPU, and no destructor may run before.
  bool still_runs() const { return finished == cudaErrorNotReady; }
};
// Everything that can be said without knowing the right answer. `blocks`: how many were to run, 0 if unknown.
std::vector<Fault> faults_of(const Ran& ran, std::size_t blocks = 0);

// "2 of 3 kernels were launched on another stream than the one given"; "" if none was, and on a GPU.
std::string launched_elsewhere(const ExecReport& report, cudaStream_t given);

// A block must leave the rows of other blocks alone: what it wrote outside `rows`, which ascend. "" if nothing.
std::string written_elsewhere(const Shape& shape, std::span<const RowBlock> rows, std::span<const fp16> out);

}  // namespace lab
