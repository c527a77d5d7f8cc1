// Whole reports of single kernels (rules.hpp), the lines that they name, and what global memory does
// between blocks.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "checks/tests/instrumented.hpp"
#include "checks/tests/rules.hpp"
#include "checks/tests/test_exec.hpp"
#include "common/emulator/addr2line.hpp"
#include "common/launch.cuh"

namespace lab::rules {
namespace {
using Kind = Finding::Kind;

TEST_CASE("report: one race is one finding, which says how and where it showed" * instrumented()) {
  const Done twice = broken("one_race_of_two_instances");
  REQUIRE(twice.findings().size() == 1);
  const Finding& f = twice.findings()[0];
  CHECK(f.is(inter));
  CHECK(f.is(intra) == false);
  CHECK_CONTAINS(f.text, "as inter-warp race (RAW), inter-warp race (WAR)");
  CHECK(f.count == 2 * 64);
  const Done same = broken("same_value"), differs = broken("last_value_differs");
  REQUIRE(same.findings().size() == 1);
  CHECK(same.findings()[0].same_value);
  REQUIRE(!differs.findings().empty());
  for (const Finding& each : differs.findings()) CHECK(each.same_value == (each.first.line == each.second.line));
}

TEST_CASE("report: many races are one, for any number of workers; a sample of blocks has its own numbers" *
          instrumented()) {
  std::set<std::string> texts;
  for (ExecOptions options; options.workers <= 5; options.workers += 2)
    texts.insert(broken("many_at_once", {96, 512, 6}, options).text());
  CHECK(texts.size() == 1);
  ExecOptions options;
  options.blocks = {3, 6};
  const Done done = broken("warp_barrier_orders_no_other_warp", {96, 512, 8}, options);
  REQUIRE(done.findings().size() == 1);
  CHECK(done.findings()[0].block == 3u);
  CHECK(done.findings()[0].count == 2u);
}

TEST_CASE("report: a line that a patch added is named, and printed, as it stands in the patch" * instrumented()) {
  const Done done = broken("added_by_patch");
  CAPTURE(done.text());
  REQUIRE(done.findings().size() == 1);
  const Finding& f = done.findings()[0];
  CHECK(f.kind == inter);
  for (const Finding::Access& side : {f.first, f.second})
    CHECK(Place{side.file, side.line} ==
          (side.write ? Place{"checks/tests/sample.patch", 8} : place_of(kernel("added_by_patch"), "read")));
  CHECK_CONTAINS(f.text, "write by warp 0 lane 3 at checks/tests/sample.patch:8: if (threadIdx.x == 3) s[21] = 1.0f;");
}

TEST_CASE("report: with the checker asleep there is none") {
  for (const char* name : {"warp_barrier_orders_no_other_warp", "unwritten_half", "copy_read_by_other"})
    CHECK(run(kernel(name), false, {}, {}).findings().empty());
}

TEST_CASE("report: which of two accesses is atomic" * instrumented()) {
  CHECK_CONTAINS(broken("zeroed_by_one").text(), "this one is atomic, it is not");
}

// Each line with one of these marks is one finding, out of bounds, and there is no other.
TEST_CASE("report: loads and stores of every size, ranges, packed, volatile and copied data" * instrumented()) {
  const auto each_is_out_of_bounds = [](const char* name, unsigned threads, std::initializer_list<const char*> marks) {
    const Done done = broken(name, {threads, 256});
    CAPTURE(done.text());
    CHECK(done.findings().size() == marks.size());
    for (const std::string mark : marks) {
      CAPTURE(mark);
      const Place place = place_of(kernel(name), mark);
      const auto f = std::ranges::find_if(done.findings(), [&](const Finding& some) {
        return Place{some.second.file, some.second.line} == place;
      });
      REQUIRE(f != done.findings().end());
      CHECK((f->kind == Kind::out_of_bounds && f->second.write == mark.starts_with("write") && f->count == 1));
    }
  };
  each_is_out_of_bounds(
      "sizes_past_end", 1,
      {"write 1", "write 2", "write 4", "write 8", "write 16", "read 1", "read 2", "read 4", "read 8", "read 16"});
  each_is_out_of_bounds("ranges_past_end", 1,
                        {"write 12", "read 12", "write 48", "read 48", "write packed 4", "read packed 4",
                         "write packed 8", "read packed 8", "write volatile", "read volatile", "write memcpy"});
}

TEST_CASE("report: a deadlock tells of every block of the cluster") {
  const Case& c = kernel("one_warp_never_arrives");
  const auto place = [&](const char* mark) { return "(" + place_of(c, mark).text() + ")."; };
  const Done done = run(c, false, {}, {});
  CHECK(done.error == cudaErrorLaunchTimeout);
  const std::string come = "the cluster's barrier, at which 96 of 128 threads have arrived " + place("barrier");
  for (const std::string& piece :
       {"Block 0 of the cluster: Warps 0..1 lanes 0..31 wait at " + come,
        "Block 1 of the cluster: Warp 0 lanes 0..31 wait at " + come,
        "Warp 1 lanes 0..31 wait for phase 0 of full[0] (parity 0): 1 of 1 arrivals missing " + place("stuck")})
    CHECK_CONTAINS(done.report.message, piece);
}

TEST_CASE("report: a spin that cannot end is a deadlock at its line" * instrumented()) {
  for (const auto& [name, mark, words] :
       {std::tuple("spins_on_flag", "poll", "which stays 0"), std::tuple("spins_on_lock", "lock", "which stays 1")})
    for (const Schedule schedule : SCHEDULES) {
      ExecOptions options;
      options.schedule = schedule;
      const Done done = broken(name, {8}, options);
      CAPTURE(done.text());
      CHECK(done.error == cudaErrorLaunchTimeout);
      REQUIRE(done.report.hang.deadlock);
      CHECK_CONTAINS(done.text(),
                     std::string("in a spin on element 0 of argument 2 (32 B, elements of 4 B), ") + words);
      for (const Wait& wait : done.report.hang.waits) {
        CHECK(wait.at == Wait::At::spin);
        CHECK(wait.line == place_of(kernel(name), mark).line);
      }
    }
}

TEST_CASE("report: a spin on plain memory ends by the time limit, again and again, at its line" * instrumented()) {
  for (int launch = 0; launch < 8; ++launch) {
    ExecOptions options;
    options.block_seconds = 0.02, options.workers = 1 + launch % 2;
    const Done done = broken("spins_on_plain", {64, NO_SMEM, 2}, options);
    CAPTURE(done.text());
    CHECK(done.error == cudaErrorLaunchTimeout);
    CHECK_CONTAINS(done.report.message, "at " + place_of(kernel("spins_on_plain"), "spin").text() + ": time limit");
  }
}

// --- source lines of addresses, from an addr2line that goes on running ---------------------------

using lab::cpu::ask_addr2line;

constexpr int MARKED = __LINE__ + 1;
void marked() {}

std::uintptr_t here() { return reinterpret_cast<std::uintptr_t>(&marked); }

bool is_marked(const std::vector<std::string>& frames) {
  return frames.size() == 1 && frames[0].ends_with("checks/tests/test_reports.cpp:" + std::to_string(MARKED));
}

TEST_CASE("addr2line: more addresses than are asked at once") {
  std::vector<std::uintptr_t> many(1203, 1);
  many[499] = many[500] = many[1202] = here();
  const auto found = ask_addr2line(many);
  for (std::size_t i = 0; i < many.size(); ++i) CHECK(is_marked(found[i]) == (many[i] != 1));
  CHECK(found[0] == std::vector<std::string>{"??:0"});
}

TEST_CASE("addr2line: a forked process has one of its own, and its parent's is as it was") {
  CHECK(is_marked(ask_addr2line({here()})[0]));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  // Both ask at once: with one between them, each would read the other's answers.
  const auto always = [](const std::vector<std::uintptr_t>& pcs) {
    int right = 0;
    for (int i = 0; i < 300; ++i) right += is_marked(ask_addr2line(pcs).back());
    return right == 300;
  };
  if (child == 0) _exit(always({1, here()}) ? 0 : 1);
  CHECK(always({here()}));
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(is_marked(ask_addr2line({here()})[0]));
}

// --- blocks at global memory ---------------------------------------------------------------------

std::vector<int> out_of(const char* name, std::uint64_t order, ExecOptions options = {}) {
  options.block_order = order;
  if (!options.workers) options.workers = 1;
  return run(kernel(name), true, {}, options).out;
}

TEST_CASE("global memory: atomicAdd and add4 add once for each block and element, and give each caller its number") {
  for (std::uint64_t order = 0; order < 4; ++order) {
    for (const char* name : {"atomic_sums", "sums_of_four"}) {
      const std::vector<int> out = out_of(name, order);
      for (unsigned i = 0; i <= 32; ++i) CHECK(out[i] == (i < 32 ? 0x40E00000 : 0));  // 7.0f
    }
    const std::vector<int> drawn = out_of("atomic_tickets", order);
    for (unsigned i = 0; i <= 16; ++i) CHECK(drawn[i] == (i ? 1 : 96));
  }
}

TEST_CASE("global memory: blocks start in the order that is asked for, of a sample too") {
  const auto last = [](std::uint64_t order) { return out_of("written_twice", order)[5]; };
  CHECK(last(0) == 2);
  CHECK(last(1) == 0);
  std::set<int> lasts;
  for (std::uint64_t order = 2; order < 12; ++order) {
    CHECK(last(order) == last(order));
    lasts.insert(last(order));
  }
  CHECK(lasts == std::set{0, 1, 2});
  ExecOptions sampled;
  sampled.blocks = {0, 1};
  CHECK(out_of("written_twice", 1, sampled)[5] == 0);
}

TEST_CASE("global memory: a semaphore puts blocks in order, in whatever order they start") {
  const auto in_turn = [](const char* name, std::uint64_t order, const ExecOptions& options) {
    const std::vector<int> out = out_of(name, order, options);
    return std::vector(out.begin() + 1, out.begin() + 4) == std::vector{0, 1, 2};
  };
  bool passed_first_shows = false;
  for (const Schedule schedule : {Schedule::ascending, Schedule::round_robin, Schedule::random})
    for (std::uint64_t order = 0; order < 8; ++order) {
      ExecOptions options;
      options.schedule = schedule;
      passed_first_shows |= !in_turn("turn_passed_first", order, options);
      for (options.workers = 1; options.workers <= 3; ++options.workers)
        CHECK_MESSAGE(in_turn("by_turns", order, options), int(schedule) << " " << order << " " << options.workers);
    }
  CHECK(passed_first_shows);
}

TEST_CASE("global memory: a semaphore that is never raised, or by a block without room, is a deadlock") {
  ExecOptions options;
  for (options.workers = 1; options.workers <= 3; ++options.workers) {
    const Done done = run(kernel("turn_never_comes"), false, {}, options);
    REQUIRE(done.report.hang.deadlock);
    CHECK(done.report.hang.waits.at(0).at == Wait::At::semaphore);
    CHECK(done.report.hang.waits.at(0).line == place_of(kernel("turn_never_comes"), "never").line);
  }
  options.crowded = true, options.workers = 1;
  for (options.block_order = 0; options.block_order < 2; ++options.block_order)
    CHECK(run(kernel("by_turns"), true, {}, options).report.hang.deadlock == (options.block_order == 1));
}

TEST_CASE("global memory: a launch may read and write what the one before wrote" * instrumented()) {
  int* out = nullptr;
  REQUIRE(cudaMalloc(&out, 96 * sizeof(int)) == cudaSuccess);
  ExecOptions options;
  options.check = true, options.workers = 1;
  for (options.block_order = 0; options.block_order < 4; ++options.block_order) {
    take_exec_report();
    set_exec_options(options);
    for (const char* name : {"own_elements", "atomic_sums", "all_read", "own_elements"})
      CHECK(launch(name, kernel(name).kernel, 3, 32, 0, nullptr, static_cast<const Maps*>(nullptr), out, true) ==
            cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    set_exec_options({});
    CHECK(take_exec_report().findings.empty());
  }
  cudaFree(out);
}

}  // namespace
}  // namespace lab::rules
