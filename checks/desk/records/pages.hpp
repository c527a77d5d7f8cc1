// The blocks of the Markdown pages that a command fills, so that no page can go stale. A block, at the start of a line:
//   <!-- begin: COMMAND | FILTER -->
//   <!-- end -->
// COMMAND runs at the repository's root and must succeed; written "! COMMAND", it must fail. Its output loses
// colours, make's and git's own lines and the number of workers, then goes through FILTER. A table goes in as it is,
// all else fenced. A block whose command starts with another word than those of COMMAND_WORDS is filled by a different
// program.
#pragma once
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "checks/desk/process.hpp"

namespace lab::desk {

inline constexpr std::string_view COMMAND_WORDS[] = {"make", "git", "sed",        "grep",
                                                     "awk",  "sh",  "build/desk", "build/desk-records"};

struct Block {
  std::string command;            // as the page has it, with its filter and "! "
  std::size_t first = 0;          // index of the line after the begin marker
  std::vector<std::string> body;  // the lines up to the end marker
};

// Throws BadInput where a block has no end.
std::vector<Block> blocks_of(const std::vector<std::string>& page);

// Where two texts part, a few lines of each.
std::string difference(const std::vector<std::string>& page, const std::vector<std::string>& now);

// A command's output, without colours and the lines that differ from run to run.
std::string cleaned(const std::string& printed);

// "diff", "cpp" or "text", by the command without its filter.
std::string language_of(std::string_view command);

// Lines as they stand on a page: a table as it is, else fenced; C++ loses the indentation that all its lines share.
std::vector<std::string> framed(std::vector<std::string> lines, const std::string& language);

// The hunks of a unified diff that have a line with `pattern`, below the names of the two files.
std::string hunks_with(const std::string& diff, const std::string& pattern);

// Runs command lines of sh, each only once: blocks share commands. Several threads may ask; one that asks for a
// command in progress waits for it.
class Runner {
 public:
  using Shell = std::function<Ran(const std::string& command, const std::string& input)>;
  explicit Runner(Shell shell = capture_sh) : shell_(std::move(shell)) {}

  // The lines that a block should have. Throws std::runtime_error with the reason where there are none.
  std::vector<std::string> body(const std::string& command);

 private:
  Ran ran(const std::string& command);

  Shell shell_;
  std::mutex lock_;
  std::map<std::string, std::shared_future<Ran>> begun_;
};

struct Tally {
  int good = 0, bad = 0;
  std::string complaints;
};
// Brings one page up to date, or with `check` only says where it is not.
void renew_page(const std::string& path, bool check, Runner& runner, Tally& tally);

}  // namespace lab::desk
