// .npy files: what is written is what NumPy writes, and whatever is wrong with a file is said in one line.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "checks/tests/scratch.hpp"
#include "reference/bad_input.hpp"
#include "reference/npy.hpp"

namespace {
using namespace lab;
namespace fs = std::filesystem;

struct Folder : Scratch {
  Folder() : Scratch("npy") {}
  std::string operator/(const std::string& name) const { return path(name); }
  std::size_t entries() const {
    return std::size_t(std::distance(fs::directory_iterator(root), fs::directory_iterator()));
  }
};

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_bytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

constexpr const char* NAME = "x.npy";
NpyTensor parse(const std::string& bytes) { return parse_npy(std::as_bytes(std::span(bytes)), NAME); }

// A file of 24 values, 0.0 and up in steps of one in the bits, unless told otherwise.
std::string file(const std::string& header, std::size_t data_bytes = 48, int major = 1, int minor = 0) {
  std::string bytes = "\x93NUMPY";
  bytes += {char(major), char(minor), char(header.size() & 0xFF), char(header.size() >> 8)};
  if (major != 1) bytes += {char(header.size() >> 16), char(header.size() >> 24)};
  bytes += header;
  for (std::size_t i = 0; i < data_bytes; ++i) bytes += char(i % 2 ? 0 : i / 2);
  return bytes;
}
std::string dict(const std::string& shape, const std::string& descr = "'<f2'", const std::string& fortran = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}
const std::string GOOD = dict("(1, 2, 3, 4)");

// Refused, in one line that names the file and has `piece`.
void check_refused(const std::string& bytes, const std::string& piece) {
  CAPTURE(piece);
  try {
    parse(bytes);
    FAIL_CHECK("accepted");
  } catch (const BadInput& bad) {
    const std::string line = bad.what();
    CAPTURE(line);
    CHECK(line.rfind("x.npy: ", 0) == 0);
    CHECK(line.find(piece) != line.npos);
    CHECK(std::none_of(line.begin(), line.end(), [](char c) { return (c >= 0 && c < ' ') || c == 127; }));
    CHECK(line.size() < 500);
  }
}

}  // namespace

TEST_CASE("npy: the bytes are NumPy's") {
  const Folder folder;
  const std::vector<fp16> values = {{0x3C00}, {0xFFFF}, {0x7C00}, {0x8000}, {0x0001}, {0xABCD}};
  write_npy(folder / "a.npy", {1, 1, 2, 3}, values);
  // np.save of the same array, NumPy 2.4.6.
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 1, 2, 3), }";
  expected.resize(127, ' ');
  expected += '\n';
  for (const fp16 h : values) expected += {char(h.bits & 0xFF), char(h.bits >> 8)};
  CHECK(read_bytes(folder / "a.npy") == expected);
}

TEST_CASE("npy: what is written is read back, every bit pattern included") {
  const Folder folder;
  std::vector<fp16> values(65536);
  for (std::size_t i = 0; i < values.size(); ++i) values[i].bits = std::uint16_t(i);
  for (const std::array<int, 4>& shape :
       {std::array{1, 8, 128, 64}, {2, 4, 64, 128}, {65536, 1, 1, 1}, {1, 1, 1, 65536}}) {
    write_npy(folder / "a.npy", shape, values);
    const NpyTensor tensor = read_npy(folder / "a.npy");
    CHECK(tensor.shape == shape);
    CHECK(tensor.values == values);
    CHECK(read_bytes(folder / "a.npy").size() % 64 == 0);  // 131,072 bytes of data after a header of whole 64s
  }
  CHECK(folder.entries() == 1);
  struct stat info {};
  REQUIRE(stat((folder / "a.npy").c_str(), &info) == 0);
  const mode_t mask = umask(0);
  umask(mask);
  CHECK((info.st_mode & 0777) == (0666 & ~mask));
}

TEST_CASE("npy: headers that NumPy would read as well") {
  for (const std::string& header : {
           GOOD,
           std::string("{'shape':(1,2,3,4),'fortran_order':False,'descr':'<f2'}"),
           std::string("{\"descr\": \"<f2\", \"fortran_order\": False, \"shape\": (1, 2, 3, 4)}"),
           std::string("  { 'fortran_order' : False ,\t'shape' : ( 1 , 2 , 3 , 4 , ) , 'descr' : '<f2' , }   \n"),
           std::string("{'descr': '<f2', \"fortran_order\": False,\n 'shape': (1, 2,\n 3, 4), }"),
       })
    for (const int major : {1, 2}) {
      CAPTURE(header);
      const NpyTensor tensor = parse(file(header, 48, major));
      CHECK(tensor.shape == std::array{1, 2, 3, 4});
      REQUIRE(tensor.values.size() == 24);
      for (int i = 0; i < 24; ++i) CHECK(tensor.values[i].bits == i);
    }
}

TEST_CASE("npy: malformed files") {
  for (const std::string& bytes : {std::string(), std::string("\x93NUMP"), std::string("\x93numpy\x01"),
                                   std::string("PK\x03\x04 a zip, as .npz is")})
    check_refused(bytes, "not a .npy file");
  check_refused(file(GOOD, 48, 3), "version 3.0; the lab reads 1.0 and 2.0");
  for (const auto& [major, minor] : {std::pair(0, 0), {1, 1}, {255, 255}})
    check_refused(file(GOOD, 48, major, minor), "version " + std::to_string(major) + "." + std::to_string(minor));
  std::string huge = file(GOOD, 48, 2), longer = file(GOOD);
  for (int i = 8; i < 12; ++i) huge[i] = '\xFF';
  longer[8] = longer[9] = '\xFF';
  check_refused(huge, "claims 4294967295 bytes");
  check_refused(longer, "truncated in its header");
  check_refused(file(GOOD, 47), "truncated: 47 bytes of data, its shape (1,2,3,4) needs 24 x 2");
  check_refused(file(GOOD, 0), "truncated");
  for (const int bytes : {49, 50}) check_refused(file(GOOD, bytes), "too long: " + std::to_string(bytes) + " bytes");

  using Rows = std::initializer_list<std::pair<std::string, const char*>>;
  for (const auto& [order, piece] : Rows{{"True", "Fortran order; the lab takes C order"},
                                         {"0", "neither True nor False"},
                                         {"Falsehood", "malformed"}})
    check_refused(file(dict("(1, 2, 3, 4)", "'<f2'", order)), piece);
  check_refused(file(dict("(1, 2, 3, 4)", "'<f4'"), 96),
                "type is '<f4'; the lab takes '<f2' (fp16: x.astype(np.float16))");
  for (const auto& [type, piece] : Rows{{"'>f2'", "type is '>f2'"},
                                        {"''", "type is ''"},
                                        {"[('a', '<f2')]", "not a plain type"},
                                        {"'" + std::string(1000, 'f') + "'", "type is 'ffff"},
                                        {"'a\nb\x1b[31m'", "type is 'a?b?[31m'"}})
    check_refused(file(dict("(1, 2, 3, 4)", type)), piece);
  std::string many = "(";
  for (int i = 0; i < 100; ++i) many += "1,";
  for (const auto& [shape, piece] : Rows{{"(24,)", "shape (24) has 1 dimensions"},
                                         {"(2, 3, 4)", "shape (2,3,4) has 3 dimensions"},
                                         {many + ")", "more than 32 dimensions"},
                                         {"(1, -2, -3, 4)", "negative"},
                                         {"(1, 2, 3, 18446744073709551620)", "over 2147483647"},  // 2^64 + 4
                                         {"(1, 2, 3.0, 4)", "malformed"},
                                         {"(1, 2, x, 4)", "whole numbers"},
                                         {"[1, 2, 3, 4]", "malformed"},
                                         {"(1, 2, 3, 4", ""}})
    check_refused(file(dict(shape)), piece);
  for (const auto& [shape, piece] : Rows{{"()", "has 0 dimensions; the lab takes 4, [B,H,S,D]"},
                                         {"(1, 2, 0, 4)", "has a zero"},
                                         {"(65536, 65536, 65536, 65536)", "too large"},  // 2^64: zero if it wrapped
                                         {"(65536, 65536, 65536, 32768)", "truncated"},  // 2^63: twice that wraps
                                         {"(1073741824, 1073741824, 8, 1)", "truncated"}})
    check_refused(file(dict(shape), 0), piece);
  const std::string order = "'fortran_order': False", shape = "'shape': (1, 2, 3, 4)", all = order + ", " + shape + "}";
  for (const auto& [header, piece] : Rows{{"", "malformed"},
                                          {"{'descr': '<f2', " + order + ", }", "lacks descr, fortran_order or shape"},
                                          {"{" + all, "lacks"},
                                          {"{'descr': '<f2', " + shape + "}", "lacks"},
                                          {"{'descr': '<f2', 'descr': '<f2', " + all, "repeated key 'descr'"},
                                          {"{'order': 1}", "unexpected or repeated key 'order'"},
                                          {"{'" + std::string(5000, 'k') + "': 1}", "key 'kkkk"},
                                          {"{'descr': '<f2' " + all, "malformed"},
                                          {"{'descr: 1}", "a string has no end"},
                                          {"['descr']", "malformed"},
                                          {GOOD + std::string(1, '\0'), "goes on after the dict"},
                                          {"{'a\r\nb': 1}", "key 'a??b'"}})
    check_refused(file(header), piece);
}

TEST_CASE("npy: every truncation is refused, and no mutation does worse") {
  for (const int major : {1, 2}) {
    const std::string good = file(GOOD, 48, major);
    for (std::size_t size = 0; size < good.size(); ++size) {
      // A buffer of that size on the heap: a sanitizer sees a read past it.
      const std::vector<std::byte> cut((const std::byte*)good.data(), (const std::byte*)good.data() + size);
      CHECK_THROWS_AS(parse_npy(cut, NAME), BadInput);
    }
    std::mt19937 random(major);
    int accepted = 0;
    for (int round = 0; round < 20000; ++round) {
      std::string mutant = good;
      for (unsigned n = 1 + random() % 4; n > 0; --n) {
        const std::size_t where = random() % mutant.size();
        switch (random() % 4) {
          case 0:
            mutant[where] = char(random());
            break;
          case 1:
            mutant[where] = "{}()[],:'\"0123456789-TF <f2\n\\"[random() % 29];
            break;
          case 2:
            mutant.erase(where, 1 + random() % 3);
            break;
          case 3:
            mutant.insert(where, mutant.substr(random() % mutant.size(), random() % 8));
            break;
        }
        if (mutant.empty()) mutant = "x";
      }
      try {
        const NpyTensor tensor = parse(mutant);
        std::size_t elements = 1;
        for (const int extent : tensor.shape) elements *= std::size_t(extent);
        if (elements != tensor.values.size()) FAIL("accepted with a shape that its values do not fill");
        ++accepted;
      } catch (const BadInput&) {
      }
    }
    CHECK(accepted > 0);  // changed values are fine
  }
}

TEST_CASE("npy: what is no readable file") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(read_npy("/no/such.npy"), "/no/such.npy: cannot be opened: No such file or directory", BadInput);
  CHECK_THROWS_WITH_AS(read_npy(folder.root), (folder.root.string() + ": not a regular file").c_str(), BadInput);
  const std::string fifo = folder / "fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(read_npy(fifo), (fifo + ": not a regular file").c_str(), BadInput);
  write_bytes(folder / "bad.npy", file(GOOD, 46));
  CHECK_THROWS_WITH_AS(
      read_npy(folder / "bad.npy"),
      ((folder / "bad.npy") + ": truncated: 46 bytes of data, its shape (1,2,3,4) needs 24 x 2").c_str(), BadInput);
  CHECK_THROWS_WITH_AS(read_npy("/no/such\nfile"), "/no/such?file: cannot be opened: No such file or directory",
                       BadInput);
}

TEST_CASE("npy: a huge file is refused by its header, not loaded first") {
  const Folder folder;
  const std::string path = folder / "sparse.npy";
  write_bytes(path, file(GOOD));
  std::error_code error;
  fs::resize_file(path, std::uintmax_t(1) << 40, error);
  if (error) return;  // a file system without sparse files of that size
  CHECK_THROWS_WITH_AS(read_npy(path), doctest::Contains("too long: 10995116"), BadInput);
}

TEST_CASE("npy: a failed write leaves nothing behind and the old file alone") {
  const Folder folder;
  const std::vector<fp16> old(24, fp16{0x3C00}), values(1 << 18, fp16{0x4000});
  const std::string path = folder / "a.npy";
  write_npy(path, {1, 2, 3, 4}, old);
  const std::string before = read_bytes(path);
  SUBCASE("values that do not fill the shape") {
    CHECK_THROWS_WITH_AS(write_npy(path, {1, 2, 3, 5}, old),
                         doctest::Contains("24 values do not fill the shape (1, 2, 3, 5)"), BadInput);
    CHECK_THROWS_AS(write_npy(path, {-1, -2, 3, 4}, old), BadInput);
    CHECK_THROWS_AS(write_npy(path, {0, 2, 3, 4}, std::span<const fp16>()), BadInput);
  }
  SUBCASE("no room") {
    rlimit limit{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{65536, limit.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    std::string message;
    try {
      write_npy(path, {1, 1, 4096, 64}, values);
    } catch (const BadInput& bad) {
      message = bad.what();
    }
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, handler);
    CHECK(message == path + ": cannot be written: File too large");
  }
  SUBCASE("no such directory") {
    CHECK_THROWS_WITH_AS(write_npy(folder / "no/b.npy", {1, 2, 3, 4}, old),
                         doctest::Contains("cannot be written: No such file"), BadInput);
  }
  SUBCASE("the target is a directory") {
    fs::create_directory(folder / "dir");
    CHECK_THROWS_WITH_AS(write_npy(folder / "dir", {1, 2, 3, 4}, old),
                         doctest::Contains("cannot be written: Is a directory"), BadInput);
    fs::remove(folder / "dir");
  }
  CHECK(read_bytes(path) == before);
  CHECK(folder.entries() == 1);
  write_npy(path, {1, 1, 4096, 64}, values);  // and it is replaced when all goes well
  CHECK(read_npy(path).values == values);
  CHECK(folder.entries() == 1);
}
