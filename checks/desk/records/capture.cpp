#include "checks/desk/records/capture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <stdexcept>

namespace lab::desk {
namespace {

using File = std::unique_ptr<std::FILE, decltype([](std::FILE* f) { std::fclose(f); })>;

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

// Descriptor i of the child is fds[i].
int wait_for(const std::vector<std::string>& argv, const std::vector<int>& fds) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process can be had for " + argv[0]);
  if (child == 0) {
    for (std::size_t i = 0; i < fds.size(); ++i) dup2(fds[i], int(i));
    execvp(words[0], words.data());
    constexpr char WHY[] = ": cannot be run\n";
    if (write(2, words[0], argv[0].size()) >= 0 && write(2, WHY, sizeof WHY - 1) >= 0) {
    }
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw std::runtime_error("lost sight of " + argv[0]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Ran capture(const std::vector<std::string>& argv, const std::string& input) {
  const File in = scratch(), out = scratch(), err = scratch();
  if (std::fwrite(input.data(), 1, input.size(), in.get()) != input.size() || std::fflush(in.get()) != 0)
    throw std::runtime_error("a temporary file cannot be written");
  std::rewind(in.get());
  const int status = wait_for(argv, {fileno(in.get()), fileno(out.get()), fileno(err.get())});
  return {status, all_of(out.get()), all_of(err.get())};
}

Ran capture_sh(const std::string& command, const std::string& input) { return capture({"sh", "-c", command}, input); }

std::string first_line(const std::vector<std::string>& argv) {
  const Ran ran = capture(argv);
  return ran.status == 0 ? ran.out.substr(0, ran.out.find('\n')) : "";
}

}  // namespace lab::desk
