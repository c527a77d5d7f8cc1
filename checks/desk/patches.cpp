// desk patch, patches, show-bug, edit-bug, save-bug: bugs as patches.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "checks/desk/desk.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/pieces.hpp"
#include "checks/desk/workbench.hpp"

namespace lab::desk {
namespace {

// The stage and the bug that the words name, which may be a broken version's.
const Bug& named(const Ladder& ladder, const Args& args) {
  if (args[0].empty() || args[1].empty()) throw BadInput("which bug? stage=NAME bug=NAME; see 'make list'");
  return *ladder.bugs(args[0], args[1]).at(0);
}

}  // namespace

int patch_command(const Args& args) {
  const Patch patch = read_patch(patch_path(args[0], args[1]));
  if (patch.source != kernel_path(args[0]))
    throw BadInput(patch.path + " is a diff of " + patch.source + ", which is not this stage's");
  write_text(args[2], patched_for_compiler(patch, read_text(patch.source)));
  return 0;
}

int patches_command(const Args& args) {
  const bool fix = !args.empty();
  if (fix && args[0] != "fix") throw BadInput("'" + args[0] + "' means nothing here; it is fix");
  Counts counts;
  for (const Surveyed& patch : survey_patches(".", fix)) {
    ++(patch.wrong.empty() ? counts.passed : counts.failed);
    if (!patch.wrong.empty()) std::fprintf(stderr, "%s\n", patch.wrong.c_str());
    if (patch.moved)
      std::printf(
          "%s: %s\n", patch.path.c_str(),
          fix ? "its line numbers are renewed" : "applies, but its lines have moved; make patches fix=1 renews them");
  }
  std::printf("%s\n", total_line(counts).c_str());
  return counts.failed ? 2 : 0;
}

int show_bug_command(const Args& args) {
  const Ladder ladder = read_ladder();
  const bool colour = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  bool first = true;
  for (const Bug* bug : args.size() == 1 || args[1].empty() ? ladder.bugs(args[0]) : ladder.bugs(args[0], args[1])) {
    const std::string path = patch_path(bug->stage, bug->name);
    if (!first) std::printf("\n");
    first = false;
    std::fputs(readable(read_patch(path), read_text(path), bug->stage, bug->name, colour).c_str(), stdout);
  }
  if (first) throw BadInput("stage '" + args[0] + "' has no bugs");
  return 0;
}

int edit_bug_command(const Args& args) {
  const Ladder ladder = read_ladder();
  const bool fresh = args.size() == 3 && args[2] == "new";
  std::string stage, bug = args[1];
  if (fresh) {
    const Stage* home = ladder.stage(args[0]);
    if (!home)
      ladder.bugs(args[0]), throw BadInput("a new bug needs a stage of its own, which '" + args[0] + "' is not");
    stage = home->dir;
  } else {
    stage = named(ladder, args).stage;
  }
  const Workbench bench = open_workbench(".", stage, bug, fresh);
  for (const std::string& line : bench.rejected) std::printf("%s\n", line.c_str());
  std::printf("%s%s: edit it, and %s\n", bench.kernel.c_str(), bench.continued ? " (unsaved work goes on)" : "",
              bench.head.c_str());
  const char* editor = std::getenv("EDITOR");
  if (editor && *editor && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
    std::fflush(stdout);
    if (std::system((std::string(editor) + " " + bench.kernel).c_str()) != 0)
      throw BadInput(std::string(editor) + " ended with an error; " + bench.kernel + " is as it left it");
  }
  std::printf("then: make stage=%s save-bug bug=%s\n", args[0].c_str(), bug.c_str());
  return 0;
}

int save_bug_command(const Args& args) {
  const Ladder ladder = read_ladder();
  const Stage* home = ladder.stage(args[0]);
  // A bug that is yet to be has no patch to be found by.
  const std::string stage = home ? home->dir : named(ladder, args).stage;
  if (args[1].empty()) throw BadInput("which bug? save-bug needs bug=NAME");
  const std::string path = save_workbench(".", stage, args[1]);
  std::printf("%s is written\n", path.c_str());
  for (const std::string& also : {"stages/" + stage + "/bugs/" + args[1] + ".cpp", "writeups/bugs/" + args[1] + ".md"})
    if (access(also.c_str(), R_OK) != 0) std::printf("still missing: %s\n", also.c_str());
  std::printf("then: make stage=%s show-bug bug=%s; make stage=%s reproduce-bug bug=%s\n", args[0].c_str(),
              args[1].c_str(), args[0].c_str(), args[1].c_str());
  return 0;
}

}  // namespace lab::desk
