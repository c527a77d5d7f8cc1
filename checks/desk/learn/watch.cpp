#include "checks/desk/learn/watch.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <thread>

namespace lab::desk {
namespace {

namespace fs = std::filesystem;

constexpr auto POLL = std::chrono::milliseconds(100);  // between two looks at a file that is watched

// When a file was saved last; nothing where there is none. Waits until it is the same twice: editors take a file away before they put
// another in its place, or empty it before they write.
using Saved = std::optional<fs::file_time_type>;
Saved saved(const std::string& file) {
  const auto look = [&]() -> Saved {
    std::error_code missing;
    const auto time = fs::last_write_time(file, missing);
    return missing ? Saved() : Saved(time);
  };
  for (Saved before = look();;) {
    std::this_thread::sleep_for(POLL);
    const Saved now = look();
    if (now == before) return now;
    before = now;
  }
}

}  // namespace

void watch(const std::string& file, const std::function<bool()>& look) {
  for (bool first = true;; first = false) {
    const Saved looked_at = saved(file);
    if ((first || looked_at) && look()) return;
    std::printf("%s; ^C ends it\n\n",
                looked_at ? ("watching " + file).c_str() : (file + " is gone: waiting until it is back").c_str());
    std::fflush(stdout);
    while (saved(file) == looked_at) {
    }
  }
}

}  // namespace lab::desk
