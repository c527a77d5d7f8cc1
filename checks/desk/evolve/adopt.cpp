#include "checks/desk/evolve/commands.hpp"
namespace lab::desk {
int adopt_command(const Args&) { throw BadInput("not yet"); }
}  // namespace lab::desk
