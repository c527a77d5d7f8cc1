// `make probe what=wgmma` on the CPU: its wgmma and its copy engine do what common/wgmma_layout.hpp and
// checks/probes/box_cases.hpp say, which is what the probe holds a GPU to. And what a tensor map may be.
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "checks/probes/wgmma_sections.cuh"
#include "checks/tests/test_exec.hpp"

using namespace lab;

// As the runner does: a launcher says only that its map was refused, and the reason stays.
extern "C" void lab_refused(const char* why) { set_launch_message(why); }

namespace {

// Written by `make probe what=wgmma sample=...` on an H200; its head is four lines.
const char* const SAMPLE = "reference/wgmma_sample.txt";

}  // namespace

TEST_CASE("wgmma: the probe's products, dot products and boxes, and the bits of a GPU") {
  std::ifstream file(SAMPLE);
  REQUIRE(file.good());
  std::string line;
  for (int i = 0; i < 4; ++i) std::getline(file, line);
  const std::string measured(std::istreambuf_iterator<char>(file), {});
  std::string sample;
  long cases = 0;
  take_exec_report();
  for (const probe::Section& section : wgmma_probe::sections(wgmma_probe::SAMPLED, false)) {
    probe::Tally tally;
    section.work(tally);
    CHECK_MESSAGE((tally.wrong == 0 && tally.cases > 0), section.name << "\n" << tally.report);
    sample += tally.sample, cases += tally.cases;
    const std::string message = take_exec_report().message;
    if (!section.name.starts_with("refused"))
      CHECK_MESSAGE(message.empty(), message);
    else
      CHECK_CONTAINS(message, section.name.find("of no 16 bytes") != section.name.npos ? "a multiple of 8 halves"
                                                                                       : "0 and more is allowed");
  }
  CHECK(cases >= 700 + 1200);
  // Line by line: a report of the whole would be as long as the file.
  std::istringstream ours(sample), theirs(measured);
  int different = 0;
  for (std::string other; std::getline(theirs, line); different += line != other) std::getline(ours, other);
  CHECK(different == 0);
  CHECK(sample.size() == measured.size());
}

// A wrong number of announced bytes, under both ways of counting: each must be one that a GPU may show.
TEST_CASE("copy engine: too few bytes announced end a phase early or never, too many never") {
  for (const Copies copies : {Copies::at_wait, Copies::at_issue, Copies::random})
    for (const box_cases::Case& c : box_cases::announced_cases()) {
      CAPTURE(name(copies));
      const unsigned all = 2 * box_cases::box_halves(c.shape);
      ExecOptions options;
      options.copies = copies;
      set_exec_options(options);
      take_exec_report();
      unsigned bytes = 0;
      for (const unsigned ended : wgmma_probe::announced_once(c)) {
        bytes += box_cases::ANNOUNCED_STEP;
        const bool expected =
            copies == Copies::at_issue ? box_cases::must_end(bytes, all) : box_cases::may_end(bytes, all);
        CHECK_MESSAGE(bool(ended) == expected, bytes << " of " << all << " announced");
      }
      set_exec_options({});
      CHECK_MESSAGE(take_exec_report().message.empty(), "the launch has something to say");
    }
}

TEST_CASE("tensor maps: what the driver would refuse is one line") {
  half* data = nullptr;
  REQUIRE(cudaMalloc(&data, 4096) == cudaSuccess);
  const auto refused = [&](const std::string& text, auto change) {
    TensorShape shape;
    shape.rank = 3, shape.swizzle = Swizzle::b128;
    for (int d = 0; d < 3; ++d) shape.extent[d] = 64, shape.box[d] = 8, shape.stride[d] = d == 0 ? 2 : 128;
    half* base = data;
    change(shape, base);
    take_exec_report();
    if (text.empty())
      wgmma_probe::map_of(base, shape);
    else
      CHECK_THROWS_AS(wgmma_probe::map_of(base, shape), probe::Failed);
    CHECK(take_exec_report().message == text);
  };
  refused("", [](TensorShape&, half*&) {});
  refused("tensor map: rank 0; 1 to 4 are allowed", [](TensorShape& s, half*&) { s.rank = 0; });
  refused("tensor map: a base address that is no multiple of 16", [](TensorShape&, half*& b) { b += 4; });
  refused("tensor map: a base address that is no multiple of 16", [](TensorShape&, half*& b) { b = nullptr; });
  refused("tensor map: extent 0 of dimension 1; 1 to 2^32 are allowed",
          [](TensorShape& s, half*&) { s.extent[1] = 0; });
  refused("tensor map: stride 72 of dimension 2; a multiple of 16 below 2^40 is allowed",
          [](TensorShape& s, half*&) { s.stride[2] = 72; });
  refused("tensor map: box 257 of dimension 1; 1 to 256 are allowed", [](TensorShape& s, half*&) { s.box[1] = 257; });
  refused("tensor map: rows of 8 bytes in the box; a multiple of 16 is allowed",
          [](TensorShape& s, half*&) { s.box[0] = 4; });
  refused("tensor map: rows of 144 bytes in the box; the swizzle has room for 128",
          [](TensorShape& s, half*&) { s.box[0] = 72; });
  refused("tensor map: rows of 48 bytes in the box; the swizzle has room for 32",
          [](TensorShape& s, half*&) { s.box[0] = 24, s.swizzle = Swizzle::b32; });
  cudaFree(data);
}
