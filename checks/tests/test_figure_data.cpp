// The committed data of the figures keep to writeups/results/README.md: error maps, traces, layouts. Run from the
// repository's root, as `make unit` does.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "checks/trace/json.hpp"
#include "common/hopper/swizzle.cuh"
#include "common/swizzle.cuh"

namespace {
namespace fs = std::filesystem;

const fs::path RESULTS = "writeups/results";

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE_MESSAGE(in.good(), "cannot read " << path.string());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> split(const std::string& text, const std::string& at) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const std::size_t to = text.find(at, from);
    parts.push_back(text.substr(from, to - from));
    if (to == text.npos) return parts;
    from = to + at.size();
  }
}

std::size_t map_part(const std::vector<std::string>& lines) {
  std::size_t wrong = 0;
  CHECK((lines[1].size() == 64 || lines[1].size() == 128));
  for (std::size_t i = 1; i < lines.size(); ++i) {
    CHECK(lines[i].size() == lines[1].size());
    for (const char ch : lines[i]) {
      const bool level = (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z');
      if (!level && ch != '.' && ch != '!' && ch != '~') FAIL_CHECK("character '" << ch << "'");
      wrong += ch != '.';
    }
  }
  return wrong;
}

TEST_CASE("results: committed error maps keep to the schema, and show something wrong") {
  std::size_t maps = 0;
  for (const auto& entry : fs::directory_iterator(RESULTS / "error-maps")) {
    CAPTURE(entry.path().string());
    std::string text = read(entry.path());
    REQUIRE(text.ends_with("\n"));
    text.pop_back();
    const std::vector<std::string> parts = split(text, "\n\n");
    REQUIRE(parts.size() >= 2);
    CHECK(parts[0].starts_with("schema: error-map-2\nbug: " + entry.path().stem().string() + "\n"));
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::vector<std::string> lines = split(parts[i], "\n");
      CAPTURE(lines[0]);
      REQUIRE(lines.size() > 1);
      if (lines[0].starts_with("sample: ")) {
        const std::size_t columns = lines[0].find("predicted") == std::string::npos ? 4 : 5;
        for (std::size_t n = 1; n < lines.size(); ++n) CHECK(split(lines[n], " ").size() == columns);
      } else {
        CHECK((lines[0] == "seen" || lines[0] == "predicted"));
        CHECK(map_part(lines) > 0);
      }
    }
    CHECK(split(parts[1], "\n")[0] == "seen");
    ++maps;
  }
  CHECK(maps > 0);
}

// The rows of a committed table: fields between tabs, below a head that names the schema and a line with the columns.
std::vector<std::vector<std::string>> rows_of(const fs::path& path, const std::string& schema,
                                              const std::string& columns) {
  const std::string text = read(path);
  CHECK(text.starts_with("schema: " + schema + "\n"));
  const std::size_t gap = text.find("\n\n");
  REQUIRE(gap != text.npos);
  std::istringstream body(text.substr(gap + 2));
  std::string line;
  std::getline(body, line);
  CHECK(line == columns);
  std::vector<std::vector<std::string>> rows;
  while (std::getline(body, line)) {
    CAPTURE(line);
    rows.push_back(split(line, "\t"));
    REQUIRE(rows.back().size() == split(columns, "\t").size());
  }
  return rows;
}

TEST_CASE("results: committed traces keep to the schema, and only the order of a block's barriers is in them") {
  std::size_t traces = 0;
  const std::set<std::string> known{"read", "write",  "copy",    "commit",     "wait",
                                    "sync", "arrive", "release", "bar_arrive", "bar_release"};
  for (const auto& entry : fs::directory_iterator(RESULTS / "traces")) {
    CAPTURE(entry.path().string());
    int period = 0, releases = 0;
    for (const std::vector<std::string>& fields :
         rows_of(entry.path(), "trace-shared-1",
                 "period\twarp\tevent\tarray\tfirst row\tlast row\tfirst byte\tlast byte\tbytes each\tevents")) {
      CHECK(known.contains(fields[2]));
      CHECK(std::stoi(fields[0]) >= period);
      period = std::stoi(fields[0]);
      CHECK(period == releases);  // a barrier's release ends a period
      releases += fields[2] == "release";
    }
    CHECK(releases > 0);
    ++traces;
  }
  CHECK(traces > 0);
}

TEST_CASE("results: committed traces of waits: nobody goes on before what it waited for has happened") {
  std::size_t traces = 0;
  for (const auto& entry : fs::directory_iterator(RESULTS / "waits")) {
    CAPTURE(entry.path().string());
    std::map<std::string, int> phases, committed;  // complete, of each mbarrier; groups of each warp
    std::map<std::string, std::size_t> releases;   // of each named barrier
    std::size_t issued = 0, landed = 0, waits = 0;
    for (const std::vector<std::string>& f :
         rows_of(entry.path(), "trace-waits-1", "warp\tevent\tarray\trow\tnumber\ttimes")) {
      const std::string &warp = f[0], &event = f[1], barrier = f[2] + "[" + f[3] + "]";
      const int number = std::stoi(f[4]);
      if (event == "mbarrier_complete") CHECK(phases[barrier]++ == number);
      if (event == "mbarrier_pass") CHECK(number < phases[barrier]);
      if (event == "bar_release") ++releases[f[4]];
      if (event == "bar_pass") CHECK(releases[f[4]] > 0);
      issued += event == "tma_issue", landed += event == "tma_land";
      CHECK(landed <= issued);
      committed[warp] += event == "wgmma_commit";
      if (event == "wgmma_wait") CHECK(number <= committed[warp]);
      waits += event == "mbarrier_pass";  // a kernel without wgmma has these alone
    }
    CHECK(issued > 0);
    CHECK(landed == issued);
    CHECK(waits > 0);
    ++traces;
  }
  CHECK(traces > 0);
}

TEST_CASE("results: committed orders name every query tile of every head once") {
  std::size_t orders = 0;
  for (const auto& entry : fs::directory_iterator(RESULTS / "orders")) {
    CAPTURE(entry.path().string());
    std::set<std::pair<int, int>> named;
    int block = 0, last_head = 0, last_tile = 0;
    for (const std::vector<std::string>& f : rows_of(entry.path(), "order-1", "block\thead\ttile\tkeys")) {
      CHECK(std::stoi(f[0]) == block++);
      CHECK(named.insert({std::stoi(f[1]), std::stoi(f[2])}).second);
      last_head = std::max(last_head, std::stoi(f[1])), last_tile = std::max(last_tile, std::stoi(f[2]));
    }
    if (block == 0) continue;  // list=0
    CHECK(block == (last_head + 1) * (last_tile + 1));
    ++orders;
  }
  CHECK(orders > 0);
}

TEST_CASE("results: committed owners: one block stores a tile, and every visit of a pair reaches dQ") {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(RESULTS / "owners")) {
    CAPTURE(entry.path().string());
    std::map<std::string, int> stored;         // "dk 2": by how many blocks
    std::set<std::string> added, down, along;  // "row tile, key tile": by atomics; the pairs of each walk
    for (const std::vector<std::string>& f : rows_of(entry.path(), "owners-1", "gradient\tblock\tdoes\ttile")) {
      stored[f[0] + " " + f[3]] += f[2] == "stores";
      if (f[2] == "adds") added.insert(f[3] + "," + f[1]);
      if (f[2] == "walks over rows") down.insert(f[3] + "," + f[1]);
      if (f[2] == "walks over keys") along.insert(f[1] + "," + f[3]);
    }
    for (const auto& [tile, blocks] : stored)
      CHECK_MESSAGE(blocks == (tile.starts_with("dq") && along.empty() ? 0 : 1), tile);
    CHECK(!down.empty());
    CHECK((along.empty() ? added : along) == down);
    ++files;
  }
  CHECK(files == 2);
}

TEST_CASE("results: in committed references a score that cannot fit is scored again") {
  constexpr double FITS = 10.3972;  // ln 32768, v3f's LARGEST_SUM
  std::size_t references = 0, moved = 0;
  for (const auto& entry : fs::directory_iterator(RESULTS / "references")) {
    CAPTURE(entry.path().string());
    double reference = 0;
    int next = 0;
    for (const std::vector<std::string>& f :
         rows_of(entry.path(), "reference-1", "tile\tlargest score\tscored again")) {
      const int tile = next++;
      CAPTURE(tile);
      CHECK(std::stoi(f[0]) == tile);
      const double score = std::stod(f[1]);
      const bool again = f[2] == "1";
      if (tile == 0) CHECK(!again);
      if (tile > 0 && score > reference + FITS) CHECK(again);
      if (tile == 0 || (again && score > reference)) reference = score;
      moved += again;
    }
    ++references;
  }
  CHECK(references > 0);
  CHECK(moved > 0);
}

TEST_CASE("results: committed traces of steps: slices nest and are closed, every copy has landed") {
  std::size_t traces = 0;
  for (const auto& entry : fs::directory_iterator(RESULTS / "steps")) {
    CAPTURE(entry.path().string());
    const std::vector<std::string> wrong = lab::trace::wrong_with(read(entry.path()), {}, false);
    for (const std::string& line : wrong) FAIL_CHECK(line);
    ++traces;
  }
  CHECK(traces > 0);
}

TEST_CASE("results: committed layouts: every element of a fragment is held, and by one lane") {
  const nlohmann::json layouts = nlohmann::json::parse(read(RESULTS / "layouts.json"));
  CHECK(layouts["schema"] == "layouts-1");
  CHECK(!layouts["fragments"].empty());
  for (const nlohmann::json& f : layouts["fragments"]) {
    CAPTURE(f["name"].dump());
    std::set<int> held;
    CHECK(f["held"].size() == 32);
    for (const nlohmann::json& lane : f["held"])
      for (const nlohmann::json& element : lane) CHECK(held.insert(element.get<int>()).second);
    CHECK(double(held.size()) == f["rows"].get<double>() * f["columns"].get<double>());
    CHECK(*held.begin() == 0);
    CHECK(*held.rbegin() == int(held.size()) - 1);
  }
  CHECK(!layouts["banks"].empty());
  for (const nlohmann::json& b : layouts["banks"]) {
    CHECK(b["bank"].size() == 32);
    CHECK(b["turns"].get<int>() >= b["least"].get<int>());
  }
}

TEST_CASE("results: committed layouts: a warpgroup's accumulator is the next product's A, thread for thread") {
  const nlohmann::json w = nlohmann::json::parse(read(RESULTS / "layouts.json"))["warpgroup"];
  const int elements = w["rows"].get<int>() * w["columns"].get<int>();
  std::set<int> held;
  for (const nlohmann::json& thread : w["d"])
    for (const nlohmann::json& element : thread) CHECK(held.insert(element.get<int>()).second);
  CHECK(int(held.size()) == elements);
  CHECK(*held.rbegin() == elements - 1);
  CHECK(w["a"] == w["d"]);
}

TEST_CASE("results: committed layouts: both descriptors find each chunk where the copy engine leaves it") {
  const nlohmann::json d = nlohmann::json::parse(read(RESULTS / "layouts.json"))["descriptors"];
  REQUIRE(d["rows"] == 64);
  CHECK(d["of"].size() == 2);
  for (const nlohmann::json& one : d["of"]) {
    CAPTURE(one["name"].dump());
    CHECK(one["places"].size() == 16);
    for (int row = 0; row < 16; ++row)
      for (int chunk = 0; chunk < 16; ++chunk)
        CHECK(one["places"][row][chunk] == lab::swizzled<64>(row, 8 * chunk) / 8);
    CHECK(one["starts"][0] == 0);
  }
}

TEST_CASE("results: committed layouts: the swizzle's address is the exclusive or of its bits") {
  struct Rows64 {
    enum { LD = 64 };
  };
  const nlohmann::json bits = nlohmann::json::parse(read(RESULTS / "layouts.json"))["swizzle_bits"];
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 64; ++column) {
      int address = 0;
      for (int bit = 0; bit < 6; ++bit)
        address ^=
            (row >> bit & 1) * bits["row"][bit].get<int>() ^ (column >> bit & 1) * bits["column"][bit].get<int>();
      CHECK(address == lab::swizzled<Rows64>(row, column) * 2);
    }
}

TEST_CASE("results: the committed ldmatrix: plain rows conflict, and the kernel's own addresses do not") {
  const nlohmann::json d = nlohmann::json::parse(read(RESULTS / "ldmatrix.json"));
  CHECK(d["schema"] == "ldmatrix-1");
  CHECK(d["rows"].size() == 32);
  CHECK(d["columns"].size() == 32);
  std::map<std::string, nlohmann::json> how;
  for (const nlohmann::json& b : d["banks"]) how[b["how"]] = b;
  REQUIRE(how.size() == 3);
  CHECK(how["plain"]["turns"] == 32);
  CHECK(how["padded"]["turns"] == how["padded"]["least"]);
  CHECK(how["kernel"]["turns"] == how["kernel"]["least"]);
  CHECK(how["kernel"]["pitch"] == how["plain"]["pitch"]);
}

}  // namespace
