// build/desk COMMAND ARGUMENT...: what make asks when it reads the words of a call, so little and quick to build.
#include "checks/desk/ladder.hpp"

namespace lab::desk {
namespace {

std::string pairs_of(const std::vector<const Bug*>& bugs) {
  std::vector<std::string> pairs;
  for (const Bug* bug : bugs) pairs.push_back(bug->pair());
  return joined(pairs, " ");
}

// A stage and its bugs, and then the side roads that leave from it; a side road is marked.
void print_with_side_roads(const Ladder& ladder, const Stage& stage) {
  const std::string side = stage.on_side() ? "  | " : "";
  std::printf("%s%-8s %-20s %s\n", side.c_str(), stage.short_name().c_str(), stage.dir.c_str(),
              stage.says("idea").c_str());
  for (const Bug& bug : stage.bugs) {
    std::string also;
    for (const std::string& version : bug.also) also += " stage=" + version;
    std::printf("%s%-8s   bug=%s%s\n", side.c_str(), "", bug.name.c_str(),
                also.empty() ? "" : ("  (also" + also + ")").c_str());
  }
  for (const Stage* road : ladder.side_roads(stage.dir)) print_with_side_roads(ladder, *road);
}

}  // namespace

int dirs_command(const Args& args) {
  if (!args.empty() && args[0] != "backward") throw BadInput("dirs takes no '" + args[0] + "'");
  const Ladder ladder = read_ladder();
  for (const Stage& stage : !args.empty() ? ladder.backward : ladder.stages) std::printf("%s\n", stage.dir.c_str());
  return 0;
}

int list_command(const Args&) {
  const Ladder ladder = read_ladder();
  const std::vector<const Stage*> road = ladder.main_road();
  std::printf("Main road, %zu stages; %zu more on side roads, below the stage that each grows out of (|)\n\n",
              road.size(), ladder.stages.size() - road.size());
  std::printf("%-8s %-20s %s\n", "stage", "directory", "its one idea");
  for (const Stage* stage : road) print_with_side_roads(ladder, *stage);
  std::printf("\nBackward, the second ladder: dQ, dK and dV\n");
  for (const Stage& stage : ladder.backward) print_with_side_roads(ladder, stage);
  std::printf("\nBroken versions of the source notes, kept as bugs of the stage that mended them:\n");
  for (const std::string& version : ladder.historical()) {
    std::vector<std::string> homes;
    for (const Bug* bug : ladder.bugs(version)) homes.push_back(bug->stage + " bug=" + bug->name);
    std::printf("%-8s %s\n", version.c_str(), joined(homes, ", ").c_str());
  }
  return 0;
}

int resolve_command(const Args& args) {
  const Ladder ladder = read_ladder();
  const std::optional<Stage> own = own_kernel(args[0]);
  const Stage* stage = own && !ladder.stage(args[0]) ? &*own : ladder.stage(args[0]);
  std::printf("%s\n", stage ? stage->dir.c_str() : pairs_of(ladder.bugs(args[0])).c_str());
  return 0;
}

int bugs_command(const Args& args) {
  const Ladder ladder = read_ladder();
  std::vector<const Bug*> bugs;
  if (!args.empty() && !ladder.stage(args[0]) && own_kernel(args[0])) {
    if (args.size() == 2 && !args[1].empty()) throw BadInput(args[0] + " is a kernel of your own and has no bugs");
    return 0;
  }
  if (args.empty() || args[0] == "backward")
    for (const Stage& stage : args.empty() ? ladder.stages : ladder.backward)
      for (const Bug& bug : stage.bugs) bugs.push_back(&bug);
  else
    bugs = args.size() == 1 || args[1].empty() ? ladder.bugs(args[0]) : ladder.bugs(args[0], args[1]);
  std::printf("%s\n", pairs_of(bugs).c_str());
  return 0;
}

int conf_command(const Args& args) {
  const Ladder ladder = read_ladder();
  const std::optional<Stage> own = own_kernel(args[0]);
  const Stage* stage = own ? &*own : ladder.stage(args[0]);
  if (!stage) ladder.bugs(args[0]), throw BadInput("'" + args[0] + "' is no stage of its own");
  std::printf("%s\n", stage->says(args[1]).c_str());
  return 0;
}

int head_command(const Args& args) {
  read_patch(args[0]);
  return 0;
}

int goals_command(const Args& args) {
  const auto bar = std::ranges::find(args, "--");
  const std::vector<std::string> goals(bar == args.end() ? bar : bar + 1, args.end());
  if (goals.empty()) throw BadInput("usage: desk goals WORD... -- GOAL...");
  for (auto word = args.begin(); word != bar; ++word)
    if (std::ranges::find(goals, *word) == goals.end())
      throw BadInput("nothing is called '" + *word + "'; the nearest are: " + joined(nearest(*word, goals), " ") +
                     " - see 'make help'");
  return 0;
}

static constexpr Command COMMANDS[] = {
    {"dirs", dirs_command, "[backward]", "every stage's directory, in the order of the climb"},
    {"list", list_command, "", "the table of `make list`"},
    {"resolve", resolve_command, "NAME", "DIR of a stage, DIR:BUG ... of a broken version of the notes"},
    {"bugs", bugs_command, "[NAME [BUG]]",
     "DIR:BUG ... of all stages, of one, of backward ones, or the one that BUG names"},
    {"conf", conf_command, "DIR KEY", "what stage.conf says of KEY, or nothing"},
    {"head", head_command, "PATCH", "one line and status 2 if its head or its diff is not as it must be"},
    {"goals", goals_command, "WORD... -- GOAL...", "one line and status 2 if a WORD is no GOAL"},
};

}  // namespace lab::desk

int main(int argc, char** argv) { return lab::desk::dispatch("desk", lab::desk::COMMANDS, argc, argv); }
