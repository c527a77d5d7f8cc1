// build/desk COMMAND ARGUMENT...: the table of commands; errors become exit statuses: 0 good, 1 red, 2 bad input.
#include <cstdio>
#include <exception>

#include "checks/desk/commands.hpp"

namespace lab::desk {
namespace {

constexpr Command COMMANDS[] = {
    {"dirs", dirs_command, "dirs                     every stage's directory, in the order of the climb"},
    {"list", list_command, "list                     the table of `make list`"},
    {"resolve", resolve_command,
     "resolve NAME             DIR of a stage, DIR:BUG ... of a broken version of the notes"},
    {"bugs", bugs_command, "bugs [NAME [BUG]]        DIR:BUG ... of all stages, of one, or the one that BUG names"},
    {"conf", conf_command, "conf DIR KEY             what stage.conf says of KEY, or nothing"},
    {"goals", goals_command, "goals WORD... -- GOAL... one line and status 2 if a WORD is no GOAL"},
    {"mapped", mapped_command, "mapped                   STAGE:BUG ... of the bugs that have an error map"},
    {"patch", patch_command, "patch STAGE BUG OUT      the kernel with the bug's patch, for a compiler"},
    {"patches", patches_command, "patches [fix]            whether every patch applies; fix renews line numbers"},
    {"show-bug", show_bug_command, "show-bug STAGE [BUG]     the patch of a bug, or of all of a stage"},
    {"edit-bug", edit_bug_command, "edit-bug STAGE BUG [new] a patched copy of the kernel to work on"},
    {"save-bug", save_bug_command, "save-bug STAGE BUG       the patch, written back from that copy"},
    {"reproduce", reproduce_command,
     "reproduce STAGE STAGE:BUG=BUG_LAB=FIXED_LAB...\n                           each fingerprint where it must show, "
     "and its absence where it must not"},
    {"check-harness", check_harness_command,
     "check-harness STAGE:BUG=LAB...\n                           the acceptance must be red on each"},
    {"broken-version", broken_version_command,
     "broken-version STAGE STAGE:BUG=LAB...\n                           the acceptance of a version that never worked"},
    {"pieces", pieces_command,
     "pieces                   runs the lines NAME: COMMAND of standard input, and adds up what they count"},
};

void print_help(std::FILE* to) {
  std::fprintf(to, "The lab's desk; it runs from the repository's root. Commands:\n");
  for (const Command& command : COMMANDS) std::fprintf(to, "  desk %s\n", command.help);
}

int dispatch(const Args& words) {
  if (words.empty()) {
    print_help(stderr);
    return 2;
  }
  if (words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
    print_help(stdout);
    return 0;
  }
  for (const Command& command : COMMANDS)
    if (words[0] == command.name) return command.run(Args(words.begin() + 1, words.end()));
  throw BadInput("unknown command '" + words[0] + "'; 'desk help' lists them");
}

}  // namespace
}  // namespace lab::desk

int main(int argc, char** argv) {
  try {
    return lab::desk::dispatch(lab::desk::Args(argv + 1, argv + argc));
  } catch (const lab::BadInput& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "desk: %s\n", e.what());
    return 1;
  }
}
