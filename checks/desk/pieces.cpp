// desk pieces: a test run made of pieces, each a command with a log of its own. As many run at a time as there are
// cores; those below an empty line wait for all above it.
#include <iostream>

#include "checks/desk/runs.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

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
