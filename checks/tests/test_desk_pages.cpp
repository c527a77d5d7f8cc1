// The blocks of the pages: found, filled, compared; and the programs that fill them.
#include <doctest/doctest.h>

#include "checks/desk/records/records.hpp"
#include "checks/tests/scratch.hpp"

namespace {
using namespace lab;
using namespace lab::desk;
namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

// A shell that knows some commands, and counts how often each is run.
struct Shell {
  std::map<std::string, Ran> knows;
  std::map<std::string, int> ran;
  Ran operator()(const std::string& command, const std::string& input) {
    ++ran[command];
    if (command == "cat") return {0, input, ""};
    const auto found = knows.find(command);
    return found == knows.end() ? Ran{127, "", "no such command\n"} : found->second;
  }
};

std::string why(Runner& runner, const std::string& command) {
  return complaint_of([&] { (void)runner.body(command); });
}

}  // namespace

TEST_CASE("capture: output, errors, input and status of a program") {
  const Ran both = capture_sh("echo out; echo err >&2; exit 3");
  CHECK(both.status == 3);
  CHECK(both.out == "out\n");
  CHECK(both.err == "err\n");
  CHECK(capture({"cat"}, "to be read").out == "to be read");
  CHECK(capture({"printf", "%s", "one word"}).out == "one word");
  CHECK(capture_sh("kill -9 $$").status == 128 + 9);
  const Ran none = capture({"no-such-program-here"});
  CHECK(none.status == 127);
  CHECK(has(none.err, "no-such-program-here"));
  CHECK(first_line({"printf", "a\nb\n"}) == "a");
  CHECK(first_line({"false"}) == "");
  CHECK(capture_sh("head -c 300000 /dev/zero | tr '\\0' x").out.size() == 300000);
}

TEST_CASE("pages: blocks are found, and those of others and in fences left alone") {
  const Lines page = {"text",
                      "<!-- begin: make list | head -3 -->",
                      "```text",
                      "old",
                      "```",
                      "<!-- end -->",
                      "```",
                      "<!-- begin: make list -->",
                      "```",
                      "<!-- begin: table steps -->",
                      "| a |",
                      "<!-- end -->",
                      "<!-- begin: ! make stage=v1 test -->",
                      "<!-- end -->",
                      "<!-- begin: make -->"};
  const auto blocks = blocks_of(page);
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].command == "make list | head -3");
  CHECK(blocks[0].first == 2);
  CHECK(blocks[0].body == Lines{"```text", "old", "```"});
  CHECK(blocks[1].command == "! make stage=v1 test");
  CHECK(blocks[1].body.empty());
  CHECK_THROWS_AS(blocks_of({"<!-- begin: sed -n 1p x -->", "text"}), BadInput);
  CHECK_THROWS_AS(blocks_of({"<!-- begin: sed -n 1p x -->", "<!-- begin: sed -n 2p x -->", "<!-- end -->"}), BadInput);
}

TEST_CASE("pages: output loses what differs from run to run") {
  CHECK(cleaned("\033[1;31mred\033[0m here (CPU, 2 workers)\n") == "red here\n");
  CHECK(cleaned("one (CPU, 1 worker) two (CPU, 3 workers)\n") == "one two (CPU, 3 workers)\n");
  CHECK(cleaned("make: Entering\nmake[2]: *** x\nmakes\ndiff --git a b\nindex 12ab..34cd 100644\nindex of all\n") ==
        "makes\nindex of all\n");
  CHECK(cleaned("") == "");
  CHECK(cleaned("no end") == "no end\n");
}

TEST_CASE("pages: the language of a block") {
  CHECK(language_of("sed -n 1p stages/v1_scalar/kernel.cu") == "cpp");
  CHECK(language_of("sed -n 1p common/tile.cuh") == "cpp");
  CHECK(language_of("sed -n 1p stages/v1_scalar/bugs/x.patch") == "diff");
  CHECK(language_of("make stage=v1 show-bug bug=x") == "diff");
  CHECK(language_of("git diff --no-index a.cu b.cu") == "diff");
  CHECK(language_of("build/desk-records hunks 'x|y' a.cu b.cu") == "diff");
  CHECK(language_of("make list") == "text");
}

TEST_CASE("pages: tables go in as they are, code loses its indentation, all else is fenced") {
  CHECK(framed({"| a |", "|---|"}, "text") == Lines{"| a |", "|---|"});
  CHECK(framed({"  a", "b"}, "text") == Lines{"```text", "  a", "b", "```"});
  CHECK(framed({"    if (x) {", "#pragma unroll", "", "      y();", "    }"}, "cpp") ==
        Lines{"```cpp", "if (x) {", "#pragma unroll", "", "  y();", "}", "```"});
  CHECK(framed({"#if X", "#endif"}, "cpp") == Lines{"```cpp", "#if X", "#endif", "```"});
}

TEST_CASE("pages: only the hunks that are asked for") {
  const std::string diff =
      "diff --git a/x b/y\nindex 1..2\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-Scores: old\n+new\n@@ -9 +9 @@\n-- list\n+--- "
      "x\n";
  CHECK(hunks_with(diff, "Scores:") == "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-Scores: old\n+new\n");
  CHECK(hunks_with(diff, "lis|old") == diff.substr(diff.find("--- a")));
  CHECK(hunks_with(diff, "nowhere") == "--- a/x\n+++ b/y\n");
  CHECK_THROWS_AS(hunks_with(diff, "("), BadInput);
}

TEST_CASE("pages: a body comes from a command that must succeed, or must fail, through its filter") {
  Shell shell;
  shell.knows = {{"make good", {0, "a\nb\n", ""}}, {"make red", {1, "found\n", "line 1\nline 2\nline 3\nline 4\n"}},
                 {"make quiet", {0, "", ""}},      {"git diff a b", {1, "@@\n", ""}},
                 {"grep a", {0, "a\n", ""}},       {"grep z", {1, "", "nothing\n"}}};
  Runner runner(std::ref(shell));
  CHECK(runner.body("make good") == Lines{"```text", "a", "b", "```"});
  CHECK(runner.body("make good | grep a") == Lines{"```text", "a", "```"});
  CHECK(runner.body("make good | cat") == Lines{"```text", "a", "b", "```"});
  CHECK(shell.ran["make good"] == 1);
  CHECK(runner.body("! make red") == Lines{"```text", "found", "```"});
  CHECK(runner.body("git diff a b") == Lines{"```diff", "@@", "```"});
  CHECK(why(runner, "make red") == "exit status 1\nline 2\nline 3\nline 4");
  CHECK(why(runner, "! make good") == "succeeded, but must fail");
  CHECK(why(runner, "make quiet") == "printed nothing");
  CHECK(why(runner, "make good | grep z").starts_with("the filter failed"));
  CHECK(why(runner, "make unknown").starts_with("exit status 127"));
}

TEST_CASE("pages: a page is renewed, or told where it is stale, and keeps a block that cannot be made") {
  const Scratch scratch("pages");
  const std::string path = scratch.path("page.md");
  const std::string head = "# Page\n<!-- begin: make good -->\n", end = "<!-- end -->\n", fresh = "```text\na\n```\n";
  const std::string red = "<!-- begin: make red -->\nkept\n<!-- end -->\nlast\n";
  Shell shell;
  shell.knows = {{"make good", {0, "a\n", ""}}, {"make red", {1, "", ""}}};
  Runner runner{std::ref(shell)};

  write_text(path, head + "stale\n" + end + red);
  Tally checked;
  renew_page(path, true, runner, checked);
  CHECK(checked.good == 1);  // its links, for it has none
  CHECK(checked.bad == 2);
  CHECK(has(checked.complaints,
            "page.md: block 1 is not what its command prints: make good\n    < stale\n    > ```text\n"));
  CHECK(has(checked.complaints, "block 2 cannot be made: make red\n    exit status 1\n"));
  CHECK(read_text(path) == head + "stale\n" + end + red);  // a check writes nothing

  Tally renewed;
  renew_page(path, false, runner, renewed);
  CHECK(renewed.good == 1);
  CHECK(renewed.bad == 1);
  CHECK(read_text(path) == head + fresh + end + red);

  Tally again;
  renew_page(path, true, runner, again);
  CHECK(again.good == 2);
  CHECK(again.bad == 1);

  write_text(path, head + "stale\n");
  Tally open;
  renew_page(path, false, runner, open);
  CHECK(open.bad == 1);
  CHECK(has(open.complaints, "has no <!-- end -->"));
  CHECK(read_text(path) == head + "stale\n");
  renew_page(scratch.path("absent.md"), false, runner, open);
  CHECK(open.bad == 2);
}

TEST_CASE("pages: a link must lead to a file, and to a heading or an anchor of it") {
  CHECK(anchor_of("How the checker works") == "how-the-checker-works");
  CHECK(anchor_of("The code: `a_b`, [x](y.md)") == "the-code-a_b-x");
  CHECK(anchor_of("P·V – 2 × 3 → 6") == "pv--2--3--6");

  const Scratch scratch("links");
  const std::string page = scratch.path("page.md");
  write_text(scratch.path("other.md"),
             "# Two words\n\n<a id=\"mark\"></a>\n\n## Again\n\n## Again\n\n```sh\n# no heading\n```\n");
  write_text(page,
             "# Top\n[a](other.md) [b](other.md#two-words) [c](other.md#mark) [d](other.md#again-1) [e](#top) "
             "[f](https://x.org/a.md#b) `a[0](int)`\n```cpp\na[1](float)\n```\n");
  CHECK(broken_links(page) == Lines{});
  write_text(page, "[a](absent.md) [b](other.md#again-2) [c](#mark) [d](other.md#no-heading)\n");
  CHECK(broken_links(page) == Lines{"absent.md: no such file", "other.md#again-2: no such heading or anchor",
                                    "#mark: no such heading or anchor",
                                    "other.md#no-heading: no such heading or anchor"});
}
