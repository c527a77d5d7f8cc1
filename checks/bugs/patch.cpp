#include "checks/bugs/patch.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string_view>

#include "checks/acceptance/whole_file.hpp"

namespace lab {

Patch parse_patch(const std::string& path, const std::string& text) {
  Patch patch;
  patch.path = path;
  const std::pair<std::string_view, std::string*> keys[] = {
      {"plants", &patch.plants}, {"predicted", &patch.predicted}, {"also", &patch.also},  {"harmless", &patch.harmless},
      {"slow", &patch.slow},     {"unseen", &patch.unseen},       {"lucky", &patch.lucky}};
  std::istringstream lines(text);
  int number = 0;
  bool in_head = true, in_hunk = false;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    in_head = in_head && !line.starts_with("--- a/");
    in_hunk = in_hunk || (!in_head && line.starts_with("@@ "));
    if (in_hunk && (line.starts_with("+") || line.starts_with("-")))
      patch.changes.push_back({line[0] == '+', line.substr(1), number});
    if (!in_head || line.empty() || line.starts_with("diff --git ") || line.starts_with("index ")) continue;
    const std::size_t colon = line.find(": ");
    const auto key = std::ranges::find(keys, std::string_view(line).substr(0, colon),
                                       &std::pair<std::string_view, std::string*>::first);
    if (colon == line.npos || key == std::end(keys) || !key->second->empty() || colon + 2 == line.size())
      throw BadInput(
          path + ":" + std::to_string(number) + ": '" + line +
          "' is not `key: value`; the keys, once each, are plants, predicted, also, harmless, slow, unseen, lucky");
    *key->second = line.substr(colon + 2);
  }
  if (patch.plants.empty() || patch.predicted.empty() || patch.changes.empty())
    throw BadInput(path + " lacks one of `plants:`, `predicted:` and a diff that changes something");
  return patch;
}

Patch read_patch(const std::string& stage, const std::string& bug) {
  std::string path = "stages/" + stage + "/bugs/" + bug + ".patch";
  if (const char* const outside = std::getenv("LAB_BUGS"); outside && *outside)
    if (const std::string other = std::string(outside) + "/" + stage + "/" + bug + ".patch";
        std::filesystem::exists(other))
      path = other;
  return parse_patch(path, read_whole(path));
}

}  // namespace lab
