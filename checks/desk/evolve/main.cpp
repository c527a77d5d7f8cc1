// build/desk-evolve COMMAND ARGUMENT...: the elite loop over a stage's levers.
#include "checks/desk/dispatch.hpp"
#include "checks/desk/evolve/commands.hpp"

namespace lab::desk {
namespace {

constexpr Command COMMANDS[] = {
    {"search", search_command,
     "search MAKE BACKEND STAGE [KEY=VALUE...]   builds and measures until the time is spent"},
    {"build", build_command, "build MAKE BACKEND STAGE [KEY=VALUE...]    a generation of candidates, where no GPU is"},
    {"run", run_command, "run MAKE BACKEND STAGE [KEY=VALUE...]      measures what is built"},
    {"confirm", confirm_command, "confirm MAKE BACKEND STAGE [KEY=VALUE...]  the elite once more, in turns"},
    {"cheaters", cheaters_command, "cheaters MAKE BACKEND                      the referee must refuse every one"},
    {"adopt", adopt_command, "adopt MAKE STAGE LOG ROUNDS SHAPES [write] the winner beside the stage and the peers"},
};

}  // namespace
}  // namespace lab::desk

int main(int argc, char** argv) { return lab::desk::dispatch("desk-evolve", lab::desk::COMMANDS, argc, argv); }
