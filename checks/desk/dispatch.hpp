// The common part of the desk's programs: a table of commands, and errors that become exit statuses.
#pragma once
#include <span>

#include "checks/desk/desk.hpp"

namespace lab::desk {

// A command of a program. Returns the exit status: 0 good, 1 red. Throws BadInput for what becomes one line on standard error and
// status 2.
using Run = int(const Args& args);
struct Command {
  const char* name;
  Run* run;
  const char* usage;  // its words: NAME one, [NAME] one or none, NAME... one or more
  const char* help;
};

// argv[1] names the command. Exit status 0 good, 1 red, 2 bad input, with one line on standard error.
int dispatch(const char* program, std::span<const Command> commands, int argc, char** argv);

}  // namespace lab::desk
