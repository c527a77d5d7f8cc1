#include "checks/runner/forked.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "checks/acceptance/report.hpp"
#include "common/backend.hpp"

namespace lab {
namespace {

struct Job {
  std::size_t number;
  std::FILE* out;
  std::string verdict;  // a file
};

[[noreturn]] void work(const Job& mine, const std::function<int(std::size_t)>& job) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(JOB_SECONDS);
  dup2(fileno(mine.out), STDOUT_FILENO), dup2(fileno(mine.out), STDERR_FILENO);
  setenv(VERDICT_FILE, mine.verdict.c_str(), 1);
  const int status = job(mine.number);
  std::fflush(nullptr);
  std::_Exit(status);  // what is loaded is not unloaded
}

std::string all_of(std::FILE* file) {
  std::rewind(file);
  std::string text;
  char buffer[1 << 16];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
  return text;
}

Forked result_of(const Job& job, int waited) {
  Forked result{WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited), all_of(job.out),
                Verdict::from(job.verdict)};
  if (result.status == 128 + SIGALRM) result.text += "stopped after " + std::to_string(JOB_SECONDS) + " s\n";
  std::fclose(job.out), std::remove(job.verdict.c_str());
  return result;
}

}  // namespace

std::size_t jobs_at_once() {
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  return std::string_view(backend_name()) == "gpu" ? std::min<std::size_t>(4, cores) : cores;
}

void each_forked(std::size_t count, const std::function<int(std::size_t)>& job,
                 const std::function<void(std::size_t, const Forked&)>& take) {
  Progress progress(count, double(count), true);
  std::map<pid_t, Job> running;
  std::map<std::size_t, Forked> done;
  for (std::size_t next = 0, taken = 0; taken < count;) {
    while (next < count && running.size() < jobs_at_once()) {
      char verdict[] = "/tmp/lab-verdict-XXXXXX";
      const Job mine{next++, std::tmpfile(), (close(mkstemp(verdict)), verdict)};
      if (!mine.out) throw std::runtime_error("no temporary file can be had");
      std::fflush(nullptr);  // or the child would print it again
      const pid_t pid = fork();
      if (pid < 0) throw std::runtime_error("no process can be started");
      if (pid == 0) work(mine, job);
      running.emplace(pid, mine);
    }
    int waited = 0;
    const pid_t pid = waitpid(-1, &waited, 0);
    if (pid < 0 && errno != EINTR) throw std::runtime_error("lost sight of a process");
    if (const auto found = running.find(pid); found != running.end()) {
      done.emplace(found->second.number, result_of(found->second, waited));
      running.erase(found);
      progress.finish(1), progress.start("kernels");
    }
    if (done.contains(taken)) progress.clear();
    for (; done.contains(taken); ++taken) take(taken, done.at(taken)), done.erase(taken);
  }
}

}  // namespace lab
