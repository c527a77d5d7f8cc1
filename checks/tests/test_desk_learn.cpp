// The exercises' host side: the loader, what is handed out and what gives it away, the state, the guard, the grades.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "checks/exercises/learn/exercise.hpp"
#include "checks/exercises/rule.hpp"
#include "checks/tests/scratch.hpp"

using namespace lab;
using namespace lab::desk;

namespace {

namespace fs = std::filesystem;

const std::string HEAD = "n: 7\nname: a-name\nkind: fix\nminutes: 5\nafter: on-ramp\n";
const std::string PREDICT = "predict: mask\nshape: 1,1,64,64; 1,1,65,64\nright: row < 3\nnear: row <= 3\n";
const std::string BODY =
    "\nsymptom:\n  It is\n\n  wrong.\n\nquestion:\n  Why?\nquestion:\n  Where?\nhint:\n  A\nhint:\n  B\nhint:\n  C\n";

std::string complaint(const std::string& text) {
  return complaint_of([&] { parse_exercise("x.exercise", text); });
}

}  // namespace

TEST_CASE("exercises: a file is read whole") {
  const Exercise e = parse_exercise("a/b.exercise", HEAD + PREDICT + BODY);
  CHECK(e.n == 7);
  CHECK(e.number() == "07");
  CHECK(e.file() == "work/07/kernel.cu");
  CHECK(e.shape == "1,1,64,64;1,1,65,64");
  CHECK(e.symptom == "It is\n\nwrong.");
  CHECK(e.questions == std::vector<std::string>{"Why?", "Where?"});
  CHECK(e.hints == std::vector<std::string>{"A", "B", "C"});
  CHECK(e.near == std::vector<std::string>{"row <= 3"});
  CHECK(e.beside(".patch") == "a/b.patch");
  CHECK(complaint(HEAD + BODY).empty());
  CHECK(parse_exercise("a", HEAD + BODY + "\ngpu:\n  It\n  differs.\n").gpu == "It\ndiffers.");
}

TEST_CASE("exercises: what is wrong with a file is one line that names the place") {
  CHECK(has(complaint("n: 7\nname: a_b\n"), "x.exercise:2: `name: a_b`"));
  CHECK(has(complaint("n: 0\n"), "x.exercise:1: `n: 0`: a whole number from 1 to 999"));
  CHECK(has(complaint("n: 7\nn: 8\n"), ":2: `n:` is there twice"));
  CHECK(has(complaint("nmae: x\n"), "unknown key `nmae:`"));
  CHECK(has(complaint("kind: mend\n"), "must be one of fix, hole"));
  CHECK(has(complaint("hint: x\n"), "is a block"));
  CHECK(has(complaint("hint:\nname: x\n"), "`hint:` says nothing"));
  CHECK(has(complaint("hint:\n  " + std::string(99, 'x') + "\n"), ":2: longer than 100 bytes"));
  CHECK(has(complaint("  lost\n"), "nor in a block"));
  CHECK(has(complaint(HEAD), "lacks a block `symptom:`"));
  CHECK(has(complaint(HEAD + BODY + "hint:\n  D\n"), "4 hints; there must be three"));
  CHECK(has(complaint(HEAD + BODY + "answer:\n  D\n"), "1 answers; kind: mechanism has one for each question"));
  CHECK(has(complaint(HEAD + "predict: mask\n" + BODY), "lacks `right:`"));
  CHECK(has(complaint(HEAD + "predict: mask\nright: row\n" + BODY), "lacks `near:`"));
  CHECK(has(complaint(HEAD + "predict: mask\nright: raw\nnear: row\n" + BODY), "is no number, name or operator"));
  CHECK(has(complaint(HEAD + "predict: formula\nright: a\nnear: b\nmenu: b c d\n" + BODY),
            "right: a is not on the menu"));
  CHECK(has(complaint(HEAD + "right: row\n" + BODY), "need `predict:`"));
}

TEST_CASE("exercises: found by number and by name, and the nearest of neither") {
  Course course;
  for (const auto& [n, name] : {std::pair(1, "first"), {12, "a Second one"}}) {
    course.all.push_back({});
    course.all.back().n = n, course.all.back().name = name;
  }
  CHECK(course.find("012").name == "a Second one");
  CHECK(course.find("a-second-one").n == 12);
  CHECK(course.find("first").n == 1);
  CHECK_THROWS_WITH(course.find("11"),
                    "no exercise 11; the nearest is 12 (a Second one), and make exercise lists them");
  CHECK_THROWS_WITH(course.find("frist"), doctest::Contains("the nearest are: first"));
  CHECK_THROWS_WITH(Course{}.find("1"), "there are no exercises");
}

TEST_CASE("rules: names and C's precedence, compiled") {
  const auto count = [](const std::string& text) {  // of the elements of (1, 2, 100, 64)
    const Rule rule(text);
    long marked = 0;
    for (long h = 0; h < 2; ++h)
      for (long row = 0; row < 100; ++row) marked += std::ranges::count(rule.marks({0, h, row, 0, 100, 64, 1}), '#');
    return marked;
  };
  CHECK(count("1") == 12800);
  CHECK(count("row%64>=56&&h==1") == 8 * 64);
  CHECK(count("row < 3 || row >= S - 1 && col == 0") == 2 * (3 * 64 + 1));
  CHECK(count("(col ^ 3) < 2 and not (dq or !causal)") == 2 * 100 * 2);
  CHECK(count("row != 0 && 8 / row == 8") == 2 * 64);
  CHECK_THROWS_WITH_AS(count("8 / row == 8"), "'8 / row == 8' divides by zero", BadInput);
  CHECK(Rule("dk && row > 3").marks({.row = 4, .D = 2, .dk = 1}) == "##");
  // What C reads otherwise than it looks is told in the compiler's words.
  const auto complaint = [](const std::string& text) { return complaint_of([&] { Rule rule(text); }); };
  CHECK(complaint("row & 7 == 0") ==
        "'row & 7 == 0', at character 9: suggest parentheses around comparison in operand of '&'");
  CHECK(has(complaint("0 < row < 4"), "boolean expression"));
  CHECK(complaint("(row & 7) == 0").empty());
  // Nothing is run by a compiler that is not there.
  setenv("HOST_CXX", "no-such-compiler", 1);
  CHECK(has(complaint("row"), "no-such-compiler: not found"));
  unsetenv("HOST_CXX");
}

TEST_CASE("rules: a wrong one is answered with a map of what it marks beside what is wrong") {
  std::string yours(40 * 32, '.'), seen = yours;
  for (int row = 8; row < 16; ++row)
    seen.replace(std::size_t(row) * 32, 32, 32, '#'), yours[std::size_t(row) * 32] = '#';
  CHECK(rule_map(yours, seen, 32, "NaN") ==
        std::vector<std::string>{"  rows          your rule         NaN",  //
                                 "  0 to 7        ................  ................",
                                 "  8 to 15       +...............  ################  differ",
                                 "  16 to 39      ................  ................",
                                 "  # all, + some, . none of 2 columns"});
  for (int row = 0; row < 40; row += 2) seen[std::size_t(row) * 32 + 31] = '#';
  const std::vector<std::string> map = rule_map(yours, seen, 32, "wrong");
  CHECK(map[1] == "  0             ................  ...............+  differ");
  CHECK(map.size() == 15);
  CHECK(has(map[13], "more lines"));
}

TEST_CASE("rules: only numbers, names and operators reach the compiler, each where it may stand") {
  const auto complaint = [](const std::string& text) { return complaint_of([&] { check_rule(text); }); };
  for (const char* good : {"0", "row", "-row == -5 && !(col / 10)", "~row?col:+D", "row - -3 & 1 << 5", "((row))"})
    CHECK_MESSAGE(complaint(good).empty(), good);
  CHECK(complaint("row = 3") == "'row = 3', at character 5: '=' compares nothing; write ==");
  CHECK(
      complaint("rwo > 3") ==
      "'rwo > 3', at character 1: 'rwo' is no number, name or operator; the names are b h row col S D causal dq dk dv");
  CHECK(has(complaint("(row > 3"), "a ')' is missing"));
  CHECK(has(complaint("row > "), "something is missing"));
  CHECK(has(complaint("row > 3 4"), "an operator is missing before '4'"));
  // Calls, strings, statements, comments, pointers, digraphs, directives, and parentheses that close the checks' own.
  for (const char* bad :
       {"",         "system(\"id\")", "row(1)",   "'a'",      "row; 1",   "row, 1", "{1}",   "row[1]",  "row <: 1",
        "row <% 1", "%: 1",           "row // 1", "row /* 1", "row */ 1", "*&row",  "&row",  "&&row",   "row?\?(1",
        "#1",       "row\n#1",        "row \\",   "__LINE__", "0x1",      "1e9",    "1.5",   "1L",      "row = 1",
        "row += 1", "row)||(1",       "asm",      "$",        "@",        "`id`",   "$(id)", "row->col"})
    CHECK_MESSAGE(!complaint(bad).empty(), bad);
  CHECK(!complaint(std::string(500, '-') + "1").empty());
}

TEST_CASE("exercises: comments go, and what only looks like one stays") {
  CHECK(without_comments("a // b\nc /* d\ne */ f\n") == "a \nc \n  f\n");
  CHECK(without_comments("\"// no\" '\"' // yes") == "\"// no\" '\"' ");
  CHECK(without_comments("1'000 // x") == "1'000 ");
  CHECK(without_comments("'\\'' /**/ \"\\\"//\"") == "'\\''   \"\\\"//\"");
}

TEST_CASE("exercises: of a bug's patch its comments are not handed out") {
  const Scratch scratch("learn");
  scratch.write("k.cu", "one;  // kept\ntwo;  // as it was\nthree;\nfour;\n");
  scratch.write("b.patch",
                "plants: x\npredicted: y\n\n--- a/k.cu\n+++ b/k.cu\n@@ -1,4 +1,5 @@\n one;  // kept\n"
                "-two;  // as it was\n-three;\n+two(2);  // as it was\n+three(3);  // the bug\n+// alone\n four;\n");
  const std::string patch = scratch.path("b.patch"), kernel = scratch.path("k.cu");
  CHECK(planted_text(patch, kernel) == "one;  // kept\ntwo(2);  // as it was\nthree(3);\nfour;\n");
  CHECK(has(planted_text(patch, kernel, true), "three(3);  // the bug\n// alone\n"));
  scratch.write("k.cu", "one;  // kept\ntwo;  // as it is\nthree;\nfour;\n");
  CHECK_THROWS_WITH_AS(planted_text(patch, kernel), doctest::Contains("b.patch no longer applies to k.cu"), BadInput);
}

TEST_CASE("exercises: no text of those that there are gives anything away; one that did would be told") {
  const Course course = read_course();
  REQUIRE(course.all.size() >= 3);
  for (const Exercise& e : course.all) CHECK(leak(e) == "");
  Exercise e = course.find("40");
  e.hints[0] = "Have a look at LDM, please.";
  CHECK(has(leak(e), "the hint 1 holds the bug's name, ldm"));
  e.hints[0] = "An ldmatrix is none, nor is an ldm_stride.";
  CHECK(leak(e).empty());
  e.hints[2] = "Write wmma::load_matrix_sync( b, &sK[n * LD + c], LD);";
  CHECK(has(leak(e), "the hint 3 holds a line of the solution"));
}

TEST_CASE("exercises: half a solution is the solution, written otherwise in one or more places") {
  Exercise e = read_course().find("122");
  REQUIRE(e.kind == "faster");
  const Half one = half_solution(e, "no races: __syncwarp();\\n    if (lane == 0) => if (lane == 0)");
  CHECK(one.step == "no races");
  CHECK(one.source.size() + std::string("__syncwarp();\n    ").size() == solution(e).size());
  const Half two = half_solution(e, "within bounds: int STRIPE = 16; => a ;; int WARPS = 4; => b");
  CHECK(has(two.source, "constexpr b"));
  CHECK(has(two.source, "constexpr a"));
  CHECK_THROWS_WITH(half_solution(e, "within bounds"), doctest::Contains("must be STEP: OLD => NEW"));
  CHECK_THROWS_WITH(half_solution(e, "within bounds: int WARPS = 4; => b ;; x"), doctest::Contains("OLD => NEW"));
  CHECK_THROWS_WITH(half_solution(e, "within bounds: no such text => b"), doctest::Contains("is not in the solution"));
  CHECK_THROWS_WITH(half_solution(e, "within bounds: half => b"),
                    doctest::Contains("is in the solution more than once"));
}

TEST_CASE("exercises: a faster kernel has a bound, half a solution that misses it, and a card that says the bound") {
  int stages_own = 0;
  for (const Exercise& e : read_course().all) {
    if (e.kind != "faster") continue;
    CHECK_MESSAGE(!e.limits.empty(), e.path);
    CHECK_MESSAGE(std::ranges::any_of(e.partly, [](const auto& p) { return p.starts_with(WITHIN_BOUNDS); }), e.path);
    for (const std::string& limit : e.limits) CHECK_MESSAGE(has(card(e), "- " + limit), e.path);
    CHECK_MESSAGE(handed_out(e) != solution(e), e.path);
    stages_own += handed_out(e) == read_text("stages/" + e.stage + "/kernel.cu");
  }
  CHECK(stages_own > 0);
  Exercise e = read_course().find("83");
  CHECK(leak(e).empty());
  e.hints[1] = "Write copy8(out + std::size_t(q0 + r) * D + col, &smem.sQ[r * LD + col], true);";
  CHECK(leak(e).empty());  // with its `if` it is a line
  e.hints[1] = "if (q0 + r < S) copy8(out + std::size_t(q0 + r) * D + col, &smem.sQ[r * LD + col], true);";
  CHECK(has(leak(e), "the hint 2 holds a line of the solution"));
}

TEST_CASE("exercises: pieces of lines become line numbers of what is handed out") {
  Exercise e = read_course().find("40");
  e.predict = "lines";
  const std::string typed = as_typed(e, "int slot = | const half* sV =");
  const std::vector<std::string> lines = lines_of(handed_out(e));
  const std::size_t blank = typed.find(' ');
  CHECK(has(lines.at(std::stoul(typed.substr(0, blank)) - 1), "int slot ="));
  CHECK(has(lines.at(std::stoul(typed.substr(blank)) - 1), "const half* sV ="));
  CHECK_THROWS_WITH(as_typed(e, "half"), doctest::Contains("lines of what is handed out"));
}

TEST_CASE("exercises: the state survives, and a half-written file is put aside") {
  const Scratch scratch("learn");
  const std::string path = scratch.path("state.txt");
  State state(path);
  state.of("07").hints = 2;
  state.of("07").attempts = {{"row < 2 && \"x\"", false, false}, {"row < 3", true, true}, {"", false, false}};
  state.save();
  const State again(path);
  CHECK(again.seen("07").hints == 2);
  CHECK(again.seen("08").hints == 0);
  const std::vector<Attempt> attempts = again.seen("07").attempts;
  REQUIRE(attempts.size() == 3);
  CHECK(attempts[0].say == "row < 2 && \"x\"");
  CHECK(!attempts[0].right);
  CHECK(attempts[1].right);
  CHECK(attempts[1].late);
  for (const std::string broken : {"07 hin", "07 hints", "07 hints x", "{}", "07 said 1"}) {
    write_text(path, "08 hints 1\n" + broken + "\n");
    const State aside(path);
    CHECK(aside.seen("08").hints == 0);
    CHECK(has(read_text(path + ".unreadable"), broken));
    CHECK(!fs::exists(path));
  }
}

TEST_CASE("exercises: a source that reaches for the checks is refused") {
  const std::string given = "#include \"common/tile.cuh\"\n";
  const auto refused = [&](const std::string& text) { return refused_source("k.cu", text, given); };
  CHECK(refused(given + "int a;  // asm, #line, #include\n#pragma unroll\n").empty());
  CHECK(refused("\n#include <fstream>\n") ==
        "k.cu:2: a handed-in kernel includes what was handed out with it, and no more");
  CHECK(has(refused("#include MACRO\n"), "includes what was handed out"));
  CHECK(has(refused(" # include \"reference/attention.hpp\"\n"), "includes what was handed out"));
  CHECK(has(refused("# 1 \"other.cu\"\n"), "#line"));
  CHECK(has(refused("#line 1\n"), "#line"));
  CHECK(has(refused("%:line 1\n"), "digraphs"));
  CHECK(has(refused("#inc\\\nlude <fstream>\n"), "one line"));
  CHECK(has(refused("void f() { asm(\"\"); }\n"), "`asm` has no place"));
  CHECK(has(refused("__attribute__((constructor)) void f();\n"), "`constructor`"));
  CHECK(refused("int masm, asmx;\n").empty());
}

TEST_CASE("exercises: an object may call what a kernel needs") {
  CHECK(refused_symbol("                 U expf\n                 U lab::cpu::shuffle(int)\n                 U "
                       "__tsan_read4\n                 U operator new(unsigned long)\n                 U float "
                       "lab::cpu::atomic<float>(lab::cpu::Atomic, float*, float)\n")
            .empty());
  for (const char* symbol : {"exit", "_exit", "fopen", "getenv", "lab::set_exec_options(lab::ExecOptions const&)",
                             "lab::attention(lab::Shape const&, double)", "lab::cpu::Block::shadow()", "dlsym",
                             "float lab::cpu::Block<float>::shadow<float>(int)", "float lab::other<float>(int)",
                             "std::basic_ofstream<char, std::char_traits<char> >::basic_ofstream()", "syscall"})
    CHECK(refused_symbol(std::string("                 U ") + symbol + "\n") == symbol);
}

TEST_CASE("exercises: a compiler's errors, the last line of any log, and no more lines than help") {
  std::string all;
  const std::string first = compiler_error("a\nwork/07/kernel.cu:12:3: error: expected ';'\n\n  x\n", "log", &all);
  CHECK(first == "work/07/kernel.cu:12:3: error: expected ';'");
  CHECK(all == "work/07/kernel.cu:12:3: error: expected ';'\n  x\n");
  CHECK(compiler_error("a\nb\n", "log", &all) == "b");
  CHECK(all.empty());
  CHECK(last_line("one\n  two \n\n") == "two");
  const std::string cut = few_lines(std::vector<std::string>(40, "line"), "build/logs/a.log");
  CHECK(has(cut, "and 16 more lines: build/logs/a.log"));
  CHECK(lines_of(cut).size() == 25);
}

TEST_CASE("exercises: long lines are wrapped at blanks, and nothing of them is lost") {
  CHECK(wrapped("aaa bbb ccc\n", 9, "") == "aaa bbb\n  ccc\n");
  CHECK(wrapped("  aaa bbb ccc\n", 11, "> ") == ">   aaa bbb\n>     ccc\n");
  CHECK(wrapped("a-word-that-is-too-long b\n", 5, "") == "a-word-that-is-too-long\n  b\n");
  std::string text;
  for (int i = 0; i < 300; ++i) text += "w" + std::to_string(i) + " ";
  const std::string lines = wrapped(text, 100, "    ");
  for (const std::string& line : lines_of(lines)) CHECK(line.size() <= 100);
  CHECK(words_of(lines) == words_of(text));
}

TEST_CASE("exercises: a wrong prediction is not told what was measured, until it is right or given up") {
  CHECK(verdict_told({false, "row 8 differs\n", 0, 1, {"your rule names 4 elements"}}, false) ==
        "your rule names 4 elements\nnot right");
  const Prediction wrong{false, "  barriers: you say 4, measured 5\n", 2, 4}, one{false, "row 8 differs\n", 0, 1};
  CHECK(verdict_told(wrong, false) == "2 of 4 right");
  CHECK(verdict_told(one, false) == "not right");
  CHECK(verdict_told(wrong, true) == "  barriers: you say 4, measured 5\n2 of 4 right");
  CHECK(verdict_told({true, "the same elements\n", 2, 2}, false) == "the same elements\nright.");
  // A number that no launch shows, too large or too small.
  int told = 0;
  for (const Exercise& e : read_course().all)
    if (e.seen == "told")
      for (const int step : {-1, 1}) {
        const Prediction p = judge_prediction(e, "", std::to_string(std::stol(e.right) + step));
        CHECK(!p.holds);
        CHECK(verdict_told(p, false) == "not right");
        ++told;
      }
  CHECK(told > 0);
}

TEST_CASE("exercises: the course assigns what there is, with its minutes") {
  const Course course = read_course();
  int weeks = 0;
  for (const std::string& line : lines_of(read_text("writeups/course.md"))) {
    const std::size_t end = line.rfind("` |"), begin = line.rfind("| `", end);
    if (!line.starts_with("| ") || end == line.npos || begin == line.npos) continue;
    int minutes = 0;
    for (const std::string& n : words_of(line.substr(begin + 3, end - begin - 3))) minutes += course.find(n).minutes;
    CHECK_MESSAGE(line.ends_with("| " + std::to_string(minutes) + " |"), line);
    ++weeks;
  }
  CHECK(weeks == 8);
}

TEST_CASE("exercises: of a drill's file the solution is one part, what is handed out the other") {
  int drills = 0;
  for (const Exercise& e : read_course().all) {
    if (!e.is_drill()) continue;
    ++drills;
    const auto asks = [](const std::string& text) { return has(text, "yours") || has(text, "Yours"); };
    CHECK_MESSAGE((asks(handed_out(e)) && !asks(solution(e))), e.path);
    CHECK_MESSAGE(!has(handed_out(e) + solution(e), "SOLUTION"), e.path);
  }
  CHECK(drills >= 20);
}

TEST_CASE("exercises: a mechanism is asked for by a specification, and near misses are refused for a reason") {
  int mechanisms = 0;
  for (const Exercise& e : read_course().all) {
    if (e.kind != "mechanism") continue;
    ++mechanisms;
    CHECK_MESSAGE(e.minutes >= 45, e.path);
    CHECK_MESSAGE(e.partly.size() >= 2, e.path);
    for (const std::string& partly : e.partly) CHECK_MESSAGE(!half_solution(e, partly).says.empty(), e.path);
    for (const std::string& limit : e.limits) CHECK_MESSAGE(has(card(e), "- " + limit), e.path);
    CHECK_MESSAGE(e.is_drill(), e.path);
  }
  CHECK(mechanisms >= 12);
  const Half half = half_solution(read_course().find("214"), "the right bits (deadlock): use % 2 ^ 1 => use % 2");
  CHECK(half.step == "the right bits");
  CHECK(half.says == "deadlock");
}

TEST_CASE("exercises: grades as a table and as JSON") {
  Graded good{"01", "one", "fix", true, "", "", true, true, 0, 1, "attempt 1 of 1"}, bad = good;
  bad.attempts = "none of 7 right", bad.gave_up = true;
  bad.passed = bad.predicted = false, bad.step = "no races", bad.says = "a \"race\"\xff";
  Graded plain{"02", "two", "hole", true, "", "", false, false, 3};
  CHECK(good.points() == 10);
  CHECK(bad.points() == 0);
  CHECK(plain.points() == 10);
  Graded unpredicted = good;
  unpredicted.predicted = false;
  CHECK(unpredicted.points() == 8);
  const std::string table = grades_table({good, bad, plain});
  CHECK(has(table, "RED, no races: a \"race\""));
  CHECK(has(table, "20 of 30 points"));
  CHECK(has(table, "none of 7 right"));
  Graded here = good;
  here.gpu = "it is wrong";
  CHECK(has(grades_table({here}), "passed here; on a GPU: it is wrong"));
  CHECK(has(table, "[LOOK: the solution was shown"));
  CHECK(grades_json({good, bad}) ==
        "{\"tests\": [\n"
        "  {\"number\": \"01\", \"name\": \"one\", \"score\": 10, \"max_score\": 10, \"output\": \"passed; prediction: "
        "attempt 1 of 1\"},\n"
        "  {\"number\": \"01\", \"name\": \"one\", \"score\": 0, \"max_score\": 10, "
        "\"output\": \"no races: a \\\"race\\\"?; prediction: none of 7 right\"}\n]}\n");
}

TEST_CASE("exercises: a test is scored by what it catches, less what it accuses") {
  Exercise e;
  e.n = 9, e.kind = "test", e.budget = 2, e.goal = 2;
  CHECK(cases_in(e, "# words\n\n B=1  S=2 # more\nB=3\n") == std::vector<std::string>{"B=1 S=2", "B=3"});
  CHECK_THROWS_WITH(cases_in(e, "a\nb\nc\n"), "work/09/cases.txt has 3 cases; the budget is 2");
  CHECK_THROWS_WITH(cases_in(e, "# nothing\n"), "work/09/cases.txt has no case");
  const std::vector<Suspect> all = {{"", "1", true}, {"", "2", true}, {"", "3", false}};
  const auto judged = [&](const std::string& red) {  // "1a 3b": which are red on which case
    return judge_cases(e, {"a", "b"}, all,
                       [&](const Suspect& s, const std::string& one) { return has(red, s.word + one); });
  };
  CHECK(judged("1a 2b").empty());
  CHECK(judged("1a 1b") == "caught 1 of 2 wrong kernels, 0 false alarms; asked for are 2; number 2 gets through");
  CHECK(judged("1a 2a 3b") ==
        "caught 2 of 2 wrong kernels, 1 false alarms; asked for are 2; number 3 is right, and accused");
}

TEST_CASE("exercises: a test's kernels are the stage's bugs, those that are none, and its own") {
  const Course course = read_course();
  for (const Exercise& e : course.all) {
    if (e.kind != "test") continue;
    const std::vector<Suspect> all = suspects(e);
    CHECK(all.back().source == read_text("stages/" + e.stage + "/kernel.cu"));
    CHECK(!all.back().wrong);
    int wrong = 0;
    for (const Suspect& s : all) wrong += s.wrong;
    CHECK_MESSAGE(e.goal <= wrong, e.path);
  }
}
