// The `lab` binary: one stage, one planted bug or none, one backend. It finds the subcommand and turns errors
// into exit statuses: 0 good, 1 red, 2 bad input, 3 nothing could be looked at (a GPU that cannot run this stage, or
// one that does not show a bug).
#define DOCTEST_CONFIG_IMPLEMENT
// A fault inside a kernel is the CPU backend's to report, with block and lane
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#include <doctest/doctest.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "checks/acceptance/verdict.hpp"
#include "checks/commands.hpp"
#include "common/backend.hpp"

namespace {

void print_help(std::FILE* to) {
  std::fprintf(to, "lab: %s on %s. Commands:\n", lab::stage_name(), lab::backend_name());
  for (const lab::Command& command : lab::commands()) std::fprintf(to, "  lab %s\n", command.help);
}

int dispatch(std::span<char*> args) {
  if (args.empty()) {
    print_help(stderr);
    return 2;
  }
  const std::string_view name = args[0];
  if (name == "help" || name == "--help" || name == "-h") {
    print_help(stdout);
    return 0;
  }
  for (const lab::Command& command : lab::commands())
    if (name == command.name) {
      if (command.launches)
        if (const std::string why = lab::skipped_here(); !why.empty()) {
          lab::record("skipped", why), lab::record("remark", why);
          std::printf("%s\n0 passed, 0 failed, 1 skipped\n", why.c_str());
          return 3;
        }
      return command.run(args.subspan(1));
    }
  std::fprintf(stderr, "lab: unknown command '%s'\n", args[0]);
  print_help(stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(std::span<char*>(argv, std::size_t(argc)).subspan(1));
  } catch (const lab::BadInput& e) {
    std::fprintf(stderr, "lab: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lab: %s\n", e.what());
    return 1;
  }
}
