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
  double core_seconds = 0;  // of run_limited: processor time, with that of all that it started and waited for
};

// Runs a program and waits for it. Standard output and error go to `log` ("" leaves them where the desk's own go),
// standard input is empty. It shares the desk's process group, so that ^C ends both. Throws BadInput if `log` cannot be
// written.
Ended run(const Argv& argv, const std::string& log = "");

// The same in a process group of its own, which is ended as a whole after `limit` seconds, or when the desk itself is
// asked to end (^C, SIGTERM): then this call does not return, and the desk's status is 128 + signal. Several threads
// may call it at a time; the one that starts them first calls leave_signals_to_run_limited().
Ended run_limited(const Argv& argv, const std::string& log, int limit);
void leave_signals_to_run_limited();

// The same command, which leaves its verdict (checks/acceptance/verdict.hpp) beside that log; and the verdict.
Argv judged(const Argv& argv, const std::string& log);
Verdict verdict_beside(const std::string& log);

// Waits so long, or ends the desk as above where it is asked to end: a desk whose signals are left to run_limited would
// not be told of ^C in a plain sleep.
void pause_for(int milliseconds);

}  // namespace lab::desk
