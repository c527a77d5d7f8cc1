#include "common/emulator/addr2line.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace lab::cpu {
namespace {

// The file with the kernels, open: its path may be gone by now, and under qemu-user other processes see qemu's instead of
// this program's.
int code_file = -1;

// The running addr2line. It ends when this end of its socket closes, with this process at the latest.
class Server {
 public:
  ~Server() { stop(); }

  // Sends text to it; false if there is none, or it has ended. A new one for a process that was forked since: the
  // parent's answers are the parent's.
  bool send(const std::string& text) {
    if (owner_ != getpid()) start();
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t now = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) return stop(), false;
      sent += std::size_t(now);
    }
    return true;
  }

  // Its next line; empty if it has ended.
  std::string line() {
    std::size_t end;
    while ((end = unread_.find('\n')) == std::string::npos) {
      char buffer[4096];
      const ssize_t got = socket_ < 0 ? 0 : read(socket_, buffer, sizeof buffer);
      if (got <= 0) return stop(), "";
      unread_.append(buffer, std::size_t(got));
    }
    const std::string line = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    return line;
  }

 private:
  void start() {
    stop();
    owner_ = getpid();
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    if (code_file < 0) kernels_are_in("/proc/self/exe", 0);
    const std::string file = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(code_file);
    std::string words[] = {"addr2line", "-a", "-i", "-e", file};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files,
                                             STDERR_FILENO + 1);  // whoever reads a pipe of ours waits for its end
    pid_t child;
    const bool runs = posix_spawnp(&child, argv[0], &files, nullptr, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    if (runs)
      socket_ = ends[0];
    else
      close(ends[0]);
  }
  void stop() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
    unread_.clear();
  }

  pid_t owner_ = 0;
  int socket_ = -1;
  std::string unread_;
};

Server server;

}  // namespace

std::uintptr_t code_base = 0;

void kernels_are_in(const std::string& library, std::uintptr_t base) {
  if (code_file >= 0) close(code_file);
  code_file = open(library.c_str(), O_RDONLY | O_CLOEXEC), code_base = base;
}

std::vector<std::vector<std::string>> ask_addr2line(const std::vector<std::uintptr_t>& pcs) {
  std::vector<std::vector<std::string>> found(pcs.size());
  constexpr std::size_t AT_ONCE = 500;  // their answers fit into a socket, so neither side waits for the other to read
  for (std::size_t from = 0; from < pcs.size(); from += AT_ONCE) {
    const std::size_t to = std::min(pcs.size(), from + AT_ONCE);
    std::string question;
    for (std::size_t i = from; i < to; ++i) {
      char address[32];
      std::snprintf(address, sizeof address, "%#zx\n", std::size_t(pcs[i]));
      question += address;
    }
    if (!server.send(question + "0\n")) return found;
    // An address comes back before its frames, and the 0 after the last one's.
    for (std::size_t begun = 0; begun <= to - from;) {
      const std::string line = server.line();
      if (line.empty()) return found;
      if (line.starts_with("0x"))
        ++begun;
      else if (begun > 0)
        found[from + begun - 1].push_back(line);
    }
    server.line();  // what the 0 stands for: ??:0
  }
  return found;
}

}  // namespace lab::cpu
