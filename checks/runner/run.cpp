#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "checks/acceptance/verdict.hpp"
#include "checks/runner/commands.hpp"
#include "common/backend.hpp"

namespace lab {
namespace {

// The runner itself has all that a stage's test needs. commands.cpp and all other commands are a library beside it.
constexpr Command HERE[] = {
    {"test", test_command, ""}, {"racecheck", racecheck_command, ""}, {"once", once_command, ""}};

const Command* named(std::span<const Command> commands, std::string_view name) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  return found == commands.end() ? nullptr : &*found;
}

// commands.so is loaded when it is first asked for.
std::span<const Command> commands_of(Pass pass) {
  return reinterpret_cast<decltype(&lab_commands)>(beside_runner("commands.so", "lab_commands"))(pass);
}

int unknown(const std::string& name, std::span<const Command> commands, const char* of) {
  std::FILE* const to = name == "help" ? stdout : stderr;
  if (to == stderr) std::fprintf(to, "runner: unknown command '%s'\n", name.c_str());
  std::fprintf(to, "runner, %s. Commands:\n", of);
  for (const Command& one : commands) std::fprintf(to, "  %s\n", one.help);
  return to == stderr ? 2 : 0;
}

int with_kernel(std::span<char*> args) {
  const std::string name = args.size() > 1 ? args[1] : "help";
  const Command* command = named(HERE, name);
  if (!command) commands_of(Pass::none);  // a kernel may want what is in there
  const Pass pass = load_kernel(args[0]);
  std::span<const Command> commands;
  if (!command || pass == Pass::drill) commands = commands_of(pass), command = named(commands, name);
  if (!command) return unknown(name, commands, stage_name());
  if (command->launches)
    if (const std::string why = skipped_here(); !why.empty()) {
      record("skipped", why), record("remark", why);
      std::printf("%s\n0 passed, 0 failed, 1 skipped\n", why.c_str());
      return 3;
    }
  return command->run(args.subspan(2));
}

int dispatch(std::span<char*> args) {
  const std::string first = args.empty() ? "help" : args[0];
  if (first.ends_with(".so")) return with_kernel(args);
  const std::span<const Command> commands = commands_of(Pass::none);
  if (const Command* const command = named(commands, first)) return command->run(args.subspan(1));
  return unknown(first, commands, "[build/BACKEND/STAGE/VARIANT/kernel.so]");
}

}  // namespace

int run(std::span<char*> args) {
  try {
    return dispatch(args);
  } catch (const BadInput& e) {
    std::fprintf(stderr, "lab: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lab: %s\n", e.what());
    return 1;
  }
}

int run(std::vector<std::string> words) {
  std::vector<char*> args;
  for (std::string& word : words) args.push_back(word.data());
  return run(std::span(args));
}

}  // namespace lab
