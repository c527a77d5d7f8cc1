// The probes on the CPU: what an H200 gave, bit for bit (checks/probes, each with the sample that it wrote there). And what else the copy
// engine does.
#include <fstream>
#include <iterator>

#include "checks/probes/ex2.cuh"
#include "checks/probes/mma.cuh"
#include "checks/probes/wgmma.cuh"
#include "checks/probes/wmma.cuh"
#include "checks/tests/test_exec.hpp"

using namespace lab;

// As the runner does: a launcher says only that its map was refused, and the reason stays.
extern "C" void lab_refused(const char* why) { set_launch_message(why); }

namespace {

void is_the_gpus(const std::string& path, const std::vector<probe::Section>& sections) {
  std::ifstream file(path);
  const std::string measured(std::istreambuf_iterator<char>(file), {});
  std::string sample;
  take_exec_report();
  for (const probe::Section& section : sections) {
    CAPTURE(section.name);
    probe::Tally tally;
    section.work(tally);
    CHECK_MESSAGE((tally.wrong == 0 && tally.cases > 0), tally.report);
    sample += tally.sample;
    const std::string message = take_exec_report().message;
    if (!section.name.starts_with("refused"))
      CHECK_MESSAGE(message.empty(), message);
    else
      CHECK(message.c_str() == doctest::Contains(section.name.find("of no 16 bytes") != section.name.npos
                                                     ? "a multiple of 8 halves"
                                                     : "0 and more is allowed"));
  }
  REQUIRE(sample.size() > 1000);
  REQUIRE(measured.size() > sample.size());
  const auto [ours, gpus] =
      std::ranges::mismatch(sample, std::string_view(measured).substr(measured.size() - sample.size()));
  CHECK_MESSAGE(ours == sample.end(), std::string(ours, sample.end()).substr(0, 200));
}

}  // namespace

TEST_CASE("special functions: the bits of a GPU") {
  is_the_gpus("reference/special_functions_sample.txt", ex2_probe::sections(false));
}
TEST_CASE("mma: products, ldmatrix and stmatrix, and the bits of a GPU") {
  is_the_gpus("reference/tensor_core_sample.txt", mma_probe::sections(false));
}
TEST_CASE("wgmma: products, dot products and boxes, and the bits of a GPU") {
  is_the_gpus("reference/wgmma_sample.txt", wgmma_probe::sections(false));
}
TEST_CASE("mma: WMMA's fragments are those that an H200 showed") {
  is_the_gpus("writeups/results/h200-wmma-layout.txt", wmma_probe::sections(false));
}

// A wrong number of announced bytes, under both ways of counting: each must be one that a GPU may show.
TEST_CASE("copy engine: too few bytes announced end a phase early or never, too many never") {
  for (const Copies copies : {Copies::at_wait, Copies::at_issue, Copies::random})
    for (const wgmma_probe::Box& c : wgmma_probe::announced_boxes()) {
      CAPTURE(name(copies));
      const unsigned all = 2 * wgmma_probe::box_halves(c.shape);
      ExecOptions options;
      options.copies = copies;
      set_exec_options(options);
      take_exec_report();
      unsigned bytes = 0;
      for (const unsigned ended : wgmma_probe::announced_once(c)) {
        bytes += wgmma_probe::ANNOUNCED_STEP;
        const bool expected =
            copies == Copies::at_issue ? wgmma_probe::must_end(bytes, all) : wgmma_probe::may_end(bytes, all);
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
      CHECK_THROWS_AS(wgmma_probe::map_of(base, shape), CudaError);
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
