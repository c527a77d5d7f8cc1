// How each source is compiled, for clangd.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace lab::desk {

// The command, without -c and the file, for a source of the lab (its path from the root): the harness and the kernels
// as the CPU backend compiles them, with `compiler`, its CXX and flags; what only a GPU build compiles, against the
// toolkit in `cuda`. Nothing for that if `cuda` is "", and for what is no source.
std::optional<std::vector<std::string>> clangd_command(const std::string& path,
                                                       const std::vector<std::string>& compiler,
                                                       const std::string& cuda);

}  // namespace lab::desk
