// Starting other programs.
#pragma once
#include <string>
#include <vector>

#include "checks/acceptance/verdict.hpp"

namespace lab::desk {

using Argv = std::vector<std::string>;

struct Ended {
  int status = 0;           // as a shell has it: the exit status, 128 + N after signal N, 127 if it cannot be started
  bool timed_out = false;   // stopped, because it was still running at its time limit
  double core_seconds = 0;  // processor time, with that of all that it started and waited for
};

// Runs a program and waits for it. Standard output and error go to `log` ("" leaves them where the desk's own go),
// standard input is empty. It shares the desk's process group, so that ^C ends both. Throws BadInput if `log` cannot be
// written.
Ended run(const Argv& argv, const std::string& log = "");

// The same in a process group of its own, by timeout(1), which ends all of it after `limit` seconds, or when the desk itself is
// asked to end (^C, SIGTERM): then this call does not return, and the desk's status is 128 + signal. Several threads may call it
// at a time.
Ended run_limited(const Argv& argv, const std::string& log, int limit);

// The same command, which leaves its verdict (checks/acceptance/verdict.hpp) beside that log; and the verdict.
Argv judged(const Argv& argv, const std::string& log);
Verdict verdict_beside(const std::string& log);

struct Ran {
  int status = 0;
  std::string out, err;
};
// Runs a program for what it prints, with `input` as its standard input; the second a command line of sh.
Ran capture(const Argv& argv, const std::string& input = "");
Ran capture_sh(const std::string& command, const std::string& input = "");
// The first line that a program printed, without the end of line; "" if it failed or printed nothing.
std::string first_line(const Argv& argv);

}  // namespace lab::desk
