// build/desk COMMAND ARGUMENT...: what make asks before it does anything, so little and quick to build.
#include "checks/desk/dispatch.hpp"

namespace lab::desk {

Run dirs_command, list_command, resolve_command, bugs_command, conf_command, goals_command,
    mapped_command;  // names.cpp

static constexpr Command COMMANDS[] = {
    {"dirs", dirs_command, "[backward]", "every stage's directory, in the order of the climb"},
    {"list", list_command, "", "the table of `make list`"},
    {"resolve", resolve_command, "NAME", "DIR of a stage, DIR:BUG ... of a broken version of the notes"},
    {"bugs", bugs_command, "[NAME [BUG]]",
     "DIR:BUG ... of all stages, of one, of backward ones, or the one that BUG names"},
    {"conf", conf_command, "DIR KEY", "what stage.conf says of KEY, or nothing"},
    {"goals", goals_command, "WORD... -- GOAL...", "one line and status 2 if a WORD is no GOAL"},
    {"mapped", mapped_command, "", "STAGE:BUG ... of the bugs that have an error map"},
};

}  // namespace lab::desk

int main(int argc, char** argv) { return lab::desk::dispatch("desk", lab::desk::COMMANDS, argc, argv); }
