#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "checks/acceptance/verdict.hpp"
#include "checks/runner/commands.hpp"
#include "common/backend.hpp"

namespace lab {
namespace {

// The runner itself has all that a stage's test and make sanitize need. All other commands (commands.cpp) are a library beside it.
constexpr Command HERE[] = {{"test", test_command, Pass::stage},
                            {"racecheck", racecheck_command, Pass::stage},
                            {"fuzz", fuzz_command, Pass::stage},
                            {"once", once_command, Pass::stage}};

// commands.so is loaded when it is first asked for.
std::span<const Command> others() {
  static void* const commands = beside_runner("commands.so", "lab_commands");
  return reinterpret_cast<decltype(&lab_commands)>(commands)();
}

const Command* named(std::span<const Command> commands, std::string_view name, Pass pass) {
  const auto found = std::ranges::find_if(
      commands, [&](const Command& c) { return c.name == name && unsigned(c.of) & unsigned(pass); });
  return found == commands.end() ? nullptr : &*found;
}

[[noreturn]] void unknown(const std::string& name, const std::string& of) {
  std::string names;
  for (const std::span<const Command> commands : {std::span<const Command>(HERE), others()})
    for (const Command& one : commands) names += std::string(" ") + one.name;
  throw BadInput("'" + name + "' is no command of " + of + "; there are" + names);
}

int with_kernel(std::span<char*> args) {
  const std::string name = args.size() > 1 ? args[1] : "";
  if (!named(HERE, name, Pass::stage)) others();  // a kernel may want what is in there
  const Pass pass = load_kernel(args[0]);
  const Command* command = named(HERE, name, pass);
  if (!command) command = named(others(), name, pass);
  if (!command) unknown(name, stage_name());
  if (command->launches)
    if (const std::string why = skipped_here(); !why.empty()) {
      record("skipped", why);
      std::printf("%s\n0 passed, 0 failed, 1 skipped\n", why.c_str());
      return 3;
    }
  return command->run(args.subspan(2));
}

int dispatch(std::span<char*> args) {
  const std::string first = args.empty() ? "" : args[0];
  if (first.ends_with(".so")) return with_kernel(args);
  if (const Command* const command = named(others(), first, Pass::none)) return command->run(args.subspan(1));
  unknown(first, "several kernels, or of none");
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
