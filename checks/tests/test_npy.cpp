// .npy files: what is written is what NumPy writes, and whatever is wrong with a file is said in one line.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <utility>
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

// A file of 24 values, 0.0 and up in steps of one in the bits, unless told otherwise.
std::string file(const std::string& header, std::size_t data_bytes = 48, const std::string& version = {1, 0}) {
  std::string bytes = "\x93NUMPY" + version;
  bytes += {char(header.size() & 0xFF), char(header.size() >> 8)};
  bytes += header;
  for (std::size_t i = 0; i < data_bytes; ++i) bytes += char(i % 2 ? 0 : i / 2);
  return bytes;
}
std::string dict(const std::string& shape, const std::string& descr = "'<f2'", const std::string& fortran = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}
const std::string GOOD = dict("(1, 2, 3, 4)");

// The answer of read_npy() to these bytes: "" if it takes them, else one line without the file's name.
std::string complaint(const Folder& folder, const std::string& bytes) {
  folder.write("x.npy", bytes);
  const std::string line = complaint_of([&] {
    const NpyTensor tensor = read_npy(folder / "x.npy");
    const auto [B, H, S, D] = tensor.shape;
    if (std::size_t(B) * H * S * D != tensor.values.size()) FAIL("accepted with a shape that its values do not fill");
  });
  if (line.empty()) return "";
  CHECK(line.starts_with(folder / "x.npy: "));
  CHECK(std::ranges::none_of(line, [](char c) { return (c >= 0 && c < ' ') || c == 127; }));
  return line.substr((folder / "x.npy: ").size());
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
  CHECK(folder.read("a.npy") == expected);
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
    CHECK(folder.read("a.npy").size() % 64 == 0);  // 131,072 bytes of data after a header of whole 64s
  }
  CHECK(folder.entries() == 1);
  struct stat info {};
  REQUIRE(stat((folder / "a.npy").c_str(), &info) == 0);
  const mode_t mask = umask(0);
  umask(mask);
  CHECK((info.st_mode & 0777) == (0666 & ~mask));
}

TEST_CASE("npy: headers that NumPy would read as well, and files that are wrong") {
  const Folder folder;
  for (const std::string& header :
       {GOOD, std::string("{'shape':(1,2,3,4),'fortran_order':False,'descr':'<f2'}"),
        std::string("  { 'fortran_order' : False ,\t'shape' : ( 1 , 2 , 3 , 4 , ) , 'descr' : '<f2' , }   \n"),
        std::string("{'descr': '<f2', 'fortran_order': False,\n 'shape': (1, 2,\n 3, 4), }")})
    CHECK_MESSAGE(complaint(folder, file(header)) == "", header);
  CHECK(read_npy(folder / "x.npy").shape == std::array{1, 2, 3, 4});
  CHECK(read_npy(folder / "x.npy").values[23].bits == 23);

  std::string longer = file(GOOD);
  longer[8] = 127;
  const std::string zip = "PK\x03\x04 a zip, as .npz is", f4 = "its type is '<f4'; the lab takes '<f2' (fp16: x.as",
                    dimensions = "; the lab takes four whole numbers from 1, (B, H, S, D)";
  const std::pair<std::string, std::string> wrong[] = {
      {"", "not a .npy file"},
      {"\x93NUMP", "not a .npy file"},
      {zip, "not a .npy file"},
      {file(GOOD, 48, {2, 0}), "not a .npy file of version 1.0"},
      {longer, "truncated in its header"},
      {file(std::string(1001, ' ')), "its header has 1001 bytes"},
      {file(GOOD, 47), "truncated: 47 bytes of data, its shape (1, 2, 3, 4) needs 48"},
      {file(GOOD, 0), "truncated: 0 bytes"},
      {file(GOOD, 49), "too long: 49 bytes"},
      {file(dict("(1, 2, 3, 4)", "'<f2'", "True")), "not in C order"},
      {file(dict("(1, 2, 3, 4)", "'<f4'"), 96), f4},
      {file(dict("(1, 2, 3, 4)", "[('a', '<f2')]")), "its type is ''"},
      {file(dict("(1, 2, 3, 4)", "'a\nb\x1b[31m'")), "its type is 'a?b?[31m'"},
      {file(dict("(24,)")), "its shape is (24,)" + dimensions},
      {file(dict("(1, -2, -3, 4)")), "its shape is (1, -2, -3, 4)" + dimensions},
      {file(dict("(1, 2, 3.0, 4)")), "its shape is (1, 2, 3.0, 4)"},
      {file(dict("(1, 2, 0, 4)"), 0), "its shape is (1, 2, 0, 4)"},
      {file(dict("(1, 2, 3, 18446744073709551620)")), "its shape is (1, 2, 3, 1844"},  // 2^64 + 4
      {file(dict("(65536, 65536, 65536, 65536)"), 0), "its shape is (65536, 65536"},   // 2^64: zero if it wrapped
      {file(dict("(65536, 65536, 65536, 16384)"), 0), "truncated: 0 bytes"},           // 2^62
      {file(dict("[1, 2, 3, 4]")), "its shape is ;"},
      {file("{'descr': '<f2', 'fortran_order': False, }"), "its shape is ;"},
      {file("{'descr': '<f2', 'shape': (1, 2, 3, 4)}"), "not in C order"},
      {file("nothing of it"), "its type is ''"}};
  for (const auto& [bytes, said] : wrong) CHECK_MESSAGE(complaint(folder, bytes).starts_with(said), said);
}

TEST_CASE("npy: every truncation is refused, and no mutation does worse") {
  const Folder folder;
  const std::string good = file(GOOD);
  for (std::size_t size = 0; size < good.size(); ++size) CHECK(complaint(folder, good.substr(0, size)) != "");
  std::mt19937 random(1);
  int accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string mutant = good;
    for (unsigned n = 1 + random() % 4; n > 0; --n) {
      const std::size_t where = random() % mutant.size();
      const char some[] = {char(random()), "{}()[],:'\"0123456789-TF <f2\n\\"[random() % 29]};
      mutant.replace(where, random() % 3, some, random() % 3);
    }
    accepted += complaint(folder, mutant).empty();
  }
  CHECK(accepted > 0);  // changed values are fine
}

TEST_CASE("npy: what is no readable file") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(read_npy("/no/such\nfile"), "/no/such?file: cannot be opened: No such file or directory",
                       BadInput);
  CHECK_THROWS_WITH_AS(read_npy(folder.root), (folder.root.string() + ": not a regular file").c_str(), BadInput);
  const std::string fifo = folder / "fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(read_npy(fifo), (fifo + ": not a regular file").c_str(), BadInput);
  // A huge file is refused by its header, not loaded first.
  folder.write("sparse.npy", file(GOOD));
  std::error_code error;
  fs::resize_file(folder / "sparse.npy", std::uintmax_t(1) << 40, error);
  if (error) return;  // a file system without sparse files of that size
  CHECK_THROWS_WITH_AS(read_npy(folder / "sparse.npy"), doctest::Contains("too long: 10995116"), BadInput);
}

TEST_CASE("npy: a failed write leaves nothing behind and the old file alone") {
  const Folder folder;
  const std::vector<fp16> old(24, fp16{0x3C00}), values(1 << 18, fp16{0x4000});
  const std::string path = folder / "a.npy";
  write_npy(path, {1, 2, 3, 4}, old);
  const std::string before = folder.read("a.npy");
  const auto fails = [&](const std::string& where) {
    return complaint_of([&] { write_npy(where, {1, 1, 4096, 64}, values); });
  };
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{65536, limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string no_room = fails(path);
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  CHECK(no_room == path + ": cannot be written: File too large");
  CHECK(has(fails(folder / "no/b.npy"), "cannot be written: No such file"));
  fs::create_directory(folder / "dir");
  CHECK(has(fails(folder / "dir"), "cannot be written: Is a directory"));
  fs::remove(folder / "dir");
  CHECK(folder.read("a.npy") == before);
  CHECK(folder.entries() == 1);
  write_npy(path, {1, 1, 4096, 64}, values);  // and it is replaced when all goes well
  CHECK(read_npy(path).values == values);
  CHECK(folder.entries() == 1);
}
