#include "checks/bugs/find_source_line.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "checks/acceptance/whole_file.hpp"
#include "common/build_info.hpp"

namespace lab {
namespace {

const Patch* patch_at_hand = nullptr;
std::string own_source;

}  // namespace

void look_for(const Patch& patch, const std::string& source) { patch_at_hand = &patch, own_source = source; }

Place line_with(const std::string& piece) {
  const std::string path = own_source.empty() ? std::string("stages/") + stage_name() + "/kernel.cu" : own_source;
  const std::string source = read_whole(path);
  std::vector<Place> plain, patched;
  const auto removed = [](const std::string& text) {
    return std::ranges::any_of(patch_at_hand->changes,
                               [&](const auto& line) { return !line.added && line.text == text; });
  };
  std::istringstream lines(source);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find(piece) == line.npos) continue;
    plain.push_back({path, number});
    if (!removed(line)) patched.push_back({path, number});
  }
  if (!own_source.empty()) return plain.size() == 1 ? plain[0] : Place{path, NO_LINE};
  for (const PatchLine& line : patch_at_hand->changes)
    if (line.added && line.text.find(piece) != line.text.npos) patched.push_back({patch_at_hand->path, line.number});
  const std::vector<Place>& found = *planted_bug() || plain.empty() ? patched : plain;
  if (found.size() != 1)
    throw std::runtime_error(path + " with " + patch_at_hand->path + " has " + std::to_string(found.size()) +
                             " lines with '" + piece + "', where a signature needs one");
  return found[0];
}

}  // namespace lab
