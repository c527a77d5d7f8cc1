// The commands of `tester`: what `make stage=S test` runs.
#include "checks/commands.hpp"

namespace lab {

static constexpr Command COMMANDS[] = {
    {"test", test_command, "test [full=1] [turns=1]                acceptance of the linked stage; lab has more"},
    {"racecheck", racecheck_command, "racecheck [short=1] [first=1]          races, uninitialised reads, overruns"},
};

std::span<const Command> commands() { return COMMANDS; }

}  // namespace lab
