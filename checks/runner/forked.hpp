// Jobs that each load a kernel, in processes of their own: a kernel that is loaded stays, and one that hangs or crashes ends
// its job alone.
#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include "checks/acceptance/verdict.hpp"

namespace lab {

struct Forked {
  int status = 0;    // as a shell has it: the exit status, 128 + N after signal N
  std::string text;  // what the job printed, on standard output and error
  Verdict verdict = {};
};

constexpr int JOB_SECONDS = 600;  // then a job is ended

// As many jobs at a time as there are cores, but on a GPU four: there they launch one after the other (ExclusiveGpu), and
// each has a context of half a gigabyte.
std::size_t jobs_at_once();

// Runs job(i) for each i below `count`, and hands over what came of it: take(i, ...), in order, as soon as those before it are
// taken. What job(i) returns is its exit status.
void each_forked(std::size_t count, const std::function<int(std::size_t)>& job,
                 const std::function<void(std::size_t, const Forked&)>& take);

}  // namespace lab
