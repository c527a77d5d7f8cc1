// Jobs spread over processes, their answers taken in order. A process of its own has its own device memory and its own
// state of the backend, so a job runs there as it would alone.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace lab {

// The process that ran a job ended before it answered.
struct ProcessDied : std::runtime_error {
  explicit ProcessDied(int status) : std::runtime_error("the process of a job ended"), status(status) {}
  int status;  // waitpid's
};

class Processes {
 public:
  // Runs job(i) for every i below `count`, in `processes` copies of this process, which must have one thread only. Jobs
  // for which together(i) holds run right after their predecessor, in the same process.
  Processes(std::size_t count, int processes, const std::function<std::string(std::size_t)>& job,
            const std::function<bool(std::size_t)>& together);
  ~Processes();  // what still runs is killed
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // The result of job(i); waits for it. Throws ProcessDied.
  std::string take(std::size_t i);

 private:
  struct Child {
    pid_t pid;
    int pipe;
    std::string unread;
    std::size_t job = NONE;  // that it is at
  };
  static constexpr std::size_t NONE = ~std::size_t(0);
  void read_some();
  void ended(Child& child);

  std::vector<Child> children_;
  std::map<std::size_t, std::string> answers_;
  std::map<std::size_t, int> died_;  // jobs that never answer: the status of their process
  int last_status_ = 0;
};

}  // namespace lab
