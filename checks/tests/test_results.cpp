// The committed results keep to writeups/results/README.md, the benchmark writes what it says, and bad words are
// refused. Run from the repository's root, as `make unit` does.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "checks/desk/records/records.hpp"
#include "common/target.hpp"

namespace {
using namespace lab;
using desk::Json;
using desk::parse_json;
namespace fs = std::filesystem;

const fs::path RESULTS = "writeups/results";

std::vector<fs::path> files(const std::string& prefix) {
  std::vector<fs::path> found = desk::files_in(RESULTS, ".json");
  std::erase_if(found, [&](const fs::path& path) { return !path.filename().string().starts_with(prefix); });
  return found;
}

Json load(const fs::path& path, const std::string& schema) {
  const Json value = parse_json(desk::read_text(path.string()), path.string());
  CHECK(value.at("schema") == schema);
  return value;
}

void strings(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    CAPTURE(key);
    REQUIRE(object.contains(key));
    CHECK(object.at(key).is_string());
  }
}

void spread(const Json& s, bool with_rounds) {
  REQUIRE(s.is_object());
  CHECK(s.at("p10").get<double>() > 0);
  CHECK(s.at("p10").get<double>() <= s.at("median").get<double>());
  CHECK(s.at("median").get<double>() <= s.at("p90").get<double>());
  CHECK(s.at("samples").get<double>() >= 1);
  CHECK(s.size() == (with_rounds ? 5 : 4));
  if (!with_rounds) return;
  double samples = 0;
  REQUIRE(s.at("rounds").size() >= 1);
  for (const Json& round : s.at("rounds")) {
    spread(round, false);
    samples += round.at("samples").get<double>();
  }
  CHECK(samples == s.at("samples").get<double>());
}

bool number_or_null(const Json& v) { return v.is_null() || (v.is_number() && v.get<double>() > 0); }

void bench_case(const Json& c) {
  const std::string label = c.at("program").get<std::string>() + " " + c.at("shape").get<std::string>();
  CAPTURE(label);
  strings(c, {"program", "kind", "shape", "status", "detail"});
  CHECK((c.at("kind") == "stage" || c.at("kind") == "peer"));
  CHECK((c.at("kind") == "peer") == is_peer(c.at("program").get<std::string>()));
  const auto shapes = bench_shapes(c.at("shape").get<std::string>());
  REQUIRE(shapes.size() == 1);
  const Shape& s = shapes[0];
  CHECK((c.at("B").get<double>() == s.B && c.at("H").get<double>() == s.H && c.at("S").get<double>() == s.S &&
         c.at("D").get<double>() == s.D && c.at("causal").get<bool>() == s.causal));
  CHECK(c.at("flop").get<double>() ==
        doctest::Approx(4.0 * double(s.rows()) * s.S * s.D * (s.causal ? 0.5 : 1)).epsilon(1e-5));
  CHECK(c.at("bytes").get<double>() == doctest::Approx(8.0 * double(s.elements())).epsilon(1e-5));
  if (c.at("status").get<std::string>() != "ok") {
    CHECK((c.at("status") == "skipped" || c.at("status") == "failed"));
    CHECK(!c.at("detail").get<std::string>().empty());
    CHECK(!c.contains("figures"));
    return;
  }
  const Json& figures = c.at("figures");
  CHECK(figures.size() == 4);
  spread(figures.at("graph"), true);
  spread(figures.at("call"), true);
  CHECK(figures.at("graph_flushed").is_null() == figures.at("call_flushed").is_null());
  if (!figures.at("graph_flushed").is_null())
    spread(figures.at("graph_flushed"), true), spread(figures.at("call_flushed"), true);
  CHECK(c.at("launches_per_graph").get<double>() >= 20);
  CHECK(c.at("sets").get<double>() >= 2);
  if (c.at("kind") == "stage")
    CHECK((c.at("checked_rows").get<double>() >= 16 && c.at("max_diff").get<double>() < 0.01));
  CHECK(c.at("tflops").get<double>() ==
        doctest::Approx(c.at("flop").get<double>() / figures.at("graph").at("median").get<double>() * 1e-6)
            .epsilon(1e-4));
  CHECK(c.at("gbs").get<double>() ==
        doctest::Approx(c.at("bytes").get<double>() / figures.at("graph").at("median").get<double>() * 1e-3)
            .epsilon(1e-4));
  for (const char* key : {"share_of_matrix", "share_of_bandwidth", "faster_than_previous", "times_pytorch"})
    CHECK(number_or_null(c.at(key)));
  for (const char* key : {"times_pytorch_p10", "times_pytorch_p90", "energy_uj"})  // of newer files
    CHECK((!c.contains(key) || number_or_null(c.at(key))));
  strings(c, {"previous", "pytorch"});
  for (const char* key : {"sm_mhz", "watts"})
    if (!c.at(key).is_null())
      CHECK((c.at(key).size() == 2 && c.at(key)[0].get<double>() <= c.at(key)[1].get<double>()));
}

void bench(const Json& b) {
  strings(b, {"date", "command", "commit", "machine", "gpu", "driver", "cuda", "l2_bytes"});
  for (const auto& [stage, hash] : b.at("kernels").items()) CHECK(hash.get<std::string>().size() == 16);
  for (const auto& [name, ceiling] : b.at("ceilings").items()) spread(ceiling, true);
  REQUIRE(!b.at("cases").empty());
  std::set<std::pair<std::string, std::string>> seen;
  for (const Json& c : b.at("cases")) {
    bench_case(c);
    CHECK(seen.insert({c.at("program").get<std::string>(), c.at("shape").get<std::string>()}).second);
  }
}

Json made_of(const std::vector<std::string>& samples) {
  return parse_json(desk::bench_json(read_samples(samples)), "bench_json");
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
  const Json b = made_of({SAMPLES, MORE});
  CHECK(b.at("schema") == "bench-1");
  bench(b);
  CHECK(b.at("machine") == "a \"quoted\" one");
  const auto at = [&](const std::string& program, const std::string& shape) -> const Json& {
    for (const Json& c : b.at("cases"))
      if (c.at("program") == program && c.at("shape") == shape) return c;
    FAIL("no case " << program << " " << shape);
    return b;
  };
  CHECK(b.at("kernels").at("v1_scalar") == "0123456789abcdef");
  CHECK(b.at("ceilings").at("copy_gbs").at("rounds")[0].at("median") == 4000);
  const Json &v1 = at("v1_scalar", "1,8,512,64"), &v2b = at("v2b_single_warp", "1,8,512,64");
  CHECK(v1.at("max_diff") == 0.0001);
  CHECK(v1.at("watts") == Json{130.5, 130.5});
  CHECK(v1.at("figures").at("call_flushed").is_null());
  CHECK(v1.at("tflops") == 5.31555);
  CHECK(v1.at("figures").at("graph").at("median").get<double>() == 101);
  CHECK(v1.at("figures").at("graph").at("p90").get<double>() == doctest::Approx(101.8));
  CHECK(v1.at("faster_than_previous").is_null());
  CHECK(v1.at("times_pytorch").get<double>() == doctest::Approx(100 / 10.1));  // the one pair
  CHECK(v1.at("share_of_matrix").get<double>() == doctest::Approx(v1.at("tflops").get<double>() / 700).epsilon(1e-4));
  CHECK(v2b.at("faster_than_previous").get<double>() == doctest::Approx(0.5));
  CHECK(v2b.at("previous") == "v1_scalar");
  CHECK(at("torch_flash", "1,8,512,64").at("figures").at("graph").at("rounds").size() == 2);
  CHECK(at("v2b_single_warp", "4,16,8192,64").at("detail") == "too slow");
  CHECK(at("v1_scalar", "2,8,2048,64").at("status") == "failed");
  CHECK_FALSE(at("v1_scalar", "2,8,2048,64").contains("figures"));
  CHECK(bench_table(read_samples({SAMPLES, MORE})).find("failed: wrong answer") != std::string::npos);
}

TEST_CASE("results: a failed round spoils its case, whatever the other rounds say") {
  const Json b = made_of({SAMPLES, "case\tv1_scalar\t1,8,512,64\tfailed\tNaN\n", SAMPLES});
  CHECK(b.at("cases")[0].at("status") == "failed");
  CHECK(!b.at("cases")[0].contains("figures"));
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
  for (const char* line :
       {"sample\tv1\t1,8,512,64\tgraph\t1\tnan", "sample\tv1\t1,8,512,64\tgraph\t1\t-3",
        "sample\tv1\t1,8,512,64\tgraph\t0\t3", "hello", "sample\tv1\t1,8\tgraph\t1\t3",
        "sample\tv1\t1,8,512,64\tspeed\t1\t3", "case\tv1\t1,8,512,64\tfine\t", "meta\tgpu",
        "fact\tv1\t1,8,512,64\tsets\tnan", "fact\tv1\t1,8,512,64\tsets\t.5", "fact\tv1\t1,8,512,64\tsets\tfour"}) {
    CAPTURE(line);
    CHECK_THROWS_AS(desk::bench_json(read_samples({line})), BadInput);
  }
}

TEST_CASE("results: the reader of JSON is strict") {
  for (const char* text : {"", "{", "{\"a\":1,}", "[1,]", "{\"a\":1,\"a\":2}", "01", "1.", ".5", "nan", "\"a", "{} {}",
                           "[1 2]", "'a'", "+1", "1e"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_json(text, "a text"), BadInput);
  }
  const Json v = parse_json(" {\"a\": [1, -2.5e3, true, null, \"x\\\"y\"], \"b\": {}, \"z\": 0} ", "a text");
  CHECK(v.at("a")[1].get<double>() == -2500);
  CHECK(v.at("a")[4] == "x\"y");
  CHECK_THROWS_AS(parse_json("{\"a\": [{\"b\": 1, \"b\": 2}]}", "a text"), BadInput);
}

TEST_CASE("results: committed benchmarks keep to the schema") {
  for (const char* kind : {"bench-", "small-", "ahead-"}) {
    const auto found = files(kind);
    REQUIRE(!found.empty());
    for (const fs::path& path : found) {
      CAPTURE(path.string());
      bench(load(path, "bench-1"));
    }
  }
}
