#include "checks/desk/records/compile_commands.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "checks/desk/desk.hpp"
#include "checks/desk/records/capture.hpp"
#include "checks/desk/records/commands.hpp"
#include "checks/desk/records/json_text.hpp"

namespace lab::desk {

namespace fs = std::filesystem;

std::optional<Args> clangd_command(const std::string& path, const Args& compiler, const std::string& cuda) {
  const std::string extension = fs::path(path).extension();
  const bool source = extension == ".cpp", kernel = path.starts_with("stages/") && extension == ".cu";
  const bool gpu_only = path.find("/gpu/") != path.npos || (extension == ".cu" && !kernel);
  if ((!source && extension != ".cu") || (gpu_only && cuda.empty())) return std::nullopt;
  if (gpu_only && source) return Args{compiler.at(0), "-std=c++20", "-I.", "-DLAB_GPU", "-isystem", cuda + "/include"};
  if (gpu_only)
    return Args{"clang++", "-x", "cuda", "--cuda-host-only", "-nocudalib", "--cuda-path=" + cuda, "-std=c++20", "-I."};
  Args command = compiler;
  const Args more = kernel ? Args{"-x", "c++"} : Args{"-DLAB_STAGE=\"\"", "-DLAB_BUG=\"\""};
  command.insert(command.end(), more.begin(), more.end());
  command.insert(command.end(), {"-Icommon/cpu", "-I."});
  return command;
}

int compile_commands_command(const Args& args) {
  expect_args(args, 1, 100, "compile-commands CXX FLAG...");
  const std::string nvcc = first_line({"sh", "-c", "readlink -f \"$(command -v nvcc)\""});
  const std::string cuda = nvcc.empty() ? "" : fs::path(nvcc).parent_path().parent_path().string();
  std::vector<std::string> paths;
  for (const char* folder : {"checks", "common", "reference", "stages"})
    for (const auto& entry : fs::recursive_directory_iterator(folder)) paths.push_back(entry.path().string());
  std::ranges::sort(paths);
  Json entries = Json::array();
  for (const std::string& path : paths)
    if (auto command = clangd_command(path, args, cuda)) {
      command->insert(command->end(), {"-c", path});
      entries.push_back({{"directory", fs::current_path().string()}, {"file", path}, {"arguments", *command}});
    }
  const std::string file = "build/compile_commands.json";
  write_text(file, entries.dump(1) + "\n");
  std::printf("%s: %zu files\n", file.c_str(), entries.size());
  return 0;
}

}  // namespace lab::desk
