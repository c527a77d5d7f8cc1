// The forward pass's commands that a stage's test is made of.
#include "checks/commands.hpp"

#include "checks/acceptance/acceptance.hpp"
#include "checks/races/racecheck.hpp"

namespace lab {

int test_command(std::span<char*> args) { return test_stage(forward_subject(), args); }
int racecheck_command(std::span<char*> args) { return racecheck(forward_subject(), args); }

}  // namespace lab
