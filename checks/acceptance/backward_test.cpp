// A backward stage's commands that are the forward pass's.
#include <cstdio>
#include <string_view>

#include "checks/commands.hpp"

#include "checks/acceptance/acceptance.hpp"
#include "checks/acceptance/run_files.hpp"
#include "checks/acceptance/same_bits.hpp"
#include "checks/bugs/gpu_child_process.hpp"
#include "checks/races/racecheck.hpp"

namespace lab {

int backward_test_command(std::span<char*> args) { return test_stage(backward_subject(), args); }
int backward_racecheck_command(std::span<char*> args) { return racecheck(backward_subject(), args); }
int backward_run_command(std::span<char*> args) { return run_files(backward_subject(), args); }
int backward_once_command(std::span<char*> args) { return launch_once(backward_subject(), args); }

// lab same-bits [orders=N]
int same_bits_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"orders"};
  const std::uint64_t orders = KeyValues(args, keys).whole("orders", 1000);
  if (orders == 1) throw BadInput("orders=1: one order has nothing to differ from");
  const auto [lines, red] = order_of_blocks(backward_subject(), orders ? orders : SAME_BITS_LAUNCHES);
  std::printf("%s\n", lines.substr(1).c_str());
  return red.empty() ? 0 : 1;
}

}  // namespace lab
