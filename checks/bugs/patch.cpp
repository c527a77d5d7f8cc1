#include "checks/bugs/patch.hpp"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "checks/acceptance/whole_file.hpp"

namespace lab {

PatchHead read_patch_head(const std::string& stage, const std::string& bug) {
  std::string path = "stages/" + stage + "/bugs/" + bug + ".patch";
  if (const char* const outside = std::getenv("LAB_BUGS"); outside && *outside)
    if (const std::string other = std::string(outside) + "/" + stage + "/" + bug + ".patch";
        std::filesystem::exists(other))
      path = other;
  PatchHead head;
  std::istringstream lines(read_whole(path));
  for (std::string line; std::getline(lines, line) && !line.starts_with("--- a/");)
    if (const std::size_t colon = line.find(": "); colon != line.npos)
      head[line.substr(0, colon)] = line.substr(colon + 2);
  return head;
}

}  // namespace lab
