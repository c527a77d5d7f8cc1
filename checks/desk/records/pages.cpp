#include <regex>

#include "checks/desk/records/records.hpp"

namespace lab::desk {
namespace {

constexpr std::string_view BEGIN = "<!-- begin: ", CLOSE = " -->", END = "<!-- end -->";

constexpr std::string_view COMMAND_WORDS[] = {"make", "git", "sed",        "grep",
                                              "awk",  "sh",  "build/desk", "build/desk-records"};

// The command of a begin marker that is ours to fill.
std::optional<std::string> command_of(const std::string& line) {
  if (!line.starts_with(BEGIN) || !line.ends_with(CLOSE) || line.size() < BEGIN.size() + CLOSE.size()) return {};
  const std::string command = line.substr(BEGIN.size(), line.size() - BEGIN.size() - CLOSE.size());
  const std::string_view run = std::string_view(command).substr(command.starts_with("! ") ? 2 : 0);
  const std::size_t blank = run.find(' ');
  if (blank == run.npos || std::ranges::find(COMMAND_WORDS, run.substr(0, blank)) == std::end(COMMAND_WORDS)) return {};
  return command;
}

bool is_table(const std::vector<std::string>& lines) { return !lines.empty() && lines[0].starts_with('|'); }

std::string indented(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += "    " + line + "\n";
  return out;
}

// A make that called us hands its command line on; the commands of a page must not see it. (Its words the Makefile
// keeps back.) Nor do they depend on whose machine it is.
void plain_environment() {
  for (const char* name : {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}) unsetenv(name);
  setenv("LC_ALL", "C", 1);
  setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
  setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
  setenv("GIT_PAGER", "cat", 1);
}

std::vector<std::string> all_pages() {
  std::vector<std::string> pages;
  for (const auto& entry : fs::recursive_directory_iterator("writeups"))
    if (entry.is_regular_file() && entry.path().extension() == ".md") pages.push_back(entry.path().string());
  pages.push_back("README.md");
  std::ranges::sort(pages);
  return pages;
}

}  // namespace

std::string difference(const std::vector<std::string>& page, const std::vector<std::string>& now) {
  constexpr std::size_t SHOWN = 10;
  std::size_t head = 0, tail = 0;
  const std::size_t common = std::min(page.size(), now.size());
  while (head < common && page[head] == now[head]) ++head;
  while (tail < common - head && page[page.size() - 1 - tail] == now[now.size() - 1 - tail]) ++tail;
  std::string out;
  const auto show = [&](const char* mark, const std::vector<std::string>& lines) {
    const std::size_t count = lines.size() - head - tail;
    for (std::size_t i = 0; i < std::min(count, SHOWN); ++i) out += "    " + (mark + lines[head + i]) + "\n";
    if (count > SHOWN) out += "    ... and " + std::to_string(count - SHOWN) + " lines more\n";
  };
  show("< ", page);
  show("> ", now);
  return out;
}

std::vector<Block> blocks_of(const std::vector<std::string>& page) {
  std::vector<Block> blocks;
  bool fence = false, inside = false;
  for (std::size_t i = 0; i < page.size(); ++i) {
    const std::string& line = page[i];
    if (inside) {
      if (line.starts_with(BEGIN)) throw BadInput("a block has no " + std::string(END));
      inside = line != END;
      if (inside) blocks.back().body.push_back(line);
      continue;
    }
    if (line.starts_with("```") || line.starts_with("~~~")) fence = !fence;
    if (fence) continue;
    if (const auto command = command_of(line)) {
      blocks.push_back({*command, i + 1, {}});
      inside = true;
    }
  }
  if (inside) throw BadInput("a block has no " + std::string(END));
  return blocks;
}

std::string cleaned(const std::string& printed) {
  static const std::regex COLOUR("\033\\[[0-9;]*m"),
      NOT_THE_COMMANDS("^(make(\\[[0-9]*\\])?: |diff --git |index [0-9a-f]*\\.\\.)"),
      WORKERS(" \\(CPU, [0-9]* workers?\\)");
  std::string out;
  for (const std::string& raw : lines_of(printed)) {
    const std::string line = raw.find('\033') == raw.npos ? raw : std::regex_replace(raw, COLOUR, "");
    if (std::regex_search(line, NOT_THE_COMMANDS)) continue;
    const bool counts = line.find(" (CPU, ") != line.npos;
    out += (counts ? std::regex_replace(line, WORKERS, "", std::regex_constants::format_first_only) : line) + "\n";
  }
  return out;
}

std::string language_of(std::string_view command) {
  const auto has = [&](std::string_view piece) { return command.find(piece) != command.npos; };
  if (command.starts_with("git diff") || has("desk-records hunks ") || command.ends_with(".patch")) return "diff";
  if (command.starts_with("make ") && has(" show-bug")) return "diff";
  for (const std::string_view end : {".cu", ".cuh", ".cpp", ".hpp"})
    if (command.ends_with(end)) return "cpp";
  return "text";
}

std::vector<std::string> framed(std::vector<std::string> lines, const std::string& language) {
  if (is_table(lines)) return lines;
  if (language == "cpp") {
    const auto of_the_preprocessor = [](const std::string& line) { return line.starts_with('#'); };
    std::size_t indent = std::string::npos;
    for (const std::string& line : lines)
      if (line.find_first_not_of(' ') != line.npos && !of_the_preprocessor(line))
        indent = std::min(indent, line.find_first_not_of(' '));
    if (indent != std::string::npos)
      for (std::string& line : lines)
        if (!of_the_preprocessor(line)) line.erase(0, indent);
  }
  lines.insert(lines.begin(), "```" + language);
  lines.push_back("```");
  return lines;
}

std::string hunks_with(const std::string& diff, const std::string& pattern) {
  std::regex wanted;
  try {
    wanted = std::regex(pattern, std::regex::extended);
  } catch (const std::regex_error&) {
    throw BadInput("'" + pattern + "' is no regular expression");
  }
  std::string out, hunk;
  bool started = false, keep = false;
  const auto flush = [&] {
    if (keep) out += hunk;
    hunk.clear(), keep = false;
  };
  for (const std::string& line : lines_of(diff)) {
    if (line.starts_with("@@")) flush(), started = true;
    if (started) {
      hunk += line + "\n";
      keep = keep || std::regex_search(line, wanted);
    } else if (line.starts_with("--- ") || line.starts_with("+++ ")) {
      out += line + "\n";
    }
  }
  flush();
  return out;
}

Ran Runner::ran(const std::string& command) {
  std::promise<Ran> mine;
  std::shared_future<Ran> result;
  bool first = false;
  {
    const std::lock_guard guard(lock_);
    const auto [found, is_new] = begun_.try_emplace(command);
    if (is_new) found->second = mine.get_future().share();
    result = found->second, first = is_new;
  }
  if (first) try {
      Ran ran = shell_(command, "");
      ran.out = cleaned(ran.out);
      mine.set_value(std::move(ran));
    } catch (...) {
      mine.set_exception(std::current_exception());
    }
  return result.get();
}

std::vector<std::string> Runner::body(const std::string& command) {
  const bool must_fail = command.starts_with("! ");
  const std::string all = command.substr(must_fail ? 2 : 0), first = all.substr(0, all.find(" | "));
  const Ran ran = this->ran(first);
  const bool differs = first.starts_with("git diff") && ran.status == 1;  // what git says of files that differ
  const bool good = ran.status == 0 || differs;
  if (!good && !must_fail) {
    auto errors = lines_of(ran.err);
    if (errors.size() > 3) errors.erase(errors.begin(), errors.end() - 3);
    throw std::runtime_error("exit status " + std::to_string(ran.status) + "\n" + joined(errors, "\n"));
  }
  if (good && must_fail) throw std::runtime_error("succeeded, but must fail");
  std::string text = ran.out;
  if (first.size() < all.size()) {
    const Ran filtered = shell_(all.substr(first.size() + 3), text);
    if (filtered.status != 0) throw std::runtime_error("the filter failed\n" + filtered.err);
    text = filtered.out;
  }
  if (text.empty()) throw std::runtime_error("printed nothing");
  return framed(lines_of(text), language_of(first));
}

void renew_page(const std::string& path, bool check, Runner& runner, Tally& tally) {
  const auto complain = [&](const std::string& what, const std::string& why) {
    ++tally.bad;
    tally.complaints += path + ": " + what + "\n" + why;
  };
  if (!fs::is_regular_file(path)) return complain("no such file", "");
  const std::string text = read_text(path);
  const auto page = lines_of(text);
  std::vector<Block> blocks;
  try {
    blocks = blocks_of(page);
  } catch (const BadInput& e) {
    return complain(e.what(), "");
  }
  std::string renewed;
  std::size_t at = 0;
  const auto copy_until = [&](std::size_t end) {
    for (; at < end; ++at) renewed += page[at] + "\n";
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    const std::string which = "block " + std::to_string(i + 1);
    std::vector<std::string> now = block.body;
    try {
      now = runner.body(block.command);
      if (check && now != block.body)
        complain(which + " is not what its command prints: " + block.command, difference(block.body, now));
      else
        ++tally.good;
    } catch (const std::runtime_error& e) {
      complain(which + " cannot be made: " + block.command, indented(lines_of(e.what())));
    }
    copy_until(block.first);
    for (const std::string& line : now) renewed += line + "\n";
    at += block.body.size();
  }
  copy_until(page.size());
  if (check) {
    const auto broken = broken_links(path);
    for (const std::string& link : broken) complain("a link leads nowhere: " + link, "");
    tally.good += broken.empty();
  }
  if (!check && !blocks.empty() && renewed != text) write_text(path, renewed);
}

int pages_command(const Args& args) {
  const bool check = !args.empty() && args[0] == "--check";
  Args pages(args.begin() + check, args.end());
  for (const std::string& page : pages)
    if (page.starts_with("-"))
      throw BadInput(page + " means nothing here; usage: desk-records pages [--check] [PAGE...]");
  if (pages.empty()) pages = all_pages();
  plain_environment();
  setenv("LAB_KEPT", "use", 0);
  if (kept_runs_count())
    std::printf(
        "%d runs of binaries that still hold, such as make test's, are not run again, nor any run of these pages "
        "twice; LAB_KEPT=no runs all\n",
        kept_runs());
  std::fflush(stdout);
  Runner runner;
  Counts counts;
  side_by_side(
      pages,
      [&](const std::string& page) {
        Tally tally;
        renew_page(page, check, runner, tally);
        return tally;
      },
      [&](const Tally& tally) {
        std::fputs(tally.complaints.c_str(), stderr);
        counts.passed += tally.good, counts.failed += tally.bad;
      });
  told(counts);
  return counts.failed == 0 ? 0 : 1;
}

int hunks_command(const Args& args) {
  plain_environment();
  for (const std::string& file : {args[1], args[2]})
    if (!fs::is_regular_file(file)) throw BadInput(file + " cannot be read");
  const Ran diff = capture({"git", "diff", "--no-index", "--no-color", "--no-ext-diff", "-U2", args[1], args[2]});
  if (diff.status > 1) throw std::runtime_error("git diff: " + diff.err);
  std::fputs(hunks_with(diff.out, args[0]).c_str(), stdout);
  return 0;
}

}  // namespace lab::desk
