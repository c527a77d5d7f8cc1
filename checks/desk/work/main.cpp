// build/desk-work COMMAND ARGUMENT...: bugs as patches, builds run and judged, mutants. A program of its own beside
// build/desk, because a stage's test needs none of it.
#include "checks/desk/commands.hpp"
#include "checks/desk/dispatch.hpp"

namespace lab::desk {
namespace {

constexpr Command COMMANDS[] = {
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
    {"racecheck", racecheck_command,
     "racecheck LAB...         each CPU build's race check; status 1 where there are findings"},
    {"broken-version", broken_version_command,
     "broken-version STAGE STAGE:BUG=LAB...\n                           the acceptance of a version that never worked"},
    {"mutate", mutate_command, "mutate STAGE NAME OUT    the kernel with an unplanned mistake"},
    {"mutants", mutants_command,
     "mutants MAKE ONLY STAGE...\n                           builds and runs them; each must be red, or said to be "
     "equivalent"},
    {"pieces", pieces_command,
     "pieces [limit=SECONDS] [counted]\n                           runs the lines NAME: COMMAND of standard input side "
     "by "
     "side, and adds up what they count"},
};

}  // namespace
}  // namespace lab::desk

int main(int argc, char** argv) { return lab::desk::dispatch("desk-work", lab::desk::COMMANDS, argc, argv); }
