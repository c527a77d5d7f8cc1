#include "checks/desk/patch.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "reference/bad_input.hpp"

namespace lab::desk {
namespace {

// The keys of a head, in the order in which they must stand; `also` is a list of words.
const std::pair<std::string, std::string PatchHead::*> KEYS[] = {
    {"plants", &PatchHead::plants},     {"predicted", &PatchHead::predicted}, {"also", nullptr},
    {"harmless", &PatchHead::harmless}, {"slow", &PatchHead::slow},           {"unseen", &PatchHead::unseen},
    {"lucky", &PatchHead::lucky}};

std::string known_keys() {
  std::string list;
  for (const auto& [key, member] : KEYS) list += (list.empty() ? "" : ", ") + key;
  return list;
}

}  // namespace

Patch parse_patch(const std::string& path, std::string_view whole) {
  Patch patch;
  patch.path = path;
  std::istringstream lines{std::string(whole)};
  int number = 0;
  bool in_hunk = false;
  std::ptrdiff_t last = -1;
  const auto fail = [&](const std::string& what) -> void {
    throw BadInput(path + ":" + std::to_string(number) + ": " + what);
  };
  for (std::string text; std::getline(lines, text);) {
    ++number;
    const auto begins = [&](std::string_view start) { return text.starts_with(start); };
    if (in_hunk || begins("@@ ")) {
      if (patch.source.empty()) fail("a diff must begin with `--- a/stages/STAGE/kernel.cu`");
      if (in_hunk && (begins("+") || begins("-"))) patch.changes.push_back({text[0] == '+', text.substr(1), number});
      in_hunk = true;
    } else if (begins("--- a/")) {
      patch.source = text.substr(6);
    } else if (begins("+++ b/")) {
      if (text.substr(6) != patch.source)
        fail("must be `+++ b/" + patch.source + "`: a bug changes its stage's kernel.cu and nothing else");
    } else if (!text.empty() && !begins("diff --git ") && !begins("index ")) {
      const std::size_t colon = text.find(": ");
      const std::string key = text.substr(0, std::min(colon, text.size()));
      const std::ptrdiff_t place =
          std::ranges::find(KEYS, key, [](const auto& known) { return known.first; }) - std::begin(KEYS);
      if (colon == text.npos || place == std::ssize(KEYS))
        fail("'" + text + "' is not `key: value`; the keys are " + known_keys());
      if (place <= last) fail("`" + key + ":` is out of place; once each and in this order: " + known_keys());
      const std::string value = text.substr(colon + 2);
      if (value.find_first_not_of(" \t") == value.npos) fail("`" + key + ":` says nothing");
      std::istringstream words(value);
      if (const auto member = KEYS[place].second)
        patch.*member = value;
      else
        patch.also = {std::istream_iterator<std::string>(words), {}};
      last = place;
    }
  }
  for (const auto& [key, value] : {std::pair{"plants", &patch.plants}, {"predicted", &patch.predicted}})
    if (value->empty()) throw BadInput(path + ":1: the head has no `" + key + ":`");
  if (patch.changes.empty()) fail("changes nothing: there is no hunk");
  return patch;
}

Patch read_patch(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    throw BadInput(path + " cannot be read; it is sought from the repository's root");
  return parse_patch(path, text.str());
}

std::vector<std::string> bug_dirs(const std::string& stage) {
  std::vector<std::string> dirs = {"stages/" + stage + "/bugs"};
  if (const char* outside = std::getenv("LAB_BUGS"); outside && *outside)
    dirs.push_back(std::string(outside) + "/" + stage);
  return dirs;
}

std::string patch_path(const std::string& stage, const std::string& bug) {
  const std::vector<std::string> dirs = bug_dirs(stage);
  const bool outside = dirs.size() > 1 && std::filesystem::exists(dirs[1] + "/" + bug + ".patch");
  return dirs[outside ? 1 : 0] + "/" + bug + ".patch";
}

}  // namespace lab::desk
