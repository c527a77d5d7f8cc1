// The runner: `runner KERNEL.so COMMAND [KEY=VALUE...]` loads a stage's library and does one thing with it. Exit statuses:
// 0 good, 1 red, 2 bad input, 3 nothing could be looked at (a GPU that cannot run this stage, or one that does not show a
// bug).
#define DOCTEST_CONFIG_IMPLEMENT
// A fault inside a kernel is the CPU backend's to report, with block and lane
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "checks/acceptance/verdict.hpp"
#include "checks/runner/commands.hpp"
#include "common/backend.hpp"

namespace {

// What a stage's test needs is linked into the runner. commands.cpp and all other commands are a library beside it.
constexpr lab::Command HERE[] = {
    {"test", lab::test_command, ""}, {"racecheck", lab::racecheck_command, ""}, {"once", lab::once_command, ""}};

const lab::Command* named(std::span<const lab::Command> commands, std::string_view name) {
  const auto found = std::ranges::find(commands, name, &lab::Command::name);
  return found == commands.end() ? nullptr : &*found;
}

int run(std::span<char*> args) {
  if (args.empty()) throw lab::BadInput("usage: runner build/BACKEND/STAGE/VARIANT/kernel.so COMMAND [KEY=VALUE...]");
  const std::string_view name = args.size() > 1 ? args[1] : "help";
  const lab::Command* command = named(HERE, name);
  if (!command) lab::load_commands();
  const lab::Pass pass = lab::load_kernel(args[0]);
  std::span<const lab::Command> commands;
  if (!command || pass != lab::Pass::forward) {
    commands = lab::load_commands()(pass);
    command = named(commands, name);
  }
  if (!command) {
    std::FILE* const to = name == "help" ? stdout : stderr;
    if (to == stderr) std::fprintf(to, "runner: unknown command '%s'\n", args[1]);
    std::fprintf(to, "runner: %s on %s. Commands:\n", lab::stage_name(), lab::backend_name());
    for (const lab::Command& one : commands) std::fprintf(to, "  %s\n", one.help);
    return to == stderr ? 2 : 0;
  }
  if (command->launches)
    if (const std::string why = lab::skipped_here(); !why.empty()) {
      lab::say("skipped", why), lab::say("remark", why);
      std::printf("%s\n0 passed, 0 failed, 1 skipped\n", why.c_str());
      return 3;
    }
  return command->run(args.subspan(2));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(std::span<char*>(argv, std::size_t(argc)).subspan(1));
  } catch (const lab::BadInput& e) {
    std::fprintf(stderr, "lab: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lab: %s\n", e.what());
    return 1;
  }
}
