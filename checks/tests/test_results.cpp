// The committed results keep to writeups/results/README.md, the benchmark writes what it says, and bad words are
// refused. Run from the repository's root, as `make unit` does.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "checks/bench/bench_results.hpp"
#include "checks/bench/json.hpp"
#include "reference/bad_input.hpp"

namespace {
using namespace lab;
using json::Value;
using Type = Value::Type;
namespace fs = std::filesystem;

const fs::path RESULTS = "writeups/results";

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE_MESSAGE(in.good(), "cannot read " << path.string());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> files(const std::string& prefix) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(RESULTS))
    if (entry.path().filename().string().starts_with(prefix) && entry.path().extension() == ".json")
      found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

Value load(const fs::path& path, const std::string& schema) {
  const Value value = json::parse(read(path));
  CHECK(value["schema"].string == schema);
  return value;
}

void strings(const Value& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    CAPTURE(key);
    REQUIRE(object.has(key));
    CHECK(object[key].is(Type::string));
  }
}

void spread(const Value& s, bool with_rounds) {
  REQUIRE(s.is(Type::object));
  CHECK(s["p10"].number > 0);
  CHECK(s["p10"].number <= s["median"].number);
  CHECK(s["median"].number <= s["p90"].number);
  CHECK(s["samples"].number >= 1);
  CHECK(s.members.size() == (with_rounds ? 5 : 4));
  if (!with_rounds) return;
  double samples = 0;
  REQUIRE(s["rounds"].items.size() >= 1);
  for (const Value& round : s["rounds"].items) {
    spread(round, false);
    samples += round["samples"].number;
  }
  CHECK(samples == s["samples"].number);
}

bool number_or_null(const Value& v) { return v.is(Type::null) || (v.is(Type::number) && v.number > 0); }

void bench_case(const Value& c) {
  const std::string label = c["program"].string + " " + c["shape"].string;
  CAPTURE(label);
  strings(c, {"program", "kind", "shape", "status", "detail"});
  CHECK((c["kind"].string == "stage" || c["kind"].string == "peer"));
  CHECK((c["kind"].string == "peer") == c["program"].string.starts_with("torch_"));
  const auto shapes = bench_shapes(c["shape"].string);
  REQUIRE(shapes.size() == 1);
  const Shape& s = shapes[0];
  CHECK((c["B"].number == s.B && c["H"].number == s.H && c["S"].number == s.S && c["D"].number == s.D &&
         c["causal"].truth == s.causal));
  CHECK(c["flop"].number == doctest::Approx(4.0 * double(s.rows()) * s.S * s.D * (s.causal ? 0.5 : 1)).epsilon(1e-5));
  CHECK(c["bytes"].number == doctest::Approx(8.0 * double(s.elements())).epsilon(1e-5));
  if (c["status"].string != "ok") {
    CHECK((c["status"].string == "skipped" || c["status"].string == "failed"));
    CHECK(!c["detail"].string.empty());
    CHECK(!c.has("figures"));
    return;
  }
  const Value& figures = c["figures"];
  CHECK(figures.members.size() == 4);
  spread(figures["graph"], true);
  spread(figures["call"], true);
  CHECK(figures["graph_flushed"].is(Type::null) == figures["call_flushed"].is(Type::null));
  if (!figures["graph_flushed"].is(Type::null))
    spread(figures["graph_flushed"], true), spread(figures["call_flushed"], true);
  CHECK(c["launches_per_graph"].number >= 20);
  CHECK(c["sets"].number >= 2);
  if (c["kind"].string == "stage") CHECK((c["checked_rows"].number >= 16 && c["max_diff"].number < 0.01));
  CHECK(c["tflops"].number ==
        doctest::Approx(c["flop"].number / figures["graph"]["median"].number * 1e-6).epsilon(1e-4));
  CHECK(c["gbs"].number == doctest::Approx(c["bytes"].number / figures["graph"]["median"].number * 1e-3).epsilon(1e-4));
  for (const char* key : {"share_of_matrix", "share_of_bandwidth", "faster_than_previous", "times_pytorch"})
    CHECK(number_or_null(c[key]));
  strings(c, {"previous", "pytorch"});
  for (const char* key : {"sm_mhz", "watts"})
    if (!c[key].is(Type::null)) CHECK((c[key].items.size() == 2 && c[key].items[0].number <= c[key].items[1].number));
}

void bench(const Value& b) {
  strings(b, {"date", "command", "commit", "machine", "gpu", "driver", "cuda", "l2_bytes"});
  for (const auto& [stage, hash] : b["kernels"].members) CHECK(hash.string.size() == 16);
  for (const auto& [name, ceiling] : b["ceilings"].members) spread(ceiling, true);
  REQUIRE(!b["cases"].items.empty());
  std::set<std::pair<std::string, std::string>> seen;
  for (const Value& c : b["cases"].items) {
    bench_case(c);
    CHECK(seen.insert({c["program"].string, c["shape"].string}).second);
  }
}

const std::string SAMPLES =
    "meta\tdate\t2026-01-01T00:00:00Z\nmeta\tcommand\tmake bench\nmeta\tcommit\tabc\nmeta\tmachine\ta \"quoted\" one\n"
    "meta\tgpu\tG\nmeta\tdriver\t1\nmeta\tcuda\t13\nmeta\tl2_bytes\t100\nmeta\tkernel v1_scalar\t0123456789abcdef\n"
    "fact\tv1_scalar\t1,8,512,64\tlaunches_per_graph\t20\nfact\tv1_scalar\t1,8,512,64\tsets\t4\n"
    "fact\tv1_scalar\t1,8,512,64\tchecked_rows\t64\nfact\tv1_scalar\t1,8,512,64\tmax_diff\t0.0001\n"
    "sample\tv1_scalar\t1,8,512,64\tgraph\t1\t100 102 101\nsample\tv1_scalar\t1,8,512,64\tcall\t1\t110\n"
    "seen\tv1_scalar\t1,8,512,64\t1980\t130.5\ncase\tv1_scalar\t1,8,512,64\tok\t\n";
const std::string MORE =
    "fact\tv2b_single_warp\t1,8,512,64\tlaunches_per_graph\t20\nfact\tv2b_single_warp\t1,8,512,64\tsets\t4\n"
    "fact\tv2b_single_warp\t1,8,512,64\tchecked_rows\t64\nfact\tv2b_single_warp\t1,8,512,64\tmax_diff\t0.0001\n"
    "sample\tv2b_single_warp\t1,8,512,64\tgraph\t1\t202\nsample\tv2b_single_warp\t1,8,512,64\tcall\t1\t210\n"
    "fact\ttorch_flash\t1,8,512,64\tlaunches_per_graph\t20\nfact\ttorch_flash\t1,8,512,64\tsets\t4\n"
    "sample\ttorch_flash\t1,8,512,64\tgraph\t1\t10.1\nsample\ttorch_flash\t1,8,512,64\tgraph\t2\t10.1\n"
    "sample\ttorch_flash\t1,8,512,64\tcall\t1\t20\n"
    "ceiling\tmatrix_fp16_tflops\t1\t700 700\nceiling\tcopy_gbs\t1\t4000\n"
    "case\tv2b_single_warp\t4,16,8192,64\tskipped\ttoo slow\ncase\tv1_scalar\t2,8,2048,64\tfailed\twrong answer\n";

}  // namespace

TEST_CASE("results: the benchmark's JSON is what its description says") {
  const Value b = json::parse(bench_json({SAMPLES, MORE}));
  CHECK(b["schema"].string == "bench-1");
  bench(b);
  CHECK(b["machine"].string == "a \"quoted\" one");
  const auto at = [&](const std::string& program, const std::string& shape) -> const Value& {
    for (const Value& c : b["cases"].items)
      if (c["program"].string == program && c["shape"].string == shape) return c;
    FAIL("no case " << program << " " << shape);
    return b;
  };
  const Value &v1 = at("v1_scalar", "1,8,512,64"), &v2b = at("v2b_single_warp", "1,8,512,64");
  CHECK(v1["figures"]["graph"]["median"].number == 101);
  CHECK(v1["figures"]["graph"]["p90"].number == doctest::Approx(101.8));
  CHECK(v1["faster_than_previous"].is(Type::null));
  CHECK(v1["times_pytorch"].number == doctest::Approx(10));
  CHECK(v1["share_of_matrix"].number == doctest::Approx(v1["tflops"].number / 700).epsilon(1e-4));
  CHECK(v2b["faster_than_previous"].number == doctest::Approx(0.5));
  CHECK(v2b["previous"].string == "v1_scalar");
  CHECK(at("torch_flash", "1,8,512,64")["figures"]["graph"]["rounds"].items.size() == 2);
  CHECK(at("v2b_single_warp", "4,16,8192,64")["detail"].string == "too slow");
  CHECK(at("v1_scalar", "2,8,2048,64")["status"].string == "failed");
  CHECK(bench_table({SAMPLES, MORE}).find("failed: wrong answer") != std::string::npos);
}

TEST_CASE("results: a failed round spoils its case, whatever the other rounds say") {
  const Value b = json::parse(bench_json({SAMPLES, "case\tv1_scalar\t1,8,512,64\tfailed\tNaN\n", SAMPLES}));
  CHECK(b["cases"].items[0]["status"].string == "failed");
  CHECK(!b["cases"].items[0].has("figures"));
}

TEST_CASE("results: bad words and lines are refused in one line") {
  for (const char* words : {"", "1,8,512", "1,8,512,64,casual", "1,8,512,96", "0,8,512,64", "1,8,512,64;", "acceptanec",
                            "1, 8,512,64", "1,8,512,64,causal,1", "-1,8,512,64", "99999999999,8,512,64"}) {
    CAPTURE(words);
    CHECK_THROWS_AS(bench_shapes(words), BadInput);
  }
  CHECK(bench_shapes("acceptance").size() == 6);
  CHECK(bench_shapes("all").size() == 10);
  CHECK(bench_shapes("1,8,512,64;2,8,2048,128,causal")[1] == Shape{2, 8, 2048, 128, true});
  for (const Shape& shape : bench_shapes("all")) CHECK(bench_shapes(shape_word(shape))[0] == shape);
  for (const char* line : {"sample\tv1\t1,8,512,64\tgraph\t1\tnan", "sample\tv1\t1,8,512,64\tgraph\t1\t-3",
                           "sample\tv1\t1,8,512,64\tgraph\t0\t3", "hello", "sample\tv1\t1,8\tgraph\t1\t3",
                           "sample\tv1\t1,8,512,64\tspeed\t1\t3", "case\tv1\t1,8,512,64\tfine\t", "meta\tgpu"}) {
    CAPTURE(line);
    CHECK_THROWS_AS(bench_json({line}), BadInput);
  }
}

TEST_CASE("results: the reader of JSON is strict") {
  for (const char* text : {"", "{", "{\"a\":1,}", "[1,]", "{\"a\":1,\"a\":2}", "01", "1.", ".5", "nan", "\"a",
                           "\"\\u0041\"", "{} {}", "[1 2]", "'a'", "+1", "1e"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(json::parse(text), json::Error);
  }
  const Value v = json::parse(" {\"a\": [1, -2.5e3, true, null, \"x\\\"y\"], \"b\": {}, \"z\": 0} ");
  CHECK(v["a"].items[1].number == -2500);
  CHECK(v["a"].items[4].string == "x\"y");
  CHECK_THROWS_AS(v["c"], json::Error);
}

TEST_CASE("results: committed benchmarks keep to the schema") {
  const auto found = files("bench-");
  REQUIRE(!found.empty());
  for (const fs::path& path : found) {
    CAPTURE(path.string());
    bench(load(path, "bench-1"));
  }
}

TEST_CASE("results: committed profiles keep to the schema") {
  for (const fs::path& path : files("profile-")) {
    CAPTURE(path.string());
    const Value p = load(path, "profile-1");
    strings(p, {"stage", "kernel", "shape", "date", "commit", "command", "gpu", "driver", "ncu"});
    CHECK(bench_shapes(p["shape"].string).size() == 1);
    CHECK(p["table"].items.size() >= 8);
    for (const Value& row : p["table"].items) strings(row, {"what", "value", "diagnosis"});
    CHECK(p["metrics"]["smsp__inst_executed.sum"].number > 0);
    for (const auto& [name, value] : p["metrics"].members) CHECK(value.is(Type::number));
  }
}

TEST_CASE("results: committed resources, plans and predictions keep to the schema") {
  const Value r = load(RESULTS / "resources.json", "resources-1");
  CHECK(r["budget"]["smem"].number == 101376);
  for (const Value& k : r["kernels"].items) {
    strings(k, {"stage", "bug", "arch", "kernel", "over"});
    for (const char* key : {"registers", "smem", "static_smem", "stack", "spills"}) CHECK(k[key].is(Type::number));
    if (k["bug"].string.empty()) CHECK(k["over"].string.empty());
  }
  const Value plans = load(RESULTS / "plans.json", "plans-1");
  for (const Value& p : plans["plans"].items) {
    strings(p, {"stage", "bug"});
    double sum = 0;
    for (const Value& a : p["arrays"].items) sum += a["bytes"].number;
    CHECK(sum == p["smem"].number);
    CHECK((p["smem"].number <= plans["budget"]["smem"].number) == (p["bug"].string != "smem_overflow"));
  }
  const Value predictions = load(RESULTS / "predictions.json", "predictions-1");  // a temporary would not outlive []
  for (const Value& step : predictions["steps"].items) {
    strings(step, {"from", "to"});
    CHECK(step["instructions"].items.size() == 2);
    for (const auto& [shape, gain] : step["gain"].members) CHECK((bench_shapes(shape).size() == 1 && gain.number > 0));
  }
}

TEST_CASE("results: what compute-sanitizer saw keeps to the schema, and correct stages are silent") {
  const Value tools = load(RESULTS / "tools-h200.json", "tools-1");
  strings(tools, {"gpu", "driver", "cuda", "compute_sanitizer", "date", "command"});
  const std::set<std::string> known{"memcheck", "racecheck", "initcheck", "synccheck"};
  std::map<std::string, std::set<std::string>> asked;  // a build: its tools
  std::size_t correct = 0;
  for (const Value& row : tools["rows"].items) {
    strings(row, {"stage", "bug", "tool", "kinds", "lines"});
    CAPTURE(row["stage"].string + " " + row["bug"].string + " " + row["tool"].string);
    CHECK(known.contains(row["tool"].string));
    CHECK(asked[row["stage"].string + ":" + row["bug"].string].insert(row["tool"].string).second);
    if (!row["bug"].string.empty()) continue;
    CHECK(row["kinds"].string.empty());
    ++correct;
  }
  for (const auto& [build, used] : asked) CHECK(used == known);
  CHECK(correct >= 4);
}
