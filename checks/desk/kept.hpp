// Runs of a stage's binary on the CPU, kept beside it. There a run is a function of the binary, its arguments and the
// stage's sources: schedules are drawn from seeds, and no number depends on the count of workers. So what one command
// of a session has seen, another need not run again; where any of them has changed since, the run does not count.
#pragma once
#include <string>

#include "checks/desk/process.hpp"

namespace lab::desk {

struct LabRun {
  int status = 0;
  std::string out;  // standard output and error
  Verdict verdict = {};
  bool reused = false;  // an earlier run's
};

// Runs a lab and keeps what it said in kept/ beside the binary; or, where kept_runs_count() and a run with these
// arguments still holds, takes that. Only the statuses 0 (good) and 1 (red) are kept: after a bad input, a fault or a
// signal the next call runs again. A binary outside build/cpu/STAGE/VARIANT always runs, and nothing of it is kept.
LabRun run_lab(const Argv& argv);

// How many of the labs that these words name may run at a time: as many as there are cores, but on a GPU four. There
// they launch one after the other (ExclusiveGpu), and each has a context of half a gigabyte.
std::size_t at_once(const Argv& words);

// Whether the environment says LAB_KEPT=use. `make writeups` says so to the commands of the pages; with LAB_KEPT=no in
// its environment they all run again.
bool kept_runs_count();

// How many runs below build/cpu still hold.
int kept_runs();

}  // namespace lab::desk
