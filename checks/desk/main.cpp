// build/desk COMMAND ARGUMENT...: what make asks before it does anything, so little and quick to build. Errors become
// exit statuses: 0 good, 1 red, 2 bad input.
#include "checks/desk/commands.hpp"
#include "checks/desk/dispatch.hpp"

namespace lab::desk {
namespace {

constexpr Command COMMANDS[] = {
    {"dirs", dirs_command, "dirs [backward]          every stage's directory, in the order of the climb"},
    {"list", list_command, "list                     the table of `make list`"},
    {"resolve", resolve_command,
     "resolve NAME             DIR of a stage, DIR:BUG ... of a broken version of the notes"},
    {"bugs", bugs_command,
     "bugs [NAME [BUG]]        DIR:BUG ... of all stages, of one, of backward ones, or the one that BUG names"},
    {"conf", conf_command, "conf DIR KEY             what stage.conf says of KEY, or nothing"},
    {"goals", goals_command, "goals WORD... -- GOAL... one line and status 2 if a WORD is no GOAL"},
    {"mapped", mapped_command, "mapped                   STAGE:BUG ... of the bugs that have an error map"},
};

}  // namespace
}  // namespace lab::desk

int main(int argc, char** argv) { return lab::desk::dispatch("desk", lab::desk::COMMANDS, argc, argv); }
