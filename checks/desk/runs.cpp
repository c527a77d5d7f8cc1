// Programs run (runs.hpp).
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "checks/desk/runs.hpp"

extern char** environ;

namespace lab::desk {
namespace {

using File = std::unique_ptr<std::FILE, decltype([](std::FILE* f) { std::fclose(f); })>;
constexpr int GRACE = 5;  // seconds from asking a group to end to ending it

// Standard input, output and error of a child; nullptr: this program's own.
using Streams = std::array<std::FILE*, 3>;

// Returns -1 if the program cannot be started.
pid_t start(const Argv& argv, const Streams& files) {
  std::fflush(nullptr);  // what was printed before stands before what the program prints
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; ++i)
    if (std::FILE* file = files[std::size_t(i)]) posix_spawn_file_actions_adddup2(&actions, fileno(file), i);
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (!failed) return pid;
  std::fprintf(files[2] ? files[2] : stderr, "%s cannot be started\n", words[0]);
  return -1;
}

Ended end_of(pid_t pid) {
  if (pid < 0) return {127};
  int waited = 0;
  rusage used{};
  while (wait4(pid, &waited, 0, &used) < 0)
    if (errno != EINTR) throw std::runtime_error("lost sight of a process");
  const auto seconds = [](const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
  return {WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited), false,
          seconds(used.ru_utime) + seconds(used.ru_stime)};
}

File opened(const std::string& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode));
  if (!file) throw BadInput(path + " cannot be opened");
  return file;
}

// The log must be writable: a program whose output went nowhere would count as silent.
pid_t start_logged(const Argv& argv, const std::string& log) {
  const File nothing = opened("/dev/null", "re");
  if (log.empty()) return start(argv, {nothing.get(), nullptr, nullptr});
  write_text(log, "");
  const File file = opened(log, "we");
  return start(argv, {nothing.get(), file.get(), file.get()});
}

// Temporary files and no pipes: a writer never waits for a reader, however much is printed.
File scratch() {
  File file(std::tmpfile());
  if (!file) throw std::runtime_error("no temporary file can be had");
  return file;
}

std::string all_of(std::FILE* file) {
  std::rewind(file);
  std::string text;
  char buffer[1 << 16];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
  return text;
}

}  // namespace

Argv with(Argv argv, const Argv& more) {
  argv.insert(argv.end(), more.begin(), more.end());
  return argv;
}

Ended run(const Argv& argv, const std::string& log) { return end_of(start_logged(argv, log)); }

// timeout(1) hands the signal of its parent's death on to its group.
Ended run_limited(const Argv& argv, const std::string& log, int limit) {
  const Stopwatch watch;
  Ended ended = end_of(start_logged(with({"setpriv", "--pdeathsig", "TERM", "timeout",
                                          "--kill-after=" + std::to_string(GRACE), std::to_string(limit)},
                                         argv),
                                    log));
  if (watch.seconds() >= limit && (ended.status == 124 || ended.status == 128 + SIGKILL)) ended = {124, true};
  return ended;
}

Ran capture(const Argv& argv, const std::string& input) {
  const File in = scratch(), out = scratch(), err = scratch();
  if (std::fwrite(input.data(), 1, input.size(), in.get()) != input.size() || std::fflush(in.get()) != 0)
    throw std::runtime_error("a temporary file cannot be written");
  std::rewind(in.get());
  const Ended ended = end_of(start(argv, {in.get(), out.get(), err.get()}));
  return {ended.status, all_of(out.get()), all_of(err.get())};
}

Ran capture_sh(const std::string& command, const std::string& input) { return capture({"sh", "-c", command}, input); }

std::string first_line(const Argv& argv) {
  const Ran ran = capture(argv);
  return ran.status == 0 ? ran.out.substr(0, ran.out.find('\n')) : "";
}

std::string runner_of(const std::string& kernel) {
  return kernel.substr(0, kernel.find('/', kernel.find("build/") + 6)) + "/runner";
}

std::string total_line(const Counts& counts) {
  return std::to_string(counts.passed) + " passed, " + std::to_string(counts.failed) + " failed" +
         (counts.skipped ? ", " + std::to_string(counts.skipped) + " skipped" : "");
}

int told(const Counts& counts) {
  std::printf("%s\n", total_line(counts).c_str());
  return counts.status();
}

}  // namespace lab::desk
