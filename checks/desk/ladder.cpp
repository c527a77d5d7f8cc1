#include "checks/desk/ladder.hpp"

namespace lab::desk {
namespace {

std::vector<Bug> bugs_of(const fs::path& root, const std::string& stage) {
  std::vector<Bug> bugs;
  for (const std::string& dir : bug_dirs(stage))
    for (const fs::path& path : files_in(root / dir, ".patch"))
      bugs.push_back({read_patch(path.string()), stage, path.stem().string()});
  // A bug's name becomes a file's and a target's: bugs=DIR may hold anything.
  for (const Bug& bug : bugs)
    if (!std::ranges::all_of(bug.name, [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '_'; }))
      throw BadInput(stage + " has a bug '" + bug.name + "': a bug's name is made of a-z, 0-9 and _");
  std::ranges::sort(bugs, {}, &Bug::name);
  const auto twice = std::ranges::adjacent_find(bugs, {}, &Bug::name);
  if (twice != bugs.end()) throw BadInput("bugs=: " + stage + " has a bug " + twice->name + " already");
  return bugs;
}

std::vector<std::string> names_of(const std::vector<const Bug*>& bugs) {
  std::vector<std::string> names;
  for (const Bug* bug : bugs) names.push_back(bug->name);
  return names;
}

// Throws BadInput where from= names no stage before this one, or road= is neither main nor side.
void check_road(const Ladder& ladder, const Stage& stage) {
  const std::string conf = "stages/" + stage.dir + "/stage.conf: ", from = stage.says("from"),
                    road = stage.says("road");
  const Stage* before = from.empty() ? nullptr : ladder.stage(from);
  if (!from.empty() && (!before || !version_less(before->dir, stage.dir)))
    throw BadInput(conf + "from=" + from + ": must be the directory of an earlier stage");
  if (!road.empty() && road != "main" && road != "side")
    throw BadInput(conf + "road=" + road + ": must be main or side");
  if (!stage.on_side() && before && before->on_side())
    throw BadInput(conf + "road=main, and from=" + from + " is on a side road");
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

std::vector<const Stage*> Ladder::all() const {
  std::vector<const Stage*> both;
  for (const Stage& s : stages) both.push_back(&s);
  for (const Stage& s : backward) both.push_back(&s);
  return both;
}

std::vector<const Stage*> Ladder::main_road() const {
  std::vector<const Stage*> road;
  for (const Stage& s : stages)
    if (!s.on_side()) road.push_back(&s);
  return road;
}

std::vector<const Stage*> Ladder::side_roads(const std::string& from) const {
  std::vector<const Stage*> roads;
  for (const Stage& s : stages)
    if (s.on_side() && s.says("from") == from) roads.push_back(&s);
  return roads;
}

const Stage* Ladder::stage(const std::string& name) const {
  for (const Stage* s : all())
    if (name == s->dir || name == s->short_name()) return s;
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
  for (const Stage* s : all())
    for (const Bug& bug : s->bugs)
      if (one ? one == s : std::ranges::count(bug.also, name) > 0) found.push_back(&bug);
  if (!one && found.empty()) {
    for (const Stage& s : stages)
      for (const std::string& was : words_of(s.says("was")))
        if (name == was || name == short_stage_name(was))
          throw BadInput(name + " became " + s.dir + ": stage=" + s.short_name());
    std::vector<std::string> names = historical();
    for (const Stage* s : all()) names.push_back(s->dir), names.push_back(s->short_name());
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
  for (const Stage* s : Ladder::all())
    if (const Bug* b = s->bug(bug)) {
      homes.push_back(s->short_name());
      words.push_back("stage=" + s->short_name());
      for (const std::string& also : b->also) words.push_back(also);
    }
  if (!homes.empty())
    throw BadInput(bug + " is a bug of " + joined(homes, " and ") + " (" + joined(words, " or ") + ")");
  throw BadInput("stage '" + name + "' has no bug '" + bug +
                 "'; the nearest are: " + joined(nearest(bug, names_of(all)), " ") + " - see 'make list'");
}

// make says where a kernel of one's own lies.
std::string stage_dir(const std::string& stage) {
  const char* const own = std::getenv("OWN");
  return own && stage.starts_with("own/") ? own : "stages/" + stage;
}

std::string kernel_path(const std::string& stage) { return stage_dir(stage) + "/kernel.cu"; }

Ladder read_ladder(const std::string& root) {
  const fs::path stages = fs::path(root) / "stages";
  if (!fs::is_directory(stages)) throw BadInput("there is no " + stages.string() + "; run from the repository's root");
  Ladder ladder;
  for (const auto& entry : fs::directory_iterator(stages)) {
    if (!entry.is_directory() || entry.path().filename().string().starts_with(".")) continue;
    Stage stage{entry.path().filename().string()};
    const std::string conf = (entry.path() / "stage.conf").lexically_normal().string();
    stage.conf = parse_conf(read_text(conf), conf);
    stage.bugs = bugs_of(root, stage.dir);
    (stage.is_backward() ? ladder.backward : ladder.stages).push_back(stage);
  }
  for (std::vector<Stage>* of : {&ladder.stages, &ladder.backward})
    std::ranges::sort(*of, [](const Stage& a, const Stage& b) { return version_less(a.dir, b.dir); });
  for (const Stage& stage : ladder.stages) check_road(ladder, stage);
  return ladder;
}

}  // namespace lab::desk
