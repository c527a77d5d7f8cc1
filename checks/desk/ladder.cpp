#include "checks/desk/ladder.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "checks/desk/desk.hpp"
#include "checks/desk/nearest.hpp"
#include "checks/desk/patch.hpp"

namespace lab::desk {
namespace {

namespace fs = std::filesystem;

bool is_key_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::vector<Bug> bugs_of(const fs::path& dir, const std::string& stage) {
  std::vector<Bug> bugs;
  std::error_code none;  // a stage may have no bugs yet
  for (const auto& entry : fs::directory_iterator(dir / "bugs", none)) {
    if (entry.path().extension() != ".patch") continue;
    const Patch patch = read_patch(entry.path().lexically_normal().string());
    bugs.push_back({stage, entry.path().stem().string(), patch.plants, patch.predicted, patch.also,
                    unless_empty(patch.harmless), unless_empty(patch.slow), unless_empty(patch.lucky),
                    unless_empty(patch.map)});
  }
  std::ranges::sort(bugs, {}, &Bug::name);
  return bugs;
}

std::vector<std::string> names_of(const std::vector<const Bug*>& bugs) {
  std::vector<std::string> names;
  for (const Bug* bug : bugs) names.push_back(bug->name);
  return names;
}

}  // namespace

std::string Stage::says(const std::string& key) const {
  const auto found = conf.find(key);
  return found == conf.end() ? "" : found->second;
}

const Bug* Stage::bug(const std::string& name) const {
  const auto found = std::ranges::find(bugs, name, &Bug::name);
  return found == bugs.end() ? nullptr : &*found;
}

const Stage* Ladder::stage(const std::string& name) const {
  for (const Stage& s : stages)
    if (name == s.dir || name == s.short_name()) return &s;
  return nullptr;
}

std::vector<std::string> Ladder::historical() const {
  std::vector<std::string> names;
  for (const Stage& s : stages)
    for (const Bug& bug : s.bugs) names.insert(names.end(), bug.also.begin(), bug.also.end());
  std::ranges::sort(names, version_less);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<const Bug*> Ladder::bugs(const std::string& name) const {
  std::vector<const Bug*> found;
  const Stage* one = stage(name);
  for (const Stage& s : stages)
    for (const Bug& bug : s.bugs)
      if (one ? one == &s : std::ranges::count(bug.also, name) > 0) found.push_back(&bug);
  if (!one && found.empty()) {
    std::vector<std::string> names = historical();
    for (const Stage& s : stages) names.push_back(s.dir), names.push_back(s.short_name());
    throw BadInput("no stage '" + name + "'; the nearest are: " + joined(nearest(name, names), " ") +
                   " - see 'make list'");
  }
  return found;
}

std::vector<const Bug*> Ladder::bugs(const std::string& name, const std::string& bug) const {
  const std::vector<const Bug*> all = bugs(name);
  for (const Bug* b : all)
    if (b->name == bug) return {b};
  std::vector<std::string> homes, words;
  for (const Stage& s : stages)
    if (const Bug* b = s.bug(bug)) {
      homes.push_back(s.short_name());
      words.push_back("stage=" + s.short_name());
      for (const std::string& also : b->also) words.push_back(also);
    }
  if (!homes.empty())
    throw BadInput(bug + " is a bug of " + joined(homes, " and ") + " (" + joined(words, " or ") + ")");
  throw BadInput("stage '" + name + "' has no bug '" + bug +
                 "'; the nearest are: " + joined(nearest(bug, names_of(all)), " ") + " - see 'make list'");
}

std::map<std::string, std::string> parse_conf(const std::string& text, const std::string& path) {
  std::map<std::string, std::string> conf;
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    const auto wrong = [&](const std::string& what) {
      return BadInput(path + ":" + std::to_string(number) + ": " + what + "; a line is key=\"value\"");
    };
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == line.npos || line[begin] == '#') continue;
    const std::size_t equals = line.find('=');
    if (equals == line.npos) throw wrong("has no '='");
    const std::string key = line.substr(begin, equals - begin);
    if (key.empty() || !std::ranges::all_of(key, is_key_character)) throw wrong("'" + key + "' is no key");
    std::string value;
    std::size_t end;
    if (equals + 1 < line.size() && line[equals + 1] == '"') {
      end = line.find('"', equals + 2);
      if (end == line.npos) throw wrong("the value of " + key + " has no closing quote");
      value = line.substr(equals + 2, end - equals - 2);
      ++end;
    } else {
      end = std::min(line.find_first_of(" \t#", equals), line.size());
      value = line.substr(equals + 1, end - equals - 1);
    }
    end = line.find_first_not_of(" \t", end);
    if (end != line.npos && line[end] != '#') throw wrong("something stands behind the value of " + key);
    if (!conf.emplace(key, value).second) throw wrong(key + " is there twice");
  }
  return conf;
}

Ladder read_ladder(const std::string& root) {
  const fs::path stages = fs::path(root) / "stages";
  if (!fs::is_directory(stages)) throw BadInput("there is no " + stages.string() + "; run from the repository's root");
  Ladder ladder;
  for (const auto& entry : fs::directory_iterator(stages)) {
    if (!entry.is_directory() || entry.path().filename().string().starts_with(".")) continue;
    Stage stage{entry.path().filename().string()};
    const std::string conf = (entry.path() / "stage.conf").lexically_normal().string();
    stage.conf = parse_conf(read_text(conf), conf);
    stage.bugs = bugs_of(entry.path(), stage.dir);
    ladder.stages.push_back(stage);
  }
  std::ranges::sort(ladder.stages, [](const Stage& a, const Stage& b) { return version_less(a.dir, b.dir); });
  return ladder;
}

}  // namespace lab::desk
