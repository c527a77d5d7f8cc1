// desk pieces: a test run made of pieces, each a command with a log of its own.
#include "checks/desk/pieces.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <vector>

#include "checks/desk/commands.hpp"
#include "checks/desk/process.hpp"

namespace lab::desk {
namespace {

constexpr int LIMIT = 600;  // seconds until a piece counts as hanging, if the caller does not say
const std::string LOGS = "build/logs/";

bool is_remark(const std::string& line) {
  if (line.starts_with("bounds") || line.starts_with("skipped: ")) return true;
  if (line.find("findings in ") != line.npos || line.find("finding in ") != line.npos) return true;
  // "v2b_single_warp cpu: ..."
  const std::size_t name =
      std::ranges::find_if_not(line, [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '_'; }) -
      line.begin();
  return name > 0 && (line.compare(name, 6, " cpu: ") == 0 || line.compare(name, 6, " gpu: ") == 0);
}

void append(const std::string& file, const std::string& text) {
  const std::string old = read_text(file);
  write_text(file, old + text);
}

int seconds_since(std::chrono::steady_clock::time_point start) {
  return int(std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start).count());
}

Counts run_piece(const std::string& name, const std::string& command, int limit, bool counted) {
  std::string file = name;
  std::ranges::replace_if(
      file, [](char c) { return c == ' ' || c == '/'; }, '-');
  const std::string log = LOGS + file + ".log";
  const auto start = std::chrono::steady_clock::now();
  const Ended ended = run_limited({"sh", "-c", command}, log, limit);
  if (ended.timed_out) append(log, "stopped: still running after " + std::to_string(limit) + " s\n");
  const std::string text = read_text(log);
  const Counts counts = judge(text, ended.status, counted);
  std::printf("%-34s %4d passed %3d failed %5d s  %s\n", name.c_str(), counts.passed, counts.failed,
              seconds_since(start), remark_in(text).c_str());
  if (counts.failed > 0) {
    std::printf("    %s ends:\n", log.c_str());
    const std::vector<std::string> lines = lines_of(text);
    for (std::size_t i = lines.size() > 25 ? lines.size() - 25 : 0; i < lines.size(); ++i)
      std::printf("    %s\n", lines[i].c_str());
  }
  std::fflush(stdout);
  return counts;
}

}  // namespace

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

std::string remark_in(const std::string& log) {
  std::string last;
  for (const std::string& line : lines_of(log))
    if (is_remark(line)) last = line;
  return clipped(last, 220);
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

int pieces_command(const Args& args) {
  int limit = LIMIT;
  bool counted = false;
  for (const std::string& arg : args) {
    int used = 0;
    if (arg == "counted")
      counted = true;
    else if (std::sscanf(arg.c_str(), "limit=%d%n", &limit, &used) != 1 || std::size_t(used) != arg.size() || limit < 1)
      throw BadInput("'" + arg + "'; usage: desk pieces [limit=SECONDS] [counted] < LINES, each NAME: COMMAND");
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, std::string>> pieces;
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == line.npos) throw BadInput("'" + line + "' is no piece: NAME: COMMAND");
    pieces.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  Counts total;
  for (const auto& [name, command] : pieces) {
    const Counts counts = run_piece(name, command, limit, counted);
    total.passed += counts.passed, total.failed += counts.failed, total.skipped += counts.skipped;
  }
  std::printf("%d s in all\n%s\n", seconds_since(start), total_line(total).c_str());
  return total.failed == 0 && total.passed > 0 ? 0 : 1;
}

}  // namespace lab::desk
