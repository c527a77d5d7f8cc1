// desk-work own: a kernel of a learner's own, in work/own/NAME, which git ignores.
#include "checks/desk/ladder.hpp"

namespace lab::desk {
namespace {

constexpr const char* BLANK = "checks/exercises/blank";

// Without `learned`, which is the ladder's; with the stage that it comes from, and the blank one's comments.
std::string own_conf(const std::string& conf, const std::string& idea, const std::string& from) {
  std::string text;
  for (const std::string& line : lines_of(read_text(std::string(BLANK) + "/stage.conf")))
    if (line.starts_with("#")) text += line + "\n";
  for (const std::string& line : lines_of(conf)) {
    if (line.starts_with("#") || line.starts_with("learned=") || line.starts_with("from=")) continue;
    text += (line.starts_with("idea=") ? "idea=\"" + idea + "\"" : line) + "\n";
  }
  return text + (from.empty() ? "" : "from=\"" + from + "\"\n");
}

}  // namespace

int own_command(const Args& args) {
  const std::string &name = args[0], from = args[1].empty() ? "blank" : args[1];
  const Ladder ladder = read_ladder();
  if (!is_own_name(name)) throw BadInput("name=" + name + ": made of a-z, 0-9, - and _, and begins with a letter");
  const std::vector<std::string> known = ladder.historical();
  if (ladder.stage(name) || std::ranges::find(known, name) != known.end())
    throw BadInput("name=" + name + " is the name of a stage; see 'make list'");
  const std::string dir = own_dir(name);
  if (fs::exists(dir)) throw BadInput(dir + " is there already; take another name, or rm -r " + dir);
  std::string source = BLANK, stage_dir;
  if (from != "blank") {
    const std::optional<Stage> own = own_kernel(from);
    const Stage* stage = own ? &*own : ladder.stage(from);
    if (!stage) ladder.bugs(from), throw BadInput("from=" + from + " never worked; see 'make list'");
    if (stage->is_backward())
      throw BadInput("from=" + from + ": an own kernel is one of the forward pass; begin with a v stage");
    source = own ? own_dir(from) : "stages/" + stage->dir;
    stage_dir = own ? stage->says("from") : stage->dir;
  }
  write_text(dir + "/kernel.cu", read_text(source + "/kernel.cu"));
  write_text(dir + "/stage.conf", own_conf(read_text(source + "/stage.conf"), "own: " + name, stage_dir));
  write_text(dir + "/notes.md", "");
  std::printf("Laid out in %s, %s: kernel.cu, stage.conf (target, needs, budgets), notes.md.\n", dir.c_str(),
              from == "blank" ? "an empty kernel (from=v2c8 copies a stage's)" : ("a copy of " + from + "'s").c_str());
  std::printf("    make stage=%s test         the acceptance and a short race check\n", name.c_str());
  std::printf("    make stage=%s racecheck    also: counters, trace, fuzz, run q= k= v= out=, resources, bench\n",
              name.c_str());
  return 0;
}

}  // namespace lab::desk
