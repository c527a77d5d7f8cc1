#include "checks/acceptance/processes.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

namespace lab {
namespace {

// A message through a pipe: that a job has begun, or its answer, `bytes` of which follow.
struct Message {
  std::size_t job, bytes;
};
constexpr std::size_t BEGUN = ~std::size_t(0);

void write_all(int pipe, const void* from, std::size_t bytes) {
  for (const auto* at = static_cast<const char*>(from); bytes > 0;) {
    const ssize_t written = write(pipe, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) _exit(1);  // the reader is gone
    at += written, bytes -= std::size_t(written);
  }
}

[[noreturn]] void work(int pipe, std::atomic<std::size_t>& next, const std::vector<std::size_t>& begins,
                       const std::function<std::string(std::size_t)>& job) {
  for (std::size_t group = next++; group + 1 < begins.size(); group = next++)
    for (std::size_t i = begins[group]; i < begins[group + 1]; ++i) {
      const Message begun{i, BEGUN};
      write_all(pipe, &begun, sizeof begun);
      const std::string answer = job(i);
      const Message message{i, answer.size()};
      write_all(pipe, &message, sizeof message);
      write_all(pipe, answer.data(), answer.size());
    }
  _exit(0);
}

}  // namespace

Processes::Processes(std::size_t count, int processes, const std::function<std::string(std::size_t)>& job,
                     const std::function<bool(std::size_t)>& together) {
  void* shared =
      mmap(nullptr, sizeof(std::atomic<std::size_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::bad_alloc();
  auto& next = *new (shared) std::atomic<std::size_t>(0);
  std::vector<std::size_t> begins;  // of the groups, and the end
  for (std::size_t i = 0; i < count; ++i)
    if (i == 0 || !together(i)) begins.push_back(i);
  begins.push_back(count);
  std::fflush(nullptr);  // or every copy would print what is still unwritten
  for (int i = 0; i < processes; ++i) {
    int ends[2];
    if (pipe(ends) != 0) break;
    const pid_t pid = fork();
    if (pid == 0) {
      for (const Child& other : children_) close(other.pipe);
      close(ends[0]);
      work(ends[1], next, begins, job);
    }
    close(ends[1]);
    if (pid > 0)
      children_.push_back({pid, ends[0], {}});
    else
      close(ends[0]);
  }
  munmap(shared, sizeof(std::atomic<std::size_t>));
  if (children_.empty()) throw std::runtime_error("no process can be started");
}

Processes::~Processes() {
  for (const Child& child : children_) {
    kill(child.pid, SIGKILL);
    close(child.pipe);
    while (waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

std::string Processes::take(std::size_t i) {
  for (;;) {
    if (const auto found = answers_.find(i); found != answers_.end()) {
      std::string answer = std::move(found->second);
      answers_.erase(found);
      return answer;
    }
    if (const auto found = died_.find(i); found != died_.end()) throw ProcessDied(found->second);
    if (children_.empty()) throw ProcessDied(last_status_);
    read_some();
  }
}

void Processes::read_some() {
  std::vector<pollfd> pipes;
  for (const Child& child : children_) pipes.push_back({child.pipe, POLLIN, 0});
  if (poll(pipes.data(), pipes.size(), -1) < 0) return;
  for (std::size_t c = children_.size(); c-- > 0;) {
    if (!pipes[c].revents) continue;
    Child& child = children_[c];
    char buffer[4096];
    const ssize_t got = read(child.pipe, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      ended(child);
      children_.erase(children_.begin() + std::ptrdiff_t(c));
      continue;
    }
    child.unread.append(buffer, std::size_t(got));
    for (Message message; child.unread.size() >= sizeof message;) {
      std::memcpy(&message, child.unread.data(), sizeof message);
      if (message.bytes == BEGUN) {
        child.job = message.job;
        child.unread.erase(0, sizeof message);
        continue;
      }
      if (child.unread.size() < sizeof message + message.bytes) break;
      answers_[message.job] = child.unread.substr(sizeof message, message.bytes);
      child.unread.erase(0, sizeof message + message.bytes);
      child.job = NONE;
    }
  }
}

void Processes::ended(Child& child) {
  close(child.pipe);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (child.job != NONE) died_[child.job] = status;
  if (status) last_status_ = status;
}

}  // namespace lab
