// nvcc on kernels, for what it and ptxas say of them.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checks/desk/process.hpp"

namespace lab::desk {

struct Compilation {
  std::string stage, bug, arch, source;  // bug: "" for the correct kernel; arch: "sm_89"
  Ran nvcc = {};
};

// Compiles all with `ptxas -v`, as many at once as JOBS in the environment says, else as there are cores. The objects
// go to build/cubins/STAGE-BUG-ARCH.cubin. An earlier result of the same nvcc for the same files is reused: `make
// resources` and `make archs` have thirty kernels in common.
void compile_all(std::vector<Compilation>& all);

// The output of a compilation whose log starts with the line `key` (its command) and is newer than its `inputs`.
std::optional<std::string> said_before(const std::string& log, const std::string& key,
                                       std::filesystem::file_time_type inputs);

// Why a compilation is not good, as one line: nvcc's own error; of ptxas, that wgmma lost its pipeline, or
// that it saw no kernel. "" if nothing does.
std::string trouble_in(const Ran& nvcc);

}  // namespace lab::desk
