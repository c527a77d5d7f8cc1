// The checker's rules (rules.hpp): every kernel of the files test_*_kernels.cpp, broken and mended, under every schedule and time
// of copying; and what concerns reports as a whole.
#include "checks/tests/rules.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "checks/tests/instrumented.hpp"
#include "checks/tests/test_exec.hpp"
#include "common/launch.cuh"

namespace lab::rules {
namespace {
using Kind = Finding::Kind;

std::vector<const Case*>& cases() {
  static std::vector<const Case*> all;
  return all;
}

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

Registered::Registered(const Case& c) { cases().push_back(&c); }

std::string Done::text() const {
  std::string text = report.message;
  for (const Finding& f : findings()) text += "\n" + f.text;
  return text;
}

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
      const bool begins = line.starts_with("RULE(") || line.starts_with("BROKEN(") || line.starts_with("RIGHT(");
      if (begins) {
        const std::string head = line.substr(line.find('(') + 1) + lines[i + 1];
        const std::string name = head.substr(head.find_first_not_of(' '));
        place = name.starts_with(c.name + std::string(",")) || name.starts_with(c.name + std::string(")")) ? inside
                                                                                                           : another;
      }
      if (place != another && !line.starts_with("//") && line.find("// [" + mark + "]") != line.npos) {
        int& found = place == inside ? own : shared;
        REQUIRE_MESSAGE(found == 0, "two lines of " << std::string(c.name) << " are marked [" << mark << "]");
        found = int(i);
      }
      if (line == "}" || (begins && line.ends_with("}"))) place = helper;  // a kernel of one line ends there
    }
    if (own || shared) return known_place = {file, own ? own : shared};
  }
  FAIL("no line of " << std::string(c.name) << " is marked [" << mark << "]");
  return {};
}

// --- launches -------------------------------------------------------------------------------------------------------

namespace {

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
  const auto either = [](auto a, auto b, auto c) { return a ? a : b ? b : c; };
  const Size& file = c.group.size;
  return {either(own.threads, file.threads, 96u), either(own.smem, file.smem, std::size_t(1024)),
          either(own.blocks, file.blocks, 1u), either(own.cluster, file.cluster, 1u)};
}

}  // namespace

Done run(const Case& c, bool kept, const Size& own, const ExecOptions& options, bool overlaps) {
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
  std::string passing = c.name;
  CHECK(launch_with(extras, passing.c_str(), c.kernel, dim3(size.blocks), size.threads,
                    size.smem == NO_SMEM ? 0 : size.smem, nullptr, static_cast<const Maps*>(tensors.maps), out,
                    kept) == cudaSuccess);
  std::ranges::fill(passing, '#');  // a report names the kernel although the launch's name is gone by then
  Done done;
  done.error = cudaDeviceSynchronize();
  set_exec_options({});
  done.report = take_exec_report();
  done.out.assign(out, out + ints);
  cudaFree(out);
  for (const Finding& f : done.findings()) CHECK(f.kernel == c.name);
  return done;
}

namespace {

// body(options), for what a file's kernels can depend on. One worker: the tests count what they see.
template <class Body>
void under_all_options(Vary vary, Body body) {
  ExecOptions options;
  options.workers = 1;
  for (; vary == Vary::blocks && options.block_order < 8; ++options.block_order) {
    INFO("order of blocks " << options.block_order);
    body(options);
  }
  if (vary == Vary::blocks) return;
  const bool bulk = vary == Vary::copies || vary == Vary::cluster;
  constexpr std::uint64_t SEEDS = 2;
  for (const Schedule schedule : SCHEDULES)
    for (const Copies copies : {Copies::at_wait, Copies::at_issue, Copies::random}) {
      if (copies == Copies::random && vary == Vary::threads) continue;
      const bool random = schedule == Schedule::random || (bulk && copies == Copies::random);
      for (std::uint64_t seed = 1; seed <= (random ? SEEDS : 1); ++seed) {
        options.schedule = schedule, (vary == Vary::products ? options.products : options.copies) = copies;
        options.seed = seed;
        INFO("schedule " << std::string(name(schedule)) << ", copies " << std::string(name(copies)) << ", seed "
                         << seed);
        body(options);
      }
    }
}

// --- what is expected -----------------------------------------------------------------------------------------------

bool is_side(const Case& c, const Finding& f, const Finding::Access& access, const Side& side) {
  const Place place = place_of(c, side.mark);
  if (Place{access.file, access.line} != place) return false;
  if (side.warp < 0) return true;
  if (access.warp != side.warp || access.lane != side.lane || access.write != side.write) return false;
  // The report says all of it, for a reader who sees nothing else.
  const std::string line = lines_of(place.file)[std::size_t(place.line)];
  return contains(f.text, "warp " + std::to_string(side.warp) + " lane " + std::to_string(side.lane) + " at " +
                              place.text() + ": " + line.substr(line.find_first_not_of(' ')));
}

bool between(const Case& c, const Expect& e, const Finding& f) {
  const auto is = [&](const Finding::Access& access, const Side& side) { return is_side(c, f, access, side); };
  if (!e.one.mark) return true;
  if (!e.other.mark) return is(f.second, e.one);
  if (!f.first.valid) return is(f.second, e.one) || is(f.second, e.other);
  return (is(f.first, e.one) && is(f.second, e.other)) || (is(f.first, e.other) && is(f.second, e.one));
}

void check_broken(const Case& c, const Expect& e) {
  int of_first_kind = 0;
  under_all_options(c.group.vary, [&](ExecOptions options) {
    if (e.ascending && options.schedule != Schedule::ascending) return;
    options.gaps = e.gaps;
    for (const bool check : {true, false}) {
      if (!check && !e.stops) continue;
      options.check = check;
      const Done done = run(c, false, e.size, options, e.overlaps);
      CAPTURE(done.text());
      bool found = false;
      for (const Finding& f : done.findings()) {
        CHECK_MESSAGE(std::find(e.kinds, e.kinds + e.kinds_count, f.kind) != e.kinds + e.kinds_count, f.text);
        const bool first = f.is(e.kinds[0]) && contains(f.text, e.words);
        const bool good = between(c, e, f) && (first || e.any_kind) && (!e.where || f.where == e.where) &&
                          (!e.count || f.count == e.count);
        of_first_kind += first;
        found = found || good;
        if (e.every) CHECK_MESSAGE(good, f.text);
        if (f.kind == inter || f.kind == intra)
          CHECK(f.hazard == (f.first.write ? f.second.write ? "WAW" : "RAW" : "WAR"));
        CHECK((f.text.starts_with(name(f.kind)) && contains(f.text, f.where)));
      }
      CHECK(found);
      if (e.kinds_count == 1 && !e.any_kind) CHECK((done.error != cudaSuccess) == e.stops);
      if (e.stops) CHECK(contains(done.report.message, e.words));
    }
  });
  CHECK(of_first_kind > 0);
}

// No finding, and the same output as without the checker, whatever the options.
void check_mended(const Case& c, const Size& size, bool overlaps) {
  const std::vector<int> expected = run(c, true, size, {}, overlaps).out;
  under_all_options(c.group.vary, [&](ExecOptions options) {
    options.check = true, options.gaps = options.schedule == Schedule::descending;
    const Done done = run(c, true, size, options, overlaps);
    CAPTURE(done.text());
    CHECK(done.error == cudaSuccess);
    CHECK(done.text().empty());
    CHECK(done.out == expected);
  });
}

void check_all(const char* file) {
  int seen = 0;
  for (const Case* c : cases()) {
    if (!contains(c->file, file)) continue;
    INFO("kernel " << std::string(c->name));
    ++seen;
    for (const Expect& e : c->expected) {
      if (!c->instrumented && e.hooks) continue;
      if (c->broken) check_broken(*c, e);
      if (c->mended && (&e == &c->expected[0] || e.size.blocks || e.overlaps)) check_mended(*c, e.size, e.overlaps);
    }
    if (c->instrumented && c->expected.empty()) check_mended(*c, {}, false);
  }
  CHECK(seen > 0);
}

TEST_CASE("rules: cp.async, __syncthreads, atomics") { check_all("test_copy"); }
TEST_CASE("rules: TMA, the asynchronous proxy") { check_all("test_async_kernels"); }
TEST_CASE("rules: mbarriers") { check_all("test_mbarrier_kernels"); }
TEST_CASE("rules: wgmma's registers and operands") { check_all("test_wgmma_kernels"); }
TEST_CASE("rules: clusters, and launches that overlap the one before") { check_all("test_cluster_kernels"); }

}  // namespace
}  // namespace lab::rules
