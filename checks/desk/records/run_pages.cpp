// desk-records pages, hunks.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "checks/desk/desk.hpp"
#include "checks/desk/kept.hpp"
#include "checks/desk/records/pages.hpp"
#include "checks/desk/side_by_side.hpp"

namespace lab::desk {
namespace {

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
  namespace fs = std::filesystem;
  std::vector<std::string> pages;
  for (const auto& entry : fs::recursive_directory_iterator("writeups"))
    if (entry.is_regular_file() && entry.path().extension() == ".md") pages.push_back(entry.path().string());
  std::ranges::sort(pages);
  return pages;
}

}  // namespace

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
  int good = 0, bad = 0;
  side_by_side(
      pages,
      [&](const std::string& page) {
        Tally tally;
        renew_page(page, check, runner, tally);
        return tally;
      },
      [&](const Tally& tally) {
        std::fputs(tally.complaints.c_str(), stderr);
        good += tally.good, bad += tally.bad;
      });
  std::printf("%d passed, %d failed\n", good, bad);
  return bad == 0 ? 0 : 1;
}

int hunks_command(const Args& args) {
  plain_environment();
  for (const std::string& file : {args[1], args[2]})
    if (!std::filesystem::is_regular_file(file)) throw BadInput(file + " cannot be read");
  const Ran diff = capture({"git", "diff", "--no-index", "--no-color", "--no-ext-diff", "-U2", args[1], args[2]});
  if (diff.status > 1) throw std::runtime_error("git diff: " + diff.err);
  std::fputs(hunks_with(diff.out, args[0]).c_str(), stdout);
  return 0;
}

}  // namespace lab::desk
