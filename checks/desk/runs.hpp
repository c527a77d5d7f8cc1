// Other programs: started, stopped, judged, side by side, and what of them is kept.
#pragma once
#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <type_traits>

#include "checks/acceptance/verdict.hpp"
#include "checks/desk/desk.hpp"

namespace lab::desk {

// Seconds since it was made.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count(); }

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

using Argv = std::vector<std::string>;
Argv with(Argv argv, const Argv& more);

struct Ended {
  int status = 0;           // as a shell has it: the exit status, 128 + N after signal N, 127 if it cannot be started
  bool timed_out = false;   // stopped, because it was still running at its time limit
  double core_seconds = 0;  // processor time, with that of all that it started and waited for
};

// Runs a program and waits for it. Standard output and error go to `log` ("" leaves them where the desk's own go),
// standard input is empty. It shares the desk's process group, so that ^C ends both. Throws BadInput if `log` cannot be
// written.
Ended run(const Argv& argv, const std::string& log = "");

// The same in a process group of its own, by timeout(1), which ends all of it after `limit` seconds, or when the desk itself
// ends (^C, SIGTERM). Several threads may call it at a time.
Ended run_limited(const Argv& argv, const std::string& log, int limit);

// The same command, which leaves its verdict (checks/acceptance/verdict.hpp) beside that log; and the verdict.
Argv judged(const Argv& argv, const std::string& log);
Verdict verdict_beside(const std::string& log);

struct Ran {
  int status = 0;
  std::string out, err;
};
// Runs a program for what it prints, with `input` as its standard input; the second a command line of sh.
Ran capture(const Argv& argv, const std::string& input = "");
Ran capture_sh(const std::string& command, const std::string& input = "");
// The first line that a program printed, without the end of line; "" if it failed or printed nothing.
std::string first_line(const Argv& argv);

// Work for all cores, its results in order.

inline std::size_t cores() { return std::max(1u, std::thread::hardware_concurrency()); }

// Calls make(item) of each item, at most `most` at a time and the first ones first, and take(result) of each result, in
// the order of the items and as soon as those before it are taken. An exception of make comes out where its result
// would be taken, after all other items are done. `make` must not touch what another call of it does.
template <class Item, class Make, class Take>
void side_by_side(std::size_t most, const std::vector<Item>& items, Make make, Take take) {
  using Result = std::invoke_result_t<Make, const Item&>;
  std::vector<std::promise<Result>> results(items.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < items.size(); i = next++) try {
        results[i].set_value(make(items[i]));
      } catch (...) {
        results[i].set_exception(std::current_exception());
      }
  };
  std::vector<std::jthread> workers;  // joined at the end, also where take throws
  for (std::size_t i = 0; i < std::min(most, items.size()); ++i) workers.emplace_back(work);
  for (auto& result : results) take(result.get_future().get());
}
// As many at a time as there are cores.
template <class Item, class Make, class Take>
void side_by_side(const std::vector<Item>& items, Make make, Take take) {
  side_by_side(cores(), items, make, take);
}

// Runs of a stage's binary on the CPU, kept beside it. There a run is a function of the binary, its arguments and the
// stage's sources: schedules are drawn from seeds, and no number depends on the count of workers. So what one command
// of a session has seen, another need not run again; where any of them has changed since, the run does not count.

struct LabRun {
  int status = 0;
  std::string out;  // standard output and error
  Verdict verdict = {};
  bool reused = false;  // an earlier run's
};

// The program that loads build/BACKEND/STAGE/VARIANT/kernel.so, and runs it: build/BACKEND/runner.
std::string runner_of(const std::string& kernel);

// Runs a lab and keeps what it said in kept/ beside the binary; or, where kept_runs_count() and a run with these
// arguments still holds, takes that. Only the statuses 0 (good) and 1 (red) are kept: after a bad input, a fault or a
// signal the next call runs again. A kernel outside build/cpu/STAGE/VARIANT always runs, and nothing of it is kept.
LabRun run_lab(const Argv& argv);

// How many of the labs that these words name may run at a time: as many as there are cores, but on a GPU four. There
// they launch one after the other (ExclusiveGpu), and each has a context of half a gigabyte.
std::size_t at_once(const Argv& words);

// Whether the environment says LAB_KEPT=use. `make writeups` says so to the commands of the pages; with LAB_KEPT=no in
// its environment they all run again.
bool kept_runs_count();

// How many runs below build/cpu still hold.
int kept_runs();

// Adding up what many small test programs say on their last lines.

struct Counts {
  int passed = 0, failed = 0, skipped = 0;  // skipped: what this GPU cannot show or run
  void add(bool good) { ++(good ? passed : failed); }
  // 0 if something was there and nothing failed.
  int status() const { return failed == 0 && passed + skipped > 0 ? 0 : 1; }
};

// The last line of a log that starts with `N passed, M failed`; nothing if it has none.
std::optional<Counts> counts_in(const std::string& log);

// A piece's counts: its own words, but never as all good with an exit status that says otherwise (unless all
// was skipped), and as one piece where it has no counts: one that failed, if it should have been `counted`.
Counts judge(const std::string& log, int status, bool counted = false);

// At most `size` bytes of UTF-8, no character cut in two.
std::string clipped(const std::string& text, std::size_t size);

// `N passed, M failed`, alone on a line, with `, K skipped` where there are any. told() prints it, and returns the status.
std::string total_line(const Counts& counts);
int told(const Counts& counts);

}  // namespace lab::desk
