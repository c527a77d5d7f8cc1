// The checker's rules: every kernel of the files test_*_kernels.cpp that says what is expected of it (CHECKED), under
// every schedule and time of copying; and what concerns reports as a whole.
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "checks/tests/checked.hpp"
#include "checks/tests/instrumented.hpp"
#include "common/backend.hpp"
#include "common/launch.cuh"

namespace lab::checked {
namespace {
using Kind = Finding::Kind;

std::vector<const Case*>& cases() {
  static std::vector<const Case*> all;
  return all;
}

}  // namespace

Registered::Registered(const Case& c) { cases().push_back(&c); }

const Case& kernel(const char* name) {
  const auto found = std::ranges::find(cases(), std::string(name), [](const Case* c) { return std::string(c->name); });
  REQUIRE_MESSAGE(found != cases().end(), name);
  return **found;
}

namespace {

bool contains(const std::string& text, const std::string& piece) { return text.find(piece) != text.npos; }

// --- lines ----------------------------------------------------------------------------------------------------------

const std::vector<std::string>& lines_of(const std::string& path) {
  static std::map<std::string, std::vector<std::string>> files;
  std::vector<std::string>& lines = files[path];
  if (!lines.empty()) return lines;
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), "run the tests from the repository's root: " << path << " is not there");
  lines.push_back("");  // they count from 1
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

Place place_of(const Finding::Access& access) { return {access.file, access.line}; }

// The file of a kernel and the headers beside it that it includes.
std::vector<std::string> files_of(const std::string& path) {
  constexpr std::string_view INCLUDE = "#include \"checks/tests/";
  std::vector<std::string> files = {path};
  for (std::size_t i = 0; i < files.size(); ++i)
    for (const std::string& line : lines_of(files[i]))
      if (line.starts_with(INCLUDE)) files.push_back(line.substr(10, line.rfind('"') - 10));
  return files;
}

}  // namespace

// The line with the comment [mark] in this kernel, or else in the helpers between the file's kernels, or in its headers.
Place place_of(const Case& c, const std::string& mark) {
  static std::map<std::pair<const Case*, std::string>, Place> known;
  Place& known_place = known[{&c, mark}];
  if (known_place.line) return known_place;
  for (const std::string& file : files_of(c.file)) {
    const std::vector<std::string>& lines = lines_of(file);
    int own = 0, shared = 0;
    enum { helper, another, inside } place = helper;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const std::string& line = lines[i];
      if (line.starts_with("CHECKED("))
        place = (line + lines[i + 1]).find(c.name + std::string(",")) <= 12 ? inside : another;
      if (place != another && line.find("// [" + mark + "]") != line.npos) {
        int& found = place == inside ? own : shared;
        REQUIRE_MESSAGE(found == 0, "two lines of " << std::string(c.name) << " are marked [" << mark << "]");
        found = int(i);
      }
      // A kernel of one line ends there.
      if (line == "}" || (place != helper && line.starts_with("CHECKED(") && line.ends_with("}"))) place = helper;
    }
    if (own || shared) return known_place = {file, own ? own : shared};
  }
  FAIL("no line of " << std::string(c.name) << " is marked [" << mark << "]");
  return {};
}

namespace {

// --- launches -------------------------------------------------------------------------------------------------------

struct Tensors {
  Maps* maps = nullptr;
  half* out = nullptr;
  Tensors() {
    constexpr std::size_t ELEMENTS = 64 * 64;
    REQUIRE(cudaMalloc(&maps, sizeof *maps) == cudaSuccess);
    REQUIRE(cudaMalloc(&maps->data, ELEMENTS * sizeof(half)) == cudaSuccess);
    REQUIRE(cudaMalloc(&out, ELEMENTS * sizeof(half)) == cudaSuccess);
    for (std::size_t i = 0; i < ELEMENTS; ++i) maps->data[i] = __float2half(float(i % 37));
    TensorShape shape;
    shape.rank = 2, shape.swizzle = Swizzle::none;
    shape.extent[0] = shape.extent[1] = 64, shape.stride[0] = 2, shape.stride[1] = 128;
    shape.box[0] = 64, shape.box[1] = 8;
    REQUIRE(make_tensor_map(maps->in, maps->data, shape) == cudaSuccess);
    REQUIRE(make_tensor_map(maps->out, out, shape) == cudaSuccess);
    shape.swizzle = Swizzle::b128;
    REQUIRE(make_tensor_map(maps->swizzled, maps->data, shape) == cudaSuccess);
    shape.swizzle = Swizzle::none, shape.box[1] = 4;
    REQUIRE(make_tensor_map(maps->rows4, maps->data, shape) == cudaSuccess);
  }
  ~Tensors() { cudaFree(maps->data), cudaFree(out), cudaFree(maps); }
};

Size size_of(const Case& c, const Size& own) {
  const auto either = [](auto a, auto b) { return a ? a : b; };
  return {either(own.threads, c.size.threads), either(own.smem, c.size.smem), either(own.blocks, c.size.blocks),
          either(own.cluster, c.size.cluster)};
}

}  // namespace

Done run(const Case& c, const Size& own, const ExecOptions& options, bool overlaps, const char* name) {
  static const Tensors tensors;
  const Size size = size_of(c, own);
  const std::size_t ints = std::size_t(size.threads) * size.blocks;
  int* out = nullptr;
  REQUIRE(cudaMalloc(&out, ints * sizeof(int)) == cudaSuccess);
  std::memset(out, 0, ints * sizeof(int));
  take_exec_report();
  set_exec_options(options);
  LaunchExtras extras;
  extras.cluster = dim3(size.cluster), extras.overlaps_previous = overlaps;
  const std::string word = name ? name : c.name;
  std::string passing = word;
  CHECK(launch_with(extras, passing.c_str(), c.kernel, dim3(size.blocks), size.threads,
                    size.smem == NO_SMEM ? 0 : size.smem, nullptr, static_cast<const Maps*>(tensors.maps),
                    out) == cudaSuccess);
  std::ranges::fill(passing, '#');  // a report names the kernel although the launch's name is gone by then
  Done done;
  done.error = cudaDeviceSynchronize();
  set_exec_options({});
  done.report = take_exec_report();
  done.out.assign(out, out + ints);
  cudaFree(out);
  for (const Finding& f : done.findings()) CHECK(f.kernel == word);
  return done;
}
namespace {

Done check(const char* name, const Size& size = {}, ExecOptions options = {}) {
  options.check = true;
  return run(kernel(name), size, options);
}

// body(options), for what a file's kernels can depend on. One worker: the tests count what they see.
template <class Body>
void under_all_options(const Case& c, Body body) {
  const bool wgmma = contains(c.file, "wgmma"), bulk = contains(c.file, "async") || contains(c.file, "cluster");
  ExecOptions options;
  options.workers = 1, options.check = true;
  for (; contains(c.file, "global") && options.block_order < 8; ++options.block_order) {
    INFO("order of blocks " << options.block_order);
    body(options);
  }
  if (contains(c.file, "global")) return;
  const std::uint64_t seeds = contains(c.file, "cluster") ? 2 : wgmma ? 3 : 4;
  for (const Schedule schedule : SCHEDULES)
    for (const Copies copies : {Copies::at_wait, Copies::at_issue, Copies::random}) {
      if (copies == Copies::random && !wgmma && !bulk) continue;
      const bool random = schedule == Schedule::random || (bulk && copies == Copies::random);
      for (std::uint64_t seed = 1; seed <= (random ? seeds : 1); ++seed) {
        options.schedule = schedule, (wgmma ? options.products : options.copies) = copies, options.seed = seed;
        INFO("schedule " << std::string(name(schedule)) << ", copies " << std::string(name(copies)) << ", seed "
                         << seed);
        body(options);
      }
    }
}

// --- what is expected -----------------------------------------------------------------------------------------------

void check_side(const Case& c, const Finding& f, const Finding::Access& access, const Side& expected) {
  CHECK(access.valid == (expected.mark != nullptr));
  if (!expected.mark) return;
  const Place place = place_of(c, expected.mark);
  CHECK(place_of(access) == place);
  CHECK(access.warp == expected.warp);
  CHECK(access.lane == expected.lane);
  CHECK(access.write == expected.write);
  // The report says all of it, for a reader who sees nothing else.
  const std::string text = lines_of(place.file)[std::size_t(place.line)];
  const std::string side = "warp " + std::to_string(access.warp) + " lane " + std::to_string(access.lane) + " at " +
                           place.text() + ": " + text.substr(text.find_first_not_of(' '));
  CHECK(contains(f.text, side));
}

void check_exactly(const Case& c, const Expect& e, const Done& done) {
  CHECK(done.error == cudaSuccess);
  REQUIRE(int(done.findings().size()) == e.exact);
  for (int i = 0; i < e.exact; ++i) {
    const Found& found = e.exactly[i];
    const Place place = place_of(c, found.second.mark);
    const auto f = std::ranges::find_if(done.findings(), [&](const Finding& some) {
      return some.kind == found.kind && some.hazard == found.hazard && place_of(some.second) == place;
    });
    REQUIRE_MESSAGE(f != done.findings().end(), name(found.kind) << " " << found.hazard << " at " << place.text());
    if (found.where) CHECK(f->where == found.where);
    CHECK(f->count == found.count);
    CHECK(f->block == 0u);
    check_side(c, *f, f->first, found.first);
    check_side(c, *f, f->second, found.second);
    CHECK(f->text.starts_with(name(found.kind)));
    CHECK(contains(f->text, f->where));
    CHECK(contains(f->text, e.words));
  }
}

bool has(const Expect& e, Kind kind) {
  return std::find(e.kinds, e.kinds + e.kinds_count, kind) != e.kinds + e.kinds_count;
}

// Whether a finding of the first kind, or of any if that will do, is there.
bool check_found(const Case& c, const Expect& e, const Done& done, int& of_first_kind) {
  std::set<Place> places;
  for (const char* mark : e.marks)
    if (mark) places.insert(place_of(c, mark));
  bool found = false;
  for (const Finding& f : done.findings()) {
    CHECK_MESSAGE(has(e, f.kind), f.text);
    const bool marked = places.empty() || (places.contains(place_of(f.second)) &&
                                           (!f.first.valid || !f.first.line || places.contains(place_of(f.first))));
    const bool first = f.kind == e.kinds[0] && contains(f.text, e.words);
    of_first_kind += first;
    found = found || (marked && (first || e.some_option));
    if (!e.every_finding) continue;
    CHECK_MESSAGE((marked && (first || e.some_option)), f.text);
    if (f.kind != inter && f.kind != intra) continue;
    CHECK((std::set{place_of(f.first), place_of(f.second)} == places));
    CHECK(f.hazard == (f.first.write ? f.second.write ? "WAW" : "RAW" : "WAR"));
  }
  if (e.where) {
    REQUIRE(done.findings().size() == 1);
    const Finding& f = done.findings()[0];
    CHECK(f.where == e.where);
    CHECK(f.first.valid == (e.marks[1] != nullptr));
    if (f.first.valid) CHECK(place_of(f.first) == place_of(c, e.marks[0]));
    CHECK(place_of(f.second) == place_of(c, e.marks[f.first.valid]));
  }
  return found;
}

void check_kind(const Case& c, const Expect& e) {
  int of_first_kind = 0;
  under_all_options(c, [&](ExecOptions options) {
    for (const bool on : {true, false}) {
      if (!on && !e.stops) continue;
      options.check = on;
      const Done done = run(c, e.size, options, e.overlaps);
      CAPTURE(done.text());
      if (e.stops) {
        CHECK(done.error != cudaSuccess);
        CHECK(contains(done.report.message, e.words));
      }
      CHECK(check_found(c, e, done, of_first_kind));
    }
  });
  CHECK(of_first_kind > 0);
}

void check_exact(const Case& c, const Expect& e) {
  const auto once = [&](ExecOptions options) {
    std::string text;
    for (const int workers : {1, 2, 5}) {
      if (workers > 1 && (e.size.blocks < 2 || e.when == When::always)) continue;
      options.workers = workers, options.check = true, options.gaps = e.gaps;
      const Done done = run(c, e.size, options, e.overlaps);
      CAPTURE(done.text());
      check_exactly(c, e, done);
      CHECK((text.empty() || text == done.text()));
      text = done.text();
    }
  };
  ExecOptions options;
  options.schedule = e.when == When::descending ? Schedule::descending : Schedule::ascending;
  if (e.when == When::always)
    under_all_options(c, once);
  else
    for (const Copies copies : {Copies::at_wait, Copies::at_issue}) options.copies = copies, once(options);
}

// No finding, and the same output as without the checker, whatever the options.
void check_silent(const Case& c, const Expect& e) {
  for (const unsigned cluster : e.clusters) {
    if (!cluster && cluster != e.clusters[0]) continue;
    Size size = e.size;
    if (cluster) size.cluster = cluster, size.blocks = 2 * cluster;
    std::vector<int> expected = run(c, size, {}, e.overlaps).out;
    for (std::size_t i = 0; e.value && i < expected.size(); ++i) {
      const unsigned threads = size_of(c, size).threads;
      const float value = float(e.value(int(cluster), int(i / threads % cluster), int(i % threads)));
      std::memcpy(&expected[i], &value, sizeof value);
    }
    under_all_options(c, [&](ExecOptions options) {
      for (const bool plain : {false, true}) {
        if (!plain && !e.value && !contains(c.file, "checker")) continue;
        options.gaps = !plain, options.check = !(e.value && plain);
        const Done done = run(c, size, options, e.overlaps);
        CAPTURE(done.text());
        CHECK(done.error == cudaSuccess);
        CHECK(done.text().empty());
        CHECK(done.out == expected);
      }
    });
  }
}

void check_all(const char* file) {
  int seen = 0, left_out = 0;
  for (const Case* c : cases()) {
    if (!contains(c->file, file)) continue;
    left_out += !c->instrumented;
    INFO("kernel " << std::string(c->name));
    for (std::size_t i = 0; i < c->count; ++i) {
      const Expect& e = c->expected[i];
      CAPTURE(i);
      if (e.exact < 0 || (e.hooks && !c->instrumented)) continue;
      ++seen;
      if (e.exact)
        check_exact(*c, e);
      else if (e.kinds_count)
        check_kind(*c, e);
      else
        check_silent(*c, e);
    }
  }
  CHECK(seen + left_out > 0);
}

TEST_CASE("checked: order between threads, initialisation, bounds, cp.async") { check_all("test_checker"); }
TEST_CASE("checked: copies of every thread, ldmatrix, named barriers") { check_all("test_sm80_kernels"); }
TEST_CASE("checked: TMA, mbarriers, the asynchronous proxy") { check_all("test_async"); }
TEST_CASE("checked: wgmma's registers and operands") { check_all("test_wgmma_kernels"); }
TEST_CASE("checked: blocks at one element of global memory") { check_all("test_global_kernels"); }
TEST_CASE("checked: threads of a block at global memory, order made by hand, spins") { check_all("test_by_hand"); }
TEST_CASE("checked: clusters, and launches that overlap the one before") { check_all("test_cluster"); }

// --- cases of their own ---------------------------------------------------------------------------------------------

TEST_CASE("checked: one race is one finding, which says how and where it showed" * instrumented()) {
  const Done twice = check("one_race_of_two_instances");
  REQUIRE(twice.findings().size() == 1);
  const Finding& f = twice.findings()[0];
  CHECK(f.is(inter));
  CHECK(f.is(intra) == false);
  CHECK(contains(f.text, "as inter-warp race (RAW), inter-warp race (WAR)"));
  CHECK(f.count == 2 * 64);
  const Done same = check("same_value"), differs = check("last_value_differs");
  REQUIRE(same.findings().size() == 1);
  CHECK(same.findings()[0].same_value);
  REQUIRE(!differs.findings().empty());
  for (const Finding& each : differs.findings()) CHECK(each.same_value == (each.first.line == each.second.line));
}

TEST_CASE("checked: a sample of blocks is named by its own numbers" * instrumented()) {
  ExecOptions options;
  options.blocks = {3, 6};
  const Done done = check("inter_write_read", {96, 256, 8}, options);
  REQUIRE(done.findings().size() == 1);
  CHECK(done.findings()[0].block == 3u);
  CHECK(done.findings()[0].count == 2u);
}

TEST_CASE("checked: accesses from one array into the next, which only gaps can show" * instrumented()) {
  const Case& c = kernel("into_gap");
  const Size size{32, 512};
  under_all_options(c, [&](ExecOptions options) {
    CHECK(run(c, size, options).findings().empty());
    options.gaps = true;
    const Done done = run(c, size, options);
    CAPTURE(done.text());
    REQUIRE(done.findings().size() == 2);
    for (const Finding& f : done.findings()) {
      CHECK(f.kind == Kind::out_of_bounds);
      CHECK(place_of(f.second) == place_of(c, f.second.write ? "write" : "read"));
      CHECK(
          contains(f.where, f.second.write ? "past the end of a (16 rows)" : "a[17][3], past the end of a (16 rows)"));
    }
    CHECK(done.findings()[0].second.write != done.findings()[1].second.write);
  });
}

TEST_CASE("checked: a line that a patch added is named, and printed, as it stands in the patch" * instrumented()) {
  const Done done = check("added_by_patch", {64});
  CAPTURE(done.text());
  REQUIRE(done.findings().size() == 1);
  const Finding& f = done.findings()[0];
  CHECK(f.kind == Kind::race_inter_warp);
  for (const Finding::Access& side : {f.first, f.second})
    CHECK(place_of(side) ==
          (side.write ? Place{"checks/tests/sample.patch", 8} : place_of(kernel("added_by_patch"), "read")));
  CHECK(contains(f.text, "write by warp 0 lane 3 at checks/tests/sample.patch:8: if (threadIdx.x == 3) s[21] = 1.0f;"));
}

TEST_CASE("checked: distances from a global buffer, and the names of kernels" * instrumented()) {
  const Done done = check("past_global", {96, NO_SMEM, 2});
  REQUIRE(done.findings().size() == 2);
  CHECK(contains(done.findings()[0].text, "0 B past the end of argument 2, a buffer of 768 B"));
  CHECK(contains(done.findings()[1].text, "20 B past the end of argument 2, a buffer of 768 B"));
  ExecOptions options;
  options.check = true;
  const char* const name = "a name that is too long to lie inside of the string<64,3>";
  CHECK(contains(run(kernel("inter_write_read"), {}, options, false, name).text(), "kernel a name that is"));
}

TEST_CASE("checked: what kernels compute, and with the checker asleep nothing is reported") {
  const std::vector<int> sums = check("reduction", {256, 32, 3}).out;
  CHECK(sums[0] == 255 * 128);
  CHECK(sums[2] == 255 * 128 + 2 * 256);
  CHECK(check("half_rounds", {1, NO_SMEM}).out[0] == 20482048);
  CHECK(check("atomic_histogram", {96, 32}).out[4] == 19);
  CHECK(check("atomic_widths", {96, 32}).out[5] == 4 * 5);  // four widths, five things that went right
  for (const char* name : {"inter_write_read", "read_uninitialised", "copy_read_by_other"})
    CHECK(run(kernel(name), {64, 448}, {}).findings().empty());
}

// Each line with one of these marks is one finding, out of bounds, and there is no other.
void each_is_out_of_bounds(const char* kernel_name, std::initializer_list<const char*> marks) {
  const Done done = check(kernel_name, {1});
  CAPTURE(done.text());
  CHECK(done.findings().size() == marks.size());
  for (const std::string mark : marks) {
    CAPTURE(mark);
    const Place place = place_of(kernel(kernel_name), mark);
    CHECK(std::ranges::count(done.findings(), place, [](const Finding& f) { return place_of(f.second); }) == 1);
    for (const Finding& f : done.findings()) {
      if (place_of(f.second) != place) continue;
      CHECK(f.kind == Kind::out_of_bounds);
      CHECK(f.second.write == mark.starts_with("write"));
      CHECK(f.second.lane == 0);
      CHECK(f.count == 1u);
    }
  }
}

TEST_CASE("checked: loads and stores of every size, every byte of them, ranges, packed, volatile and copied data" *
          instrumented()) {
  for (const char* kernel : {"sizes_past_end", "sizes_past_global"})
    each_is_out_of_bounds(kernel, {"write 1", "write 2", "write 4", "write 8", "write 16", "read 1", "read 2", "read 4",
                                   "read 8", "read 16"});
  each_is_out_of_bounds("sizes_across_end", {"write 4", "write 8", "read 4", "read 8"});
  each_is_out_of_bounds("ranges_past_end", {"write 12", "read 12", "write 48", "read 48", "write odd", "read odd",
                                            "write volatile", "read volatile", "write memcpy"});
}

TEST_CASE("checked: a deadlock tells of every block of the cluster") {
  const Case& c = kernel("one_warp_never_arrives");
  const auto place = [&](const char* mark) { return "(" + place_of(c, mark).text() + ")."; };
  const Done done = run(c, {}, {});
  CHECK(done.error == cudaErrorLaunchTimeout);
  const std::string come = "the cluster's barrier, at which 96 of 128 threads have arrived " + place("barrier");
  for (const std::string& piece :
       {"Block 0 of the cluster: Warps 0..1 lanes 0..31 wait at " + come,
        "Block 1 of the cluster: Warp 0 lanes 0..31 wait at " + come,
        "Warp 1 lanes 0..31 wait for phase 0 of full[0] (parity 0): 1 of 1 arrivals missing " + place("stuck")})
    CHECK_MESSAGE(contains(done.report.message, piece), done.report.message << " lacks " << piece);
}

}  // namespace
}  // namespace lab::checked
