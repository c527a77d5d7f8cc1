// The race, init and bounds checker: every kind of report, with the lines, warps and lanes that it must name,
// and the compiler's ABI that it stands on. The kernels are in checks/tests/test_checker_kernels.cpp.
#include "checks/tests/instrumented.hpp"
#include "checks/tests/test_checker_kernels.hpp"

#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "checks/tests/marked_line.hpp"
#include "common/backend.hpp"
#include "common/launch.cuh"

namespace {
using namespace lab;
namespace kernels = lab::checker_kernels;
using Kind = Finding::Kind;

const std::string KERNELS = "checks/tests/test_checker_kernels.cpp";

// Line `number` of the kernels, without its indentation: what a report prints of it.
std::string text_of_line(int number) {
  std::ifstream file(KERNELS);
  std::string line;
  for (int i = 0; i < number; ++i) REQUIRE(std::getline(file, line));
  return line.substr(line.find_first_not_of(' '));
}

struct Run {
  const char* name;
  kernels::Kernel* kernel;
  unsigned threads = 96;
  std::size_t smem = 256;
  unsigned blocks = 1;
  ExecOptions options{};
};

struct Checked {
  std::string kernel;
  cudaError_t launched{}, finished{};
  ExecReport report;
  std::vector<int> out;
  const std::vector<Finding>& findings() const { return report.findings; }
};

Checked check(const Run& run, bool on = true) {
  take_exec_report();
  Checked checked;
  checked.kernel = run.name;
  const std::size_t ints = std::size_t(run.threads) * run.blocks;
  int* out = nullptr;
  REQUIRE(cudaMalloc(&out, ints * sizeof(int)) == cudaSuccess);
  cudaMemset(out, 0, ints * sizeof(int));
  ExecOptions options = run.options;
  options.check = on;
  set_exec_options(options);
  checked.launched = launch(run.name, run.kernel, run.blocks, run.threads, run.smem, nullptr, out);
  checked.finished = cudaDeviceSynchronize();
  set_exec_options({});
  checked.report = take_exec_report();
  checked.out.resize(ints);
  cudaMemcpy(checked.out.data(), out, ints * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(out);
  CHECK_MESSAGE(checked.launched == cudaSuccess, checked.report.message);
  CHECK_MESSAGE(checked.finished == cudaSuccess, checked.report.message);
  return checked;
}

// Every schedule and both copy modes.
void under_all_options(Run run, const std::function<void(const Run&)>& body) {
  for (const Schedule schedule : {Schedule::ascending, Schedule::descending, Schedule::round_robin, Schedule::random})
    for (const Copies copies : {Copies::at_wait, Copies::at_issue})
      for (std::uint64_t seed = 1; seed <= (schedule == Schedule::random ? 3 : 1); ++seed) {
        run.options.schedule = schedule, run.options.copies = copies, run.options.seed = seed;
        CAPTURE(std::string(name(schedule)));
        CAPTURE(std::string(name(copies)));
        CAPTURE(seed);
        body(run);
      }
}

std::string all_texts(const Checked& checked) {
  std::string text = checked.kernel + ":";
  for (const Finding& f : checked.findings()) text += "\n" + f.text;
  return text;
}

void silent(const Checked& checked) { CHECK_MESSAGE(checked.findings().empty(), all_texts(checked)); }
void silent_under_all_options(const Run& run) {
  under_all_options(run, [](const Run& r) { silent(check(r)); });
}

struct Side {
  const char* marker;  // nullptr: there is no such side
  int warp = -1, lane = -1;
  bool write = false;
};
constexpr Side NO_SIDE{nullptr};
Side read_by(const char* marker, int warp, int lane) { return {marker, warp, lane, false}; }
Side written_by(const char* marker, int warp, int lane) { return {marker, warp, lane, true}; }

void check_side(const Checked& checked, const Finding::Access& access, const Side& expected) {
  CHECK(access.valid == (expected.marker != nullptr));
  if (!expected.marker) return;
  CHECK(access.file == KERNELS);
  CHECK(access.line == line_of(checked.kernel, expected.marker, KERNELS));
  CHECK(access.warp == expected.warp);
  CHECK(access.lane == expected.lane);
  CHECK(access.write == expected.write);
}

void check_finding(const Checked& checked, const Finding& f, Kind kind, const std::string& hazard, const Side& first,
                   const Side& second, const std::string& where, std::uint64_t count = 1) {
  CAPTURE(f.text);
  CHECK(std::string(name(f.kind)) == std::string(name(kind)));
  CHECK(f.hazard == hazard);
  CHECK(f.kernel == checked.kernel);
  CHECK(f.where == where);
  CHECK(f.count == count);
  check_side(checked, f.first, first);
  check_side(checked, f.second, second);
  // The report says all of it, for a reader who sees nothing else.
  CHECK(f.text.find(name(kind)) == 0);
  CHECK(f.text.find(where) != f.text.npos);
  for (const Side& side : {first, second}) {
    if (!side.marker) continue;
    const int line = line_of(checked.kernel, side.marker, KERNELS);
    CHECK(f.text.find("warp " + std::to_string(side.warp) + " lane " + std::to_string(side.lane) + " at " + KERNELS +
                      ":" + std::to_string(line) + ": " + text_of_line(line)) != f.text.npos);
  }
}

void only_finding(const Checked& checked, Kind kind, const std::string& hazard, const Side& first, const Side& second,
                  const std::string& where, std::uint64_t count = 1) {
  CAPTURE(all_texts(checked));
  REQUIRE(checked.findings().size() == 1);
  check_finding(checked, checked.findings()[0], kind, hazard, first, second, where, count);
}

// Under any schedule a race shows, between the same two lines: which came first is the schedule's choice.
void races_under_all_options(const Run& run, Kind kind, const char* one, const char* other) {
  const int a = line_of(run.name, one, KERNELS), b = line_of(run.name, other, KERNELS);
  under_all_options(run, [&](const Run& r) {
    const Checked checked = check(r);
    CAPTURE(all_texts(checked));
    CHECK(!checked.findings().empty());
    for (const Finding& f : checked.findings()) {
      CHECK(std::string(name(f.kind)) == std::string(name(kind)));
      CHECK(((f.first.line == a && f.second.line == b) || (f.first.line == b && f.second.line == a)));
      CHECK(f.hazard == (f.first.write ? f.second.write ? "WAW" : "RAW" : "WAR"));
    }
  });
}

ExecOptions ordered(Schedule schedule) {
  ExecOptions options;
  options.schedule = schedule;
  return options;
}
const ExecOptions ASCENDING = ordered(Schedule::ascending), DESCENDING = ordered(Schedule::descending);

#define KERNEL(kernel) #kernel, kernels::kernel

}  // namespace

// --- order between warps -------------------------------------------------------------------------

TEST_CASE("checker: races between warps, as the schedule shows them" * instrumented()) {
  Run run{KERNEL(inter_write_read)};
  run.options = ASCENDING;
  only_finding(check(run), Kind::race_inter_warp, "RAW", written_by("write", 0, 3), read_by("read", 1, 9), "s[5][1]");
  run.options = DESCENDING;
  only_finding(check(run), Kind::race_inter_warp, "WAR", read_by("read", 1, 9), written_by("write", 0, 3), "s[5][1]");
  races_under_all_options(run, Kind::race_inter_warp, "write", "read");

  run = {KERNEL(inter_write_write)};
  run.options = ASCENDING;
  only_finding(check(run), Kind::race_inter_warp, "WAW", written_by("one", 0, 3), written_by("other", 2, 6), "s[5][1]");
  run.options = DESCENDING;
  only_finding(check(run), Kind::race_inter_warp, "WAW", written_by("other", 2, 6), written_by("one", 0, 3), "s[5][1]");
  races_under_all_options(run, Kind::race_inter_warp, "one", "other");
}

TEST_CASE("checker: block barriers order everything, for all warps") {
  silent_under_all_options({KERNEL(inter_with_barriers)});
  silent_under_all_options({KERNEL(inter_with_barriers), 1024});
}

TEST_CASE("checker: __syncwarp, shuffles and reductions order nothing between warps" * instrumented()) {
  races_under_all_options({KERNEL(inter_shuffles_order_nothing)}, Kind::race_inter_warp, "write", "read");
}

TEST_CASE(
    "checker: one report for a pair of lines, with a count over threads and blocks, the same for any "
    "workers" *
    instrumented()) {
  Run run{KERNEL(inter_read_write_many), 96, 256, 6};
  std::vector<Finding> expected;
  for (const int workers : {1, 2, 5}) {
    CAPTURE(workers);
    run.options = ASCENDING;
    run.options.workers = workers;
    const Checked checked = check(run);
    CAPTURE(all_texts(checked));
    // Ascending: warps 0 and 1 each read and write; 0 reads s[0..31] and writes s[63..32]; 1 reads s[32..63],
    // written by 0, and writes s[31..0], read by 0; 2 reads s[0..31], written by 1.
    REQUIRE(checked.findings().size() == 2);
    const Finding& war = checked.findings()[0].hazard == "WAR" ? checked.findings()[0] : checked.findings()[1];
    const Finding& raw = checked.findings()[0].hazard == "RAW" ? checked.findings()[0] : checked.findings()[1];
    check_finding(checked, raw, Kind::race_inter_warp, "RAW", written_by("write", 0, 31), read_by("read", 1, 0),
                  "s[8][0]", 6 * (32 + 32));
    check_finding(checked, war, Kind::race_inter_warp, "WAR", read_by("read", 0, 31), written_by("write", 1, 0),
                  "s[7][3]", 6 * 32);
    CHECK(raw.block == 0u);
    if (expected.empty()) expected = checked.findings();
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(checked.findings()[i].text == expected[i].text);
  }
}

TEST_CASE("checker: a sample of blocks is named by its own numbers" * instrumented()) {
  Run run{KERNEL(inter_write_read), 96, 256, 8};
  run.options.blocks = {3, 6};
  const Checked checked = check(run);
  REQUIRE(checked.findings().size() == 1);
  CHECK(checked.findings()[0].block == 3u);
  CHECK(checked.findings()[0].count == 2u);
}

// --- order inside a warp -------------------------------------------------------------------------

TEST_CASE("checker: races inside a warp, as the schedule shows them" * instrumented()) {
  Run run{KERNEL(intra_write_read)};
  run.options = ASCENDING;
  only_finding(check(run), Kind::race_intra_warp, "RAW", written_by("write", 1, 3), read_by("read", 1, 9), "s[5][1]");
  run.options = DESCENDING;
  only_finding(check(run), Kind::race_intra_warp, "WAR", read_by("read", 1, 9), written_by("write", 1, 3), "s[5][1]");
  races_under_all_options(run, Kind::race_intra_warp, "write", "read");

  run = {KERNEL(intra_write_write)};
  run.options = ASCENDING;
  only_finding(check(run), Kind::race_intra_warp, "WAW", written_by("one", 1, 3), written_by("other", 1, 9), "s[5][1]");
  races_under_all_options(run, Kind::race_intra_warp, "one", "other");

  run = {KERNEL(intra_read_write)};
  run.options = ASCENDING;
  only_finding(check(run), Kind::race_intra_warp, "WAR", read_by("read", 1, 3), written_by("write", 1, 9), "s[5][1]");
  races_under_all_options(run, Kind::race_intra_warp, "read", "write");
}

TEST_CASE("checker: __syncwarp() orders a whole warp, both ways" * instrumented()) {
  silent_under_all_options({KERNEL(full_sync_orders)});
  races_under_all_options({KERNEL(missing_second_sync), 32}, Kind::race_intra_warp, "read", "write");
}

TEST_CASE("checker: shuffles, votes and reductions order no memory" * instrumented()) {
  for (const Run& run : {Run{KERNEL(shuffle_orders_nothing), 32}, Run{KERNEL(vote_orders_nothing), 32},
                         Run{KERNEL(reduction_orders_nothing), 32}}) {
    races_under_all_options(run, Kind::race_intra_warp, "write", "read");
    Run ascending = run;
    ascending.options = ASCENDING;
    only_finding(check(ascending), Kind::race_intra_warp, "RAW", written_by("write", 0, 3), read_by("read", 0, 9),
                 "s[5][1]");
  }
}

TEST_CASE("checker: WMMA loads and stores are accesses of their lanes, and order no memory" * instrumented()) {
  races_under_all_options({KERNEL(wmma_store_unordered), 32, 1024}, Kind::race_intra_warp, "store", "read");
  silent_under_all_options({KERNEL(wmma_store_synced), 32, 1024});
  races_under_all_options({KERNEL(wmma_load_unordered), 32, 512}, Kind::race_intra_warp, "write", "load");

  const Checked uninitialised = check({KERNEL(wmma_load_uninitialised), 32, 512});
  REQUIRE(uninitialised.findings().size() == 1);
  CHECK(uninitialised.findings()[0].kind == Kind::uninitialised);
  CHECK(uninitialised.findings()[0].second.line == line_of("wmma_load_uninitialised", "load", KERNELS));
  CHECK(uninitialised.findings()[0].where.rfind("tile[14]", 0) == 0);
  CHECK(uninitialised.findings()[0].count == 32u);  // two rows of 16

  const Checked past = check({KERNEL(wmma_load_past_end), 32, 512});
  REQUIRE(past.findings().size() == 1);
  CHECK(past.findings()[0].kind == Kind::out_of_bounds);
  CHECK(past.findings()[0].second.line == line_of("wmma_load_past_end", "load", KERNELS));
  CHECK(past.findings()[0].where.rfind("tile[16][", 0) == 0);
  CHECK(past.findings()[0].count == 16u);
}

// --- __syncwarp of some lanes --------------------------------------------------------------------

TEST_CASE("checker: __syncwarp(mask) orders the lanes of its mask, and no others" * instrumented()) {
  silent_under_all_options({KERNEL(partial_orders_its_lanes), 32});
  silent_under_all_options({KERNEL(both_halves), 32});
  const Run outside{KERNEL(partial_orders_no_others), 32};
  races_under_all_options(outside, Kind::race_intra_warp, "write", "read");
  races_under_all_options({KERNEL(own_sync_is_no_order), 32}, Kind::race_intra_warp, "write", "read");
}

TEST_CASE("checker: order passes from sync to sync, and only forwards" * instrumented()) {
  silent_under_all_options({KERNEL(chain), 32});
  silent_under_all_options({KERNEL(chain_of_four), 32});
  races_under_all_options({KERNEL(chain_backwards), 32}, Kind::race_intra_warp, "write", "read");
  races_under_all_options({KERNEL(chain_too_late), 32}, Kind::race_intra_warp, "write", "read");
  races_under_all_options({KERNEL(stale_after_full_sync), 32}, Kind::race_intra_warp, "write", "read");
}

TEST_CASE("checker: readers in different states of order" * instrumented()) {
  silent_under_all_options({KERNEL(mixed_readers_ordered), 32});
  Run run{KERNEL(mixed_readers_one_forgotten), 32};
  races_under_all_options(run, Kind::race_intra_warp, "read", "write");
  run.options = ASCENDING;
  only_finding(check(run), Kind::race_intra_warp, "WAR", read_by("read", 0, 1), written_by("write", 0, 3), "s[5][1]");
  run = {KERNEL(two_readers_one_writes), 32};
  run.options = ASCENDING;  // both have read when lane 3 writes
  only_finding(check(run), Kind::race_intra_warp, "WAR", read_by("read", 0, 6), written_by("write", 0, 3), "s[5][1]");
  run.options = DESCENDING;
  only_finding(check(run), Kind::race_intra_warp, "WAR", read_by("read", 0, 6), written_by("write", 0, 3), "s[5][1]");
  run = {KERNEL(readers_before_and_after_sync), 32};
  races_under_all_options(run, Kind::race_intra_warp, "read", "write");
  run.options = ASCENDING;
  only_finding(check(run), Kind::race_intra_warp, "WAR", read_by("read", 0, 6), written_by("write", 0, 9), "s[5][1]");
}

// --- initialisation and bounds -------------------------------------------------------------------

TEST_CASE("checker: reads of bytes that nothing wrote, in every block" * instrumented()) {
  under_all_options({KERNEL(read_uninitialised), 64, 384 + 64, 3}, [](const Run& run) {
    const Checked checked = check(run);
    CAPTURE(all_texts(checked));
    REQUIRE(checked.findings().size() == 2);
    check_finding(checked, checked.findings()[0], Kind::uninitialised, "", NO_SIDE, read_by("half", 1, 5), "h[1][13]",
                  3);
    check_finding(checked, checked.findings()[1], Kind::uninitialised, "", NO_SIDE, read_by("float", 1, 8), "f[9]", 3);
  });
}

TEST_CASE("checker: initialisation is known to the half" * instrumented()) {
  only_finding(check({KERNEL(half_initialised), 32, 128}), Kind::uninitialised, "", NO_SIDE, read_by("read", 0, 0),
               "pairs[1][2]");
  silent_under_all_options({KERNEL(initialised_by_all), 96, 1024});
}

TEST_CASE("checker: accesses past the request" * instrumented()) {
  under_all_options({KERNEL(past_request), 32, 256}, [](Run run) {
    for (const bool gaps : {false, true}) {
      run.options.gaps = gaps;
      const Checked checked = check(run);
      CAPTURE(all_texts(checked));
      REQUIRE(checked.findings().size() == 2);
      check_finding(checked, checked.findings()[0], Kind::out_of_bounds, "", NO_SIDE, written_by("write", 0, 11),
                    "a[16][0], past the end of a (16 rows)");
      check_finding(checked, checked.findings()[1], Kind::out_of_bounds, "", NO_SIDE, read_by("read", 0, 12),
                    "a[17][1], past the end of a (16 rows)");
    }
  });
  only_finding(check({KERNEL(past_short_request), 32, 200}), Kind::out_of_bounds, "", NO_SIDE,
               written_by("write", 0, 0), "a[12][4], past the request of 200 B");
}

TEST_CASE("checker: accesses from one array into the next, which only gaps can show" * instrumented()) {
  Run run{KERNEL(into_gap), 32, 512};
  silent(check(run));
  run.options.gaps = true;
  under_all_options(run, [](const Run& r) {
    const Checked checked = check(r);
    CAPTURE(all_texts(checked));
    REQUIRE(checked.findings().size() == 2);
    const bool read_first = checked.findings()[0].second.line == line_of("into_gap", "read", KERNELS);
    check_finding(checked, checked.findings()[!read_first], Kind::out_of_bounds, "", NO_SIDE, read_by("read", 0, 5),
                  "a[17][3], past the end of a (16 rows)");
    const Finding& write = checked.findings()[read_first];
    CHECK(write.kind == Kind::out_of_bounds);
    CHECK(write.second.line == line_of("into_gap", "write", KERNELS));
    CHECK(write.second.write);
    CHECK(write.where.find("past the end of a (16 rows)") != write.where.npos);
  });
}

TEST_CASE("checker: static arrays, and what lies before the first array" * instrumented()) {
  for (const bool gaps : {false, true}) {
    Run run{KERNEL(past_static), 32, 0};
    run.options.gaps = gaps;
    only_finding(check(run), Kind::out_of_bounds, "", NO_SIDE, read_by("read", 0, 5),
                 "table[8][2], past the end of table (8 rows)");
    run = {KERNEL(before_static), 32, 0};
    run.options.gaps = gaps;
    const Checked before = check(run);
    REQUIRE(before.findings().size() == 1);
    CHECK(before.findings()[0].where == "byte -12 of the static shared memory (1024 B)");
    check_side(before, before.findings()[0].second, written_by("write", 0, 5));
    run = {KERNEL(before_first), 32, 256};
    run.options.gaps = gaps;
    const Checked checked = check(run);
    REQUIRE(checked.findings().size() == 1);
    CHECK(checked.findings()[0].kind == Kind::out_of_bounds);
    check_side(checked, checked.findings()[0].second, written_by("write", 0, 5));
  }
}

TEST_CASE("checker: global memory, to the byte" * instrumented()) {
  const Checked checked = check({KERNEL(past_global), 96, 0, 2});
  CAPTURE(all_texts(checked));
  REQUIRE(checked.findings().size() == 2);
  check_finding(checked, checked.findings()[0], Kind::out_of_bounds, "", NO_SIDE, written_by("write", 0, 20),
                "global memory", 2);
  CHECK(checked.findings()[0].text.find("0 B past the end of a buffer of 768 B") != std::string::npos);
  check_finding(checked, checked.findings()[1], Kind::out_of_bounds, "", NO_SIDE, read_by("read", 1, 8),
                "global memory", 2);
  CHECK(checked.findings()[1].text.find("20 B past the end of a buffer of 768 B") != std::string::npos);
  only_finding(check({KERNEL(past_global_by_half), 96, 0}), Kind::out_of_bounds, "", NO_SIDE,
               written_by("write", 0, 20), "global memory");
  silent_under_all_options({KERNEL(inside_global), 96, 0, 3});
}

// --- cp.async ------------------------------------------------------------------------------------

TEST_CASE("checker: the destination of a cp.async before its wait" * instrumented()) {
  under_all_options({KERNEL(copy_read_by_issuer), 64}, [](const Run& run) {
    only_finding(check(run), Kind::before_wait, "", written_by("copy", 1, 1), read_by("read", 1, 1), "s[2][1]");
  });
  under_all_options({KERNEL(copy_read_by_other), 64}, [](const Run& run) {
    only_finding(check(run), Kind::before_wait, "", written_by("copy", 1, 1), read_by("read", 0, 2), "s[2][3]");
  });
  under_all_options({KERNEL(copy_written_by_other), 64}, [](const Run& run) {
    only_finding(check(run), Kind::before_wait, "", written_by("copy", 1, 1), written_by("write", 1, 2), "s[2][0]");
  });
  under_all_options({KERNEL(copy_one_group_early), 32}, [](const Run& run) {
    only_finding(check(run), Kind::before_wait, "", written_by("copy", 0, 0), read_by("read", 0, 0), "s[1][0]");
  });
}

TEST_CASE("checker: a wait shows the bytes to the issuer alone; others need a barrier" * instrumented()) {
  Run run{KERNEL(copy_no_barrier), 64};
  for (const Copies copies : {Copies::at_wait, Copies::at_issue}) {
    run.options = ASCENDING;
    run.options.copies = copies;
    only_finding(check(run), Kind::race_inter_warp, "RAW", written_by("copy", 0, 2), read_by("read", 1, 1), "s[2][3]");
    Run lanes{KERNEL(copy_no_syncwarp), 32};
    lanes.options = run.options;
    only_finding(check(lanes), Kind::race_intra_warp, "RAW", written_by("copy", 0, 2), read_by("read", 0, 30),
                 "s[2][3]");
  }
}

TEST_CASE("checker: a cp.async into a buffer that is still read" * instrumented()) {
  Run run{KERNEL(copy_buffer_reused_early), 64};
  run.options = DESCENDING;
  for (const Copies copies : {Copies::at_wait, Copies::at_issue}) {
    run.options.copies = copies;
    only_finding(check(run), Kind::race_inter_warp, "WAR", read_by("read", 1, 8), written_by("copy", 0, 3), "s[1][1]");
  }
  run.options = ASCENDING;  // the copy is on its way when the other warp reads
  only_finding(check(run), Kind::before_wait, "", written_by("copy", 0, 3), read_by("read", 1, 8), "s[1][1]");
}

TEST_CASE("checker: a thread that returns without waiting leaves its copies unfinished" * instrumented()) {
  under_all_options({KERNEL(copy_left_behind), 64}, [](const Run& run) {
    const Checked checked = check(run);
    CAPTURE(all_texts(checked));
    REQUIRE(checked.findings().size() == 2);  // by kind: the copy, then the barrier without that thread
    check_finding(checked, checked.findings()[0], Kind::before_wait, "", written_by("copy", 0, 3),
                  read_by("read", 1, 8), "s[1][1]");
    CHECK(checked.findings()[1].kind == Kind::barrier);
    CHECK(checked.findings()[1].second.line == line_of("copy_left_behind", "barrier", KERNELS));
  });
}

TEST_CASE("checker: two threads copy to one place: the wait of one does not finish the other's" * instrumented()) {
  under_all_options({KERNEL(copy_twice), 64}, [](const Run& run) {
    const Checked checked = check(run);
    CAPTURE(all_texts(checked));
    REQUIRE(checked.findings().size() == 2);
    check_finding(checked, checked.findings()[0], Kind::before_wait, "", written_by("first", 0, 3),
                  written_by("second", 1, 8), "s[1][0]");
    check_finding(checked, checked.findings()[1], Kind::before_wait, "", written_by("first", 0, 3),
                  read_by("read", 1, 18), "s[1][1]");
  });
}

TEST_CASE("checker: cp.async used right is silent") {
  silent_under_all_options({KERNEL(copy_right), 96, 512});
  silent_under_all_options({KERNEL(copy_two_stages), 96, 1024});
  silent_under_all_options({KERNEL(copy_zero_filled), 32, 512});
}

TEST_CASE("checker: a cp.async out of bounds, on either side") {
  only_finding(check({KERNEL(copy_past_request), 32, 128}), Kind::out_of_bounds, "", NO_SIDE, written_by("copy", 0, 17),
               "s[8][0], past the end of s (8 rows)");
  only_finding(check({KERNEL(copy_past_global), 32, 128}), Kind::out_of_bounds, "", NO_SIDE, read_by("copy", 0, 17),
               "global memory");
}

// --- barriers ------------------------------------------------------------------------------------

TEST_CASE("checker: threads of a block at two barriers") {
  Run run{KERNEL(two_barriers), 64, 0};
  run.options = ASCENDING;
  only_finding(check(run), Kind::barrier, "", read_by("one", 0, 0), read_by("other", 1, 8), "", 24);
  run.options = DESCENDING;
  only_finding(check(run), Kind::barrier, "", read_by("other", 1, 31), read_by("one", 1, 7), "", 40);
}

TEST_CASE("checker: a barrier after threads have returned") {
  under_all_options({KERNEL(exited_before_barrier), 64, 0, 2}, [](const Run& run) {
    const Checked checked = check(run);
    CAPTURE(all_texts(checked));
    REQUIRE(checked.findings().size() == 1);
    const Finding& f = checked.findings()[0];
    CHECK(f.kind == Kind::barrier);
    CHECK(f.second.line == line_of("exited_before_barrier", "barrier", KERNELS));
    CHECK(f.second.warp == 0);
    CHECK(f.second.lane == 7);
    CHECK(f.text.find("warp 0 lanes 7, warp 1 lanes 7") != f.text.npos);
    CHECK(f.count == 2u);
  });
}

// --- lines that a bug's patch added --------------------------------------------------------------

TEST_CASE("checker: a line that a patch added is named, and printed, as it stands in the patch" * instrumented()) {
  const Checked checked = check({KERNEL(added_by_patch), 64});
  CAPTURE(all_texts(checked));
  REQUIRE(checked.findings().size() == 1);
  const Finding& f = checked.findings()[0];
  CHECK(f.kind == Kind::race_inter_warp);
  for (const Finding::Access& side : {f.first, f.second}) {
    CHECK(side.file == (side.write ? "checks/tests/sample.patch" : KERNELS));
    CHECK(side.line == (side.write ? 8 : line_of("added_by_patch", "read", KERNELS)));
  }
  CHECK(f.text.find("write by warp 0 lane 3 at checks/tests/sample.patch:8: if (threadIdx.x == 3) s[21] = 1.0f;") !=
        f.text.npos);
}

TEST_CASE("checker: a report names the kernel although the launch's name is gone by then" * instrumented()) {
  take_exec_report();
  int* out = nullptr;
  REQUIRE(cudaMalloc(&out, 96 * sizeof(int)) == cudaSuccess);
  ExecOptions options;
  options.check = true;
  set_exec_options(options);
  std::string name = "a name that is too long to lie inside of the string<64,3>";
  CHECK(launch(name.c_str(), kernels::inter_write_read, 1, 96, 256, nullptr, out) == cudaSuccess);
  std::ranges::fill(name, '#');
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  set_exec_options({});
  const ExecReport report = take_exec_report();
  cudaFree(out);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].kernel == "a name that is too long to lie inside of the string<64,3>");
  CHECK(report.findings[0].text.find("kernel a name that is") != std::string::npos);
}

// --- correct kernels -----------------------------------------------------------------------------

TEST_CASE("checker: correct kernels are silent under all options, and compute the same") {
  const Run runs[] = {{KERNEL(reduction), 256, 32, 3},
                      {KERNEL(reduction), 96, 32, 2},
                      {KERNEL(transpose), 96, 0, 3},
                      {KERNEL(ping_pong), 96, 768, 3},
                      {KERNEL(atomic_histogram), 96, 32}};
  for (Run run : runs) {
    const std::vector<int> expected = check(run, false).out;
    for (const bool gaps : {false, true})
      for (const int workers : {1, 2}) {
        run.options.gaps = gaps, run.options.workers = workers;
        under_all_options(run, [&](const Run& r) {
          const Checked checked = check(r);
          silent(checked);
          CHECK(checked.out == expected);
        });
      }
  }
  CHECK(check(runs[0]).out[0] == 255 * 128);
  CHECK(check(runs[0]).out[2] == 255 * 128 + 2 * 256);
  CHECK(check(runs[4]).out[4] == 19);
}

TEST_CASE("checker: atomics of every width that is provided, in an instrumented kernel") {
  const Checked checked = check({KERNEL(atomic_widths), 96, 32});
  silent(checked);
  CHECK(checked.out[5] == 4 * 5);
}

TEST_CASE("checker: with the checker asleep nothing is reported") {
  for (const Run& run :
       {Run{KERNEL(inter_write_read)}, Run{KERNEL(read_uninitialised), 64, 448}, Run{KERNEL(copy_read_by_other), 64}})
    silent(check(run, false));
}

// --- the compiler's ABI --------------------------------------------------------------------------

namespace {
// Each of these lines is one finding, out of bounds, and there is no other.
void each_is_out_of_bounds(const Checked& checked, const std::vector<std::string>& markers) {
  CAPTURE(all_texts(checked));
  CHECK(checked.findings().size() == markers.size());
  for (const std::string& marker : markers) {
    CAPTURE(marker);
    const int line = line_of(checked.kernel, marker, KERNELS);
    int found = 0;
    for (const Finding& f : checked.findings()) {
      if (f.second.line != line) continue;
      ++found;
      CHECK(f.kind == Kind::out_of_bounds);
      CHECK(f.second.file == KERNELS);
      CHECK(f.second.write == (marker.rfind("write", 0) == 0));
      CHECK(f.second.lane == 0);
    }
    CHECK(found == 1);
  }
}
const std::vector<std::string> ALL_SIZES = {"write 1", "write 2", "write 4", "write 8", "write 16",
                                            "read 1",  "read 2",  "read 4",  "read 8",  "read 16"};
}  // namespace

TEST_CASE("checker: loads and stores of every size reach it, with their lines" * instrumented()) {
  const Checked checked = check({KERNEL(sizes_past_end), 1, 256});
  each_is_out_of_bounds(checked, ALL_SIZES);
  for (const Finding& f : checked.findings()) CHECK(f.count == 1u);
  silent(check({KERNEL(sizes_up_to_end), 1, 256}));
}

TEST_CASE("checker: every byte of an access counts, and ranges, packed, volatile and copied data are seen" *
          instrumented()) {
  each_is_out_of_bounds(check({KERNEL(sizes_across_end), 1, 256}), {"write 4", "write 8", "read 4", "read 8"});
  const Checked checked = check({KERNEL(ranges_past_end), 1, 256});
  each_is_out_of_bounds(checked, {"write 12", "read 12", "write 48", "read 48", "write odd", "read odd",
                                  "write volatile", "read volatile", "write memcpy"});
}

TEST_CASE("checker: global memory, every size" * instrumented()) {
  each_is_out_of_bounds(check({KERNEL(sizes_past_global), 1, 0}), ALL_SIZES);
}
