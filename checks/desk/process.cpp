#include "checks/desk/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <stdexcept>

#include "checks/desk/desk.hpp"

extern char** environ;

namespace lab::desk {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto GRACE = std::chrono::seconds(5);  // from asking a group to end to ending it

// The events that run_limited waits for.
constexpr int WATCHED[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
const sigset_t& watched() {
  static const sigset_t set = [] {
    sigset_t all;
    sigemptyset(&all);
    for (const int signal : WATCHED) sigaddset(&all, signal);
    return all;
  }();
  return set;
}

double seconds(const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); }

int status_of(int waited) { return WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited); }

// Returns -1 if the program cannot be started.
pid_t start(const Argv& argv, const std::string& log, bool own_group, const sigset_t& mask) {
  std::fflush(nullptr);  // what was printed before stands before what the program prints
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!log.empty()) {
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, short(POSIX_SPAWN_SETSIGMASK | (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, words[0], &files, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return failed ? -1 : pid;
}

Ended not_started(const Argv& argv) {
  std::fprintf(stderr, "%s cannot be started\n", argv.at(0).c_str());
  return {127};
}

// The file must be writable: a program whose output went nowhere would count as silent.
void check_log(const std::string& log) {
  if (!log.empty()) write_text(log, "");
}

// Those that run_limited has under way, in any thread.
std::mutex groups_lock;
std::set<pid_t> groups;

void end_group(pid_t group) {
  kill(-group, SIGTERM);
  const auto until = Clock::now() + GRACE;
  while (Clock::now() < until) {
    while (waitpid(group, nullptr, WNOHANG) > 0) {
    }
    if (kill(-group, 0) != 0) return;
    usleep(20000);
  }
  kill(-group, SIGKILL);
}

// The desk was asked to end: whoever of its threads was told ends what all have started.
[[noreturn]] void end_all(int signal) {
  const std::lock_guard guard(groups_lock);  // kept: nothing starts any more
  for (const pid_t group : groups) kill(-group, SIGTERM);
  for (const pid_t group : groups) end_group(group);
  std::fflush(nullptr);
  _exit(128 + signal);
}

constexpr auto LOOK = std::chrono::milliseconds(50);  // another thread may have been told of this one's child

}  // namespace

void leave_signals_to_run_limited() { pthread_sigmask(SIG_BLOCK, &watched(), nullptr); }

void pause_for(int milliseconds) {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, &watched(), &mask);
  const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
  for (auto left = until - Clock::now(); left > left.zero(); left = until - Clock::now()) {
    const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(std::min<Clock::duration>(left, LOOK));
    const timespec wait{0, rest.count()};
    const int signal = sigtimedwait(&watched(), nullptr, &wait);
    if (signal > 0 && signal != SIGCHLD) end_all(signal);
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

Ended run(const Argv& argv, const std::string& log) {
  check_log(log);
  sigset_t mask;
  sigprocmask(SIG_SETMASK, nullptr, &mask);
  const pid_t pid = start(argv, log, false, mask);
  if (pid < 0) return not_started(argv);
  int waited = 0;
  while (waitpid(pid, &waited, 0) < 0 && errno == EINTR) {
  }
  return {status_of(waited)};
}

Ended run_limited(const Argv& argv, const std::string& log, int limit) {
  check_log(log);
  sigset_t mask, childs;
  pthread_sigmask(SIG_BLOCK, &watched(), &mask);
  childs = mask;
  for (const int signal : WATCHED) sigdelset(&childs, signal);
  const auto until = Clock::now() + std::chrono::seconds(limit);
  pid_t pid;
  {
    const std::lock_guard guard(groups_lock);
    pid = start(argv, log, true, childs);
    if (pid > 0) groups.insert(pid);
  }
  Ended ended;
  if (pid < 0) ended = not_started(argv);
  for (int waited = 0; pid > 0;) {
    rusage used{};
    const pid_t done = wait4(pid, &waited, WNOHANG, &used);
    if (done == pid) {
      ended.status = status_of(waited);
      ended.core_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
      break;
    }
    const auto left = until - Clock::now();
    if (left <= left.zero()) {
      end_group(pid);
      while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
      ended = {124, true};
      break;
    }
    const auto look = std::chrono::duration_cast<std::chrono::nanoseconds>(std::min<Clock::duration>(left, LOOK));
    const timespec wait{0, look.count()};
    const int signal = sigtimedwait(&watched(), nullptr, &wait);
    if (signal > 0 && signal != SIGCHLD) end_all(signal);
  }
  if (pid > 0) {
    const std::lock_guard guard(groups_lock);
    groups.erase(pid);
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  return ended;
}

Argv judged(const Argv& argv, const std::string& log) {
  const std::string file = log + ".verdict";
  std::filesystem::remove(file);
  Argv with = {"env", std::string(VERDICT_FILE) + "=" + file};
  with.insert(with.end(), argv.begin(), argv.end());
  return with;
}

Verdict verdict_beside(const std::string& log) { return Verdict::from(log + ".verdict"); }

}  // namespace lab::desk
