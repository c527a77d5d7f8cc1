// Other programs: started, stopped, side by side.
#pragma once
#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <type_traits>

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

// Runs a program and waits for it. Standard output and error go to `log` ("" leaves them where this program's own go),
// standard input is empty. It shares this program's process group, so that ^C ends both. Throws BadInput if `log` cannot be
// written.
Ended run(const Argv& argv, const std::string& log = "");

// The same in a process group of its own, by timeout(1), which ends all of it after `limit` seconds, or when this program itself
// ends (^C, SIGTERM). Several threads may call it at a time.
Ended run_limited(const Argv& argv, const std::string& log, int limit);

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

// The program that loads build/BACKEND/STAGE/VARIANT/kernel.so, and runs it: build/BACKEND/runner.
std::string runner_of(const std::string& kernel);

struct Counts {
  int passed = 0, failed = 0, skipped = 0;  // skipped: what this GPU cannot show or run
  void add(bool good) { ++(good ? passed : failed); }
  // 0 if something was there and nothing failed.
  int status() const { return failed == 0 && passed + skipped > 0 ? 0 : 1; }
};

// `N passed, M failed`, alone on a line, with `, K skipped` where there are any. told() prints it, and returns the status.
std::string total_line(const Counts& counts);
int told(const Counts& counts);

}  // namespace lab::desk
