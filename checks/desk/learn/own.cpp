// desk-work own, watch-own: a kernel of a learner's own, in work/own/NAME, which git ignores.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "checks/desk/desk.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/learn/watch.hpp"
#include "checks/desk/process.hpp"

namespace lab::desk {
namespace {

namespace fs = std::filesystem;

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
  if (fs::exists(dir)) throw BadInput(dir + " is there already; take another name, or delete it");
  std::string source = BLANK, stage_dir;
  if (from != "blank") {
    const std::optional<Stage> own = own_kernel(from);
    const Stage* stage = own ? &*own : ladder.stage(from);
    if (!stage) ladder.bugs(from), throw BadInput("from=" + from + " never worked; see 'make list'");
    source = own ? own_dir(from) : "stages/" + stage->dir;
    stage_dir = own ? stage->says("from") : stage->dir;
  }
  write_text(dir + "/kernel.cu", read_text(source + "/kernel.cu"));
  write_text(dir + "/stage.conf", own_conf(read_text(source + "/stage.conf"), "own: " + name, stage_dir));
  write_text(dir + "/notes.md", "");
  std::printf("Laid out in %s: kernel.cu, stage.conf (target, needs, budgets), notes.md.\n", dir.c_str());
  std::printf(
      "    make stage=%s test         the acceptance and a short race check; make stage=%s watch at every save\n",
      name.c_str(), name.c_str());
  std::printf("    make stage=%s racecheck    also: counters, trace, fuzz, run q= k= v= out=, resources, bench\n",
              name.c_str());
  return 0;
}

namespace {

// The cheapest cases up to the first that is red, and the short race check, as make try has them: a save is not to be
// waited for. Returns nothing: what is red is printed.
void look_at(const std::string& make, const std::string& name) {
  constexpr int SECONDS = 600;
  const std::string dir = "build/cpu/own/" + name, plain = dir + "/fixed/tester", checked = dir + "/checked/tester";
  if (run({make, "backend=cpu", "-s", "stage=" + name, plain, checked}).status != 0) return;
  const bool right = run_limited({plain, "test", "cheapest=40", "once=1"}, "", SECONDS).status == 0;
  const bool clean = run_limited({checked, "racecheck", "short=1"}, "", SECONDS).status == 0;
  if (right && clean) std::printf("good so far; make stage=%s test asks for everything\n", name.c_str());
}

}  // namespace

// At every save, until ^C.
int watch_own_command(const Args& args) {
  const std::optional<Stage> own = own_kernel(args[1]);
  if (!own)
    throw BadInput("stage=" + args[1] + " is not a kernel of your own; make watch n=NUMBER watches an exercise");
  const std::string dir = own_dir(args[1]), file = dir + "/kernel.cu";
  watch(file, [&] {
    look_at(args[0], fs::path(dir).filename().string());
    return false;
  });
  return 0;
}

}  // namespace lab::desk
