// Jobs in processes of their own: a kernel that is loaded stays, and one that hangs or crashes ends its job alone.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <string>

#include "checks/acceptance/verdict.hpp"

namespace lab {

struct Forked {
  int status = 0;    // as a shell has it: the exit status, 128 + N after signal N
  std::string text;  // printed by the job, on standard output and error
  Verdict verdict = {};
};

constexpr int JOB_SECONDS = 600;  // then a job is ended

// As many jobs at a time as there are cores, but on a GPU four: there they launch one after the other (ExclusiveGpu), and
// each has a context of half a gigabyte.
std::size_t jobs_at_once();

// Runs job(i) for each i below `count`, in copies of this process, which must have one thread only. The job returns its exit
// status.
class ForkedJobs {
 public:
  ForkedJobs(std::size_t count, std::function<int(std::size_t)> job);
  ~ForkedJobs();  // what still runs is killed
  ForkedJobs(const ForkedJobs&) = delete;
  ForkedJobs& operator=(const ForkedJobs&) = delete;
  // Waits for job i, whose result is taken once.
  Forked take(std::size_t i);

 private:
  struct Running {
    std::size_t number;
    std::FILE* out;
    std::string verdict;  // a file
  };
  void start();
  [[noreturn]] void work(const Running& mine);

  std::size_t count_, next_ = 0;
  std::function<int(std::size_t)> job_;
  std::map<pid_t, Running> running_;
  std::map<std::size_t, Forked> done_;
};

// The same with a line of progress; take(i, ...) gets the results in order.
void each_forked(std::size_t count, const std::function<int(std::size_t)>& job,
                 const std::function<void(std::size_t, const Forked&)>& take);

}  // namespace lab
