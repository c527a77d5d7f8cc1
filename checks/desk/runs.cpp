// Programs run and judged (runs.hpp), and desk pieces: a test run made of pieces, each a command with a log of its own. As many run
// at a time as there are cores; those below an empty line wait for all above it.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iostream>
#include <memory>

#include "checks/desk/ladder.hpp"
#include "checks/desk/runs.hpp"
#include "common/number.hpp"

extern char** environ;

namespace lab::desk {
namespace {

using File = std::unique_ptr<std::FILE, decltype([](std::FILE* f) { std::fclose(f); })>;
constexpr int GRACE = 5;  // seconds from asking a group to end to ending it

// Standard input, output and error of a child; nullptr: the desk's own.
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

// "SIZE TIME" of a file; "" if there is none.
std::string stamp_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) return "";
  const auto time = fs::last_write_time(file, error);
  return error ? "" : std::to_string(size) + " " + std::to_string(time.time_since_epoch().count());
}

// The binary and what it reads when it runs: the stage's kernel and its patches. "" if the binary is not a stage's for
// the CPU.
std::string identity_of(const std::string& lab) {
  const fs::path path(lab);
  const std::string stage = path.parent_path().parent_path().filename().string();
  if (!lab.starts_with("build/cpu/") || path.filename() != "kernel.so" || stage.empty()) return "";
  const std::string binary = stamp_of(path), runner = stamp_of(runner_of(lab));
  if (binary.empty()) return "";
  std::vector<std::string> sources = {"kernel.cu " + stamp_of(kernel_path(stage))};
  for (const std::string& dir : bug_dirs(stage))
    for (const fs::path& path : files_in(dir, ".patch"))
      sources.push_back(path.filename().string() + " " + stamp_of(path));
  std::ranges::sort(sources);
  return binary + "; runner " + runner + "; " + joined(sources, "; ");
}

// Where the run of these arguments is kept.
std::string kept_path(const Argv& argv) {
  std::string name = joined({argv.begin() + 2, argv.end()}, "-");
  std::ranges::replace_if(
      name, [](unsigned char c) { return !std::isalnum(c) && c != '_' && c != '=' && c != ',' && c != '.'; }, '-');
  return (fs::path(argv[1]).parent_path() / "kept" / (name + ".txt")).string();
}

// A kept run: a line for who said it, a line for the command and its status; its verdict, an empty line, and what it
// printed.
std::string head_of(const std::string& identity, const Argv& argv, int status) {
  return identity + "\n" + std::to_string(status) + " " + joined(argv, " ") + "\n";
}

std::optional<LabRun> kept(const std::string& identity, const Argv& argv) {
  const std::string path = kept_path(argv);
  if (!fs::is_regular_file(path)) return {};
  const std::string text = read_text(path);
  for (const int status : {0, 1})
    if (const std::string head = head_of(identity, argv, status); text.starts_with(head)) {
      const std::size_t end = text.find("\n\n", head.size() - 1);
      if (end == text.npos) return {};
      return LabRun{status, text.substr(end + 2), Verdict(text.substr(head.size(), end + 1 - head.size())), true};
    }
  return {};
}

constexpr int LIMIT = 600;  // seconds until a piece counts as hanging, if the caller does not say
const std::string LOGS = "build/logs/";

struct Piece {
  std::string name, command;
};
struct RanPiece {
  const Piece* piece;
  std::string log, text;  // text: what the log says
  Counts counts;
  double seconds, core_seconds;
};

RanPiece run_piece(const Piece& piece, int limit, bool counted) {
  const std::string log = LOGS + replaced(replaced(piece.name, " ", "-"), "/", "-") + ".log";
  const Stopwatch watch;
  const Ended ended = run_limited(judged({"sh", "-c", piece.command}, log), log, limit);
  if (ended.timed_out)
    write_text(log, read_text(log) + "stopped: still running after " + std::to_string(limit) + " s\n");
  const std::string text = read_text(log);
  return {&piece, log, text, judge(text, ended.status, counted), watch.seconds(), ended.core_seconds};
}

void report(const RanPiece& ran) {
  std::printf("%-34s %4d passed %3d failed %5.0f s %5.0f core-s  %s\n", ran.piece->name.c_str(), ran.counts.passed,
              ran.counts.failed, ran.seconds, ran.core_seconds,
              clipped(verdict_beside(ran.log).last("remark"), 220).c_str());
  if (ran.counts.failed > 0) {
    std::printf("    %s ends:\n", ran.log.c_str());
    const std::vector<std::string> lines = lines_of(ran.text);
    for (std::size_t i = lines.size() > 25 ? lines.size() - 25 : 0; i < lines.size(); ++i)
      std::printf("    %s\n", lines[i].c_str());
  }
  std::fflush(stdout);
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

Argv judged(const Argv& argv, const std::string& log) {
  const std::string file = log + ".verdict";
  fs::remove(file);
  return with({"env", std::string(VERDICT_FILE) + "=" + file}, argv);
}

Verdict verdict_beside(const std::string& log) { return Verdict::from(log + ".verdict"); }

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

bool kept_runs_count() {
  const char* said = std::getenv("LAB_KEPT");
  return said && std::string_view(said) == "use";
}

std::string runner_of(const std::string& kernel) {
  return (fs::path(kernel).parent_path().parent_path().parent_path() / "runner").string();
}

LabRun run_lab(const Argv& words) {
  const Argv argv = with({runner_of(words.at(0))}, words);
  static std::atomic<int> count{0};
  const std::string identity = identity_of(words[0]);  // of before the run: a binary that changes meanwhile is another
  if (!identity.empty() && kept_runs_count())
    if (auto run = kept(identity, argv)) return *run;
  const std::string log = "build/logs/lab-run-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".log";
  LabRun result;
  result.status = run(judged(argv, log), log).status;
  result.out = read_text(log);
  const std::string said = fs::exists(log + ".verdict") ? read_text(log + ".verdict") : "";
  result.verdict = Verdict(said);
  fs::remove(log), fs::remove(log + ".verdict");
  if (!identity.empty() && (result.status == 0 || result.status == 1))
    write_text(kept_path(argv), head_of(identity, argv, result.status) + said + "\n" + result.out);
  return result;
}

std::size_t at_once(const Argv& words) {
  const auto on_gpu = [](const std::string& word) { return word.find("build/gpu/") != word.npos; };
  return std::ranges::any_of(words, on_gpu) ? std::min<std::size_t>(4, cores()) : cores();
}

int kept_runs() {
  int count = 0;
  std::error_code none;
  for (fs::recursive_directory_iterator at("build/cpu", none), end; at != end; at.increment(none)) {
    if (at->path().parent_path().filename() != "kept") continue;
    const std::string identity = identity_of((at->path().parent_path().parent_path() / "kernel.so").string());
    count += !identity.empty() && read_text(at->path().string()).starts_with(identity + "\n");
  }
  return count;
}

std::optional<Counts> counts_in(const std::string& log) {
  std::optional<Counts> last;
  for (const std::string& line : lines_of(log)) {
    Counts c;
    int used = 0;
    if (!line.empty() && std::isdigit(static_cast<unsigned char>(line[0])) &&
        std::sscanf(line.c_str(), "%d passed, %d failed%n", &c.passed, &c.failed, &used) == 2 && used > 0) {
      if (std::sscanf(line.c_str() + used, ", %d skipped", &c.skipped) != 1) c.skipped = 0;
      last = c;
    }
  }
  return last;
}

Counts judge(const std::string& log, int status, bool counted) {
  Counts counts = counts_in(log).value_or(counted ? Counts{0, 1, 0} : Counts{status == 0, 0, 0});
  const bool all_skipped = counts.passed == 0 && counts.skipped > 0;
  if (status != 0 && counts.failed == 0 && !all_skipped) counts.failed = 1;
  return counts;
}

std::string clipped(const std::string& text, std::size_t size) {
  if (text.size() <= size) return text;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

std::string total_line(const Counts& counts) {
  return std::to_string(counts.passed) + " passed, " + std::to_string(counts.failed) + " failed" +
         (counts.skipped ? ", " + std::to_string(counts.skipped) + " skipped" : "");
}

int told(const Counts& counts) {
  std::printf("%s\n", total_line(counts).c_str());
  return counts.status();
}

int pieces_command(const Args& args) {
  int limit = LIMIT;
  bool counted = false;
  for (const std::string& arg : args) {
    const auto seconds = arg.starts_with("limit=") ? number_in<int>(arg.substr(6), 1) : std::nullopt;
    counted |= arg == "counted";
    if (!seconds && arg != "counted")
      throw BadInput("'" + arg + "' means nothing here; it is limit=SECONDS or counted");
    limit = seconds.value_or(limit);
  }
  const Stopwatch watch;
  std::vector<std::vector<Piece>> groups(1);
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) {
      groups.emplace_back();
      continue;
    }
    const std::size_t colon = line.find(": ");
    if (colon == line.npos) throw BadInput("'" + line + "' is no piece: NAME: COMMAND");
    groups.back().push_back({line.substr(0, colon), line.substr(colon + 2)});
  }
  Counts total;
  double core_seconds = 0;
  std::vector<std::string> red;  // said again at the end, as a clipped log keeps that
  for (const std::vector<Piece>& group : groups)
    side_by_side(
        group, [&](const Piece& piece) { return run_piece(piece, limit, counted); },
        [&](const RanPiece& ran) {
          report(ran);
          core_seconds += ran.core_seconds;
          if (ran.counts.failed > 0)
            red.push_back(ran.piece->name + ": " + clipped(verdict_beside(ran.log).first("red"), 200));
          total.passed += ran.counts.passed, total.failed += ran.counts.failed, total.skipped += ran.counts.skipped;
        });
  for (const std::string& line : red) std::printf("RED %s\n", line.c_str());
  std::printf("%.0f s in all, %.0f core-s\n%s\n", watch.seconds(), core_seconds, total_line(total).c_str());
  return total.failed == 0 && total.passed > 0 ? 0 : 1;
}

}  // namespace lab::desk
