// desk-records blindness-table, tools-table, climb-table, plan.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "checks/desk/desk.hpp"
#include "checks/desk/kept.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/nearest.hpp"
#include "checks/desk/process.hpp"
#include "checks/desk/records/json_text.hpp"
#include "checks/desk/records/labs.hpp"
#include "checks/desk/records/tables.hpp"
#include "checks/desk/side_by_side.hpp"

namespace lab::desk {
namespace {

const std::string TOOLS = "writeups/results/tools-h200.json", RESOURCES = "writeups/results/resources.json";

struct Build {
  const Stage* stage;
  std::string bug;  // "": the correct one
};

// Each stage's correct build and then its bugs', in the order of the climb.
std::vector<Build> builds_of(const Ladder& ladder) {
  std::vector<Build> builds;
  for (const Stage& stage : ladder.stages) {
    builds.push_back({&stage, ""});
    for (const Bug& bug : stage.bugs) builds.push_back({&stage, bug.name});
  }
  return builds;
}

std::string title(const Stage& stage, const std::string& bug) {
  return stage.short_name() + ", " + (bug.empty() ? "correct" : bug);
}

std::string printed(const std::vector<std::string>& argv) {
  const Ran ran = capture(argv);
  if (ran.status != 0)
    throw BadInput("no answer from " + joined(argv, " ") + ": exit status " + std::to_string(ran.status));
  return ran.out;
}

// A lab's run, if its status is no more than `most`.
LabRun looked(const Argv& argv, int most) {
  const LabRun ran = run_lab(argv);
  if (ran.status > most)
    throw BadInput("no answer from " + joined(argv, " ") + ": exit status " + std::to_string(ran.status) + "\n" +
                   ran.out);
  return ran;
}

// As a line is ready, so that a reader sees how far a long table is.
void put(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

bool passes(const std::string& lab) { return capture({lab, "test", "quick=1"}).status == 0; }

// A version of the notes: a stage that is here, or a broken one that only its bugs remember.
std::string climb_row(const Ladder& ladder, const std::string& name, const Json& resources, const std::string& labs) {
  if (const Stage* stage = ladder.stage(name)) {
    const std::string target = stage->says("target").empty() ? "sm_89" : stage->says("target");
    return "| [" + name + "](stages/" + stage->dir + ".md) | " + stage->says("idea") + " | " +
           (passes(lab_path(labs, stage->dir, "fixed")) ? "yes" : "no") + " | " +
           resources_cell(resources, stage->dir, target) + " | " + stage->says("learned") + " |\n";
  }
  std::string red, learned;
  for (const Bug* bug : ladder.bugs(name)) {
    if (!passes(lab_path(labs, bug->stage, variant_of(bug->name, "fixed"))))
      red += " [" + bug->name + "](bugs/" + bug->name + ".md)";
    if (const std::string said = ladder.stage(bug->stage)->says("learned_" + name); !said.empty()) learned = said;
  }
  return "| " + name + " | a version that never worked | no:" + red + " | | | " + learned + " |\n";
}

}  // namespace

int blindness_table_command(const Args& args) {
  const Ladder ladder = read_ladder();
  put("| build | `notes` inputs | `notes`, causal | `unit` inputs | `unit`, causal |\n|---|---|---|---|---|\n");
  const auto row = [&](const Build& build) {
    const std::string lab = lab_path(args[0], build.stage->dir, variant_of(build.bug, "fixed"));
    return blindness_row(title(*build.stage, build.bug), read_blindness(looked({lab, "blindness"}, 0).out, lab));
  };
  side_by_side(builds_of(ladder), row, put);
  return 0;
}

int tools_table_command(const Args& args) {
  const Ladder ladder = read_ladder();
  const Json tools = load_results(TOOLS, "tools-1", "checks/races/sanitizer.sh -j on a machine with a GPU");
  put("| bug | `notes` inputs | `unit` inputs | schedules | CPU checker | memcheck | racecheck | initcheck | synccheck "
      "|\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  const auto row = [&](const Build& build) {
    const std::string lab = lab_path(args[0], build.stage->dir, variant_of(build.bug, "fixed"));
    const Blindness answers = read_blindness(looked({lab, "blindness"}, 0).out, lab);
    const std::string checked = lab_path(args[0], build.stage->dir, variant_of(build.bug, "checked"));
    const Verdict racecheck =
        looked({checked, "racecheck", "short=1"}, 1).verdict;  // status 1 where there are findings
    return tools_row(title(*build.stage, build.bug), answers, racecheck, tools, build.stage->dir, build.bug);
  };
  side_by_side(builds_of(ladder), row, put);
  put(tools_footer(tools, TOOLS));
  return 0;
}

int climb_table_command(const Args& args) {
  const Json resources = load_results(RESOURCES, "resources-1", "make resources json=" + RESOURCES);
  const Ladder ladder = read_ladder();
  std::vector<std::string> names = ladder.historical();
  for (const Stage& stage : ladder.stages) names.push_back(stage.short_name());
  std::ranges::sort(names, version_less);
  put("| version | one idea | correct? | registers | shared memory | what was learned |\n|---|---|---|---|---|---|\n");
  for (const std::string& name : names) put(climb_row(ladder, name, resources, args[0]));
  return 0;
}

int plan_command(const Args& args) {
  const Ladder ladder = read_ladder();
  const Stage* stage = ladder.stage(args[0]);
  if (!stage) (void)ladder.bugs(args[0]);  // says which names are near
  if (!stage) throw BadInput("'" + args[0] + "' is no stage of its own");
  const std::string lab = lab_path("build/cpu/STAGE/VARIANT/lab", stage->dir, args.size() > 1 ? args[1] : "fixed");
  for (const char* name : {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}) unsetenv(name);
  (void)printed({"make", "backend=cpu", lab});
  std::fputs(plan_table(printed({lab, "plan", "1", "8", "512", "64"}), printed({lab, "plan", "2", "8", "2048", "128"}))
                 .c_str(),
             stdout);
  return 0;
}

}  // namespace lab::desk
