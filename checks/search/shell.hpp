// A command of sh: what it prints, and its exit status. ^C ends this program too, as a call of system() would not.
#pragma once
#include <sys/wait.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace lab::search {

struct Printed {
  std::string text;
  int status;  // -1: ended by a signal
};

inline Printed shell(const std::string& command) {
  std::fflush(nullptr);  // what was printed before stands before what the command prints
  std::FILE* const pipe = popen(command.c_str(), "re");
  if (!pipe) throw std::runtime_error("sh cannot be started");
  Printed printed;
  char buffer[1 << 12];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) printed.text.append(buffer, n);
  const int waited = pclose(pipe);
  printed.status = WIFEXITED(waited) ? WEXITSTATUS(waited) : -1;
  return printed;
}

}  // namespace lab::search
