#include "checks/runner/forked.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "checks/acceptance/report.hpp"
#include "checks/acceptance/whole_file.hpp"
#include "common/backend.hpp"

namespace lab {

std::size_t jobs_at_once() {
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  return std::string_view(backend_name()) == "gpu" ? std::min<std::size_t>(4, cores) : cores;
}

ForkedJobs::ForkedJobs(std::size_t count, std::function<int(std::size_t)> job) : count_(count), job_(std::move(job)) {
  start();
}

ForkedJobs::~ForkedJobs() {
  for (const auto& [pid, job] : running_) {
    kill(pid, SIGKILL);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    std::fclose(job.out), std::remove(job.verdict.c_str());
  }
}

void ForkedJobs::work(const Running& mine) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(JOB_SECONDS);
  dup2(fileno(mine.out), STDOUT_FILENO), dup2(fileno(mine.out), STDERR_FILENO);
  setenv(VERDICT_FILE, mine.verdict.c_str(), 1);
  const int status = job_(mine.number);
  std::fflush(nullptr);
  std::_Exit(status);  // what is loaded is not unloaded
}

void ForkedJobs::start() {
  while (next_ < count_ && running_.size() < jobs_at_once()) {
    char verdict[] = "/tmp/lab-verdict-XXXXXX";
    const Running mine{next_++, std::tmpfile(), (close(mkstemp(verdict)), verdict)};
    if (!mine.out) throw std::runtime_error("no temporary file can be had");
    std::fflush(nullptr);  // or the child would print it again
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("no process can be started");
    if (pid == 0) work(mine);
    running_.emplace(pid, mine);
  }
}

Forked ForkedJobs::take(std::size_t i) {
  while (!done_.contains(i)) {
    int waited = 0;
    const pid_t pid = waitpid(-1, &waited, 0);
    if (pid < 0 && errno != EINTR) throw std::runtime_error("lost sight of a process");
    const auto found = running_.find(pid);
    if (found == running_.end()) continue;
    const Running& job = found->second;
    Forked result{WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited), read_whole(job.out),
                  Verdict::from(job.verdict)};
    if (result.status == 128 + SIGALRM) result.text += "stopped after " + std::to_string(JOB_SECONDS) + " s\n";
    std::fclose(job.out), std::remove(job.verdict.c_str());
    done_.emplace(job.number, std::move(result));
    running_.erase(found);
    start();
  }
  return std::move(done_.extract(i).mapped());
}

void each_forked(std::size_t count, const std::function<int(std::size_t)>& job,
                 const std::function<void(std::size_t, const Forked&)>& take) {
  Progress progress(count, double(count), true);
  ForkedJobs jobs(count, job);
  for (std::size_t i = 0; i < count; ++i) {
    progress.start("kernels");
    const Forked result = jobs.take(i);
    progress.finish(1);
    take(i, result);
  }
}

}  // namespace lab
