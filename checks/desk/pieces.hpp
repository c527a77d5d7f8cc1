// Adding up what many small test programs say on their last lines.
#pragma once
#include <optional>
#include <string>

namespace lab::desk {

struct Counts {
  int passed = 0, failed = 0, skipped = 0;  // skipped: what this GPU cannot show or run
};

// The last line of a log that starts with `N passed, M failed`; nothing if it has none.
std::optional<Counts> counts_in(const std::string& log);

// A piece's counts: its own words, but never as all good with an exit status that says otherwise (unless all
// was skipped), and as one piece where it has no counts: one that failed, if it should have been `counted`.
Counts judge(const std::string& log, int status, bool counted = false);

// At most `size` bytes of UTF-8, no character cut in two.
std::string clipped(const std::string& text, std::size_t size);

// `N passed, M failed`, alone on a line, with `, K skipped` where there are any.
std::string total_line(const Counts& counts);

}  // namespace lab::desk
