#include "checks/desk/dispatch.hpp"
#include "checks/desk/desk.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>

namespace lab::desk {
namespace {

void print_help(const char* program, std::span<const Command> commands, std::FILE* to) {
  std::fprintf(to, "%s, of the lab's desk; it runs from the repository's root. Commands:\n", program);
  for (const Command& command : commands)
    std::fprintf(to, "  %-50s %s\n", (std::string(command.name) + " " + command.usage).c_str(), command.help);
}

void check_count(const char* program, const Command& command, std::size_t count) {
  std::size_t least = 0, most = 0;
  std::ptrdiff_t optional = 0;  // brackets that are open
  for (const std::string& word : words_of(command.usage)) {
    optional += std::ranges::count(word, '[');
    ++most, least += optional == 0;
    if (word.find("...") != word.npos) most = 100000;
    optional -= std::ranges::count(word, ']');
  }
  if (count < least || count > most)
    throw BadInput(std::string("usage: ") + program + " " + command.name + " " + command.usage);
}

int run(const char* program, std::span<const Command> commands, const Args& words) {
  if (words.empty()) {
    print_help(program, commands, stderr);
    return 2;
  }
  if (words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
    print_help(program, commands, stdout);
    return 0;
  }
  for (const Command& command : commands)
    if (words[0] == command.name) {
      check_count(program, command, words.size() - 1);
      return command.run(Args(words.begin() + 1, words.end()));
    }
  throw BadInput("unknown command '" + words[0] + "'; '" + program + " help' lists them");
}

}  // namespace

int dispatch(const char* program, std::span<const Command> commands, int argc, char** argv) {
  try {
    return run(program, commands, Args(argv + 1, argv + argc));
  } catch (const BadInput& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", program, e.what());
    return 1;
  }
}

}  // namespace lab::desk
