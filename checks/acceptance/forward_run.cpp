// The forward pass's other commands of this folder and of bugs/.
#include "checks/commands.hpp"

#include "checks/acceptance/run_files.hpp"
#include "checks/bugs/gpu_child_process.hpp"

namespace lab {

int run_command(std::span<char*> args) { return run_files(forward_subject(), args); }
int once_command(std::span<char*> args) { return launch_once(forward_subject(), args); }

}  // namespace lab
