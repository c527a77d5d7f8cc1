// The kernels of `make probe-wgmma` on the CPU: its wgmma and its copy engine do what common/wgmma_layout.hpp and
// checks/probes/box_cases.hpp say, which is what the probe holds a GPU to.

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "checks/probes/box_cases.hpp"
#include "checks/probes/wgmma_cases.hpp"
#include "checks/probes/wgmma_kernels.cuh"
#include "checks/tests/test_exec.hpp"
#include "common/emulator/tensor_core.hpp"
#include "common/launch.cuh"

using namespace lab;
using wgmma_cases::Case;

namespace {

struct Ended {
  cudaError_t error;
  std::string message;
};
template <class... Params, class... Args>
Ended ended(const char* name, void (*kernel)(Params...), std::size_t smem, Args... args) {
  take_exec_report();
  REQUIRE(opt_in_smem(name, kernel, smem) == cudaSuccess);
  REQUIRE(launch(name, kernel, 1, 128, smem, nullptr, args...) == cudaSuccess);
  const cudaError_t error = cudaDeviceSynchronize();
  return {error, take_exec_report().message};
}
template <class... Params, class... Args>
void launched(const char* name, void (*kernel)(Params...), std::size_t smem, Args... args) {
  const Ended end = ended(name, kernel, smem, args...);
  REQUIRE_MESSAGE(end.error == cudaSuccess, end.message);
}

}  // namespace

TEST_CASE("wgmma: the probe's descriptors, as the layout says") {
  std::set<std::string> sections;
  for (const Case& c : wgmma_cases::all_cases()) {
    sections.insert(c.section);
    if (c.seed % 3 != 0 && std::string(c.section) != "base offset") continue;  // the GPU takes all of them
    std::vector<float> out(std::size_t(64 * c.n));
    unsigned base = 0;
    launched("product", wgmma_probe::product_kernel(c), wgmma_cases::IMAGE_BYTES, c, out.data(), &base);
    CHECK(base == 1024);
    int wrong = 0;
    for (int thread = 0; thread < 128; ++thread)
      for (int i = 0; i < c.n / 2; ++i) {
        const wgmma_layout::Place at = wgmma_layout::d(thread, i);
        wrong += out[std::size_t(thread * (c.n / 2) + i)] != wgmma_cases::expected(c, base, at.row, at.column);
      }
    CHECK_MESSAGE(wrong == 0, c.section << ": " << wgmma_cases::spelt(c) << ": " << wrong << " wrong");
  }
  CHECK(sections.size() == 8);
}

// Written by `make probe-wgmma sample=...` on an H200.
namespace {

const char* const SAMPLE = "reference/wgmma_sample.txt";

std::vector<std::string> sampled(const std::string& kind) {
  std::ifstream file(SAMPLE);
  REQUIRE(file.good());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kind + " ")) lines.push_back(line.substr(kind.size() + 1));
  return lines;
}

struct MeasuredDot {
  std::uint16_t a[16], b[16];
  std::uint32_t c, result;
};
MeasuredDot measured_dot(const std::string& line) {
  std::istringstream words(line);
  std::string a, b;
  MeasuredDot dot{};
  words >> a >> b >> std::hex >> dot.c >> dot.result;
  REQUIRE(words);
  REQUIRE(a.size() == 64);
  REQUIRE(b.size() == 64);
  for (std::size_t k = 0; k < 16; ++k) {
    dot.a[k] = std::uint16_t(std::stoul(a.substr(4 * k, 4), nullptr, 16));
    dot.b[k] = std::uint16_t(std::stoul(b.substr(4 * k, 4), nullptr, 16));
  }
  return dot;
}

}  // namespace

TEST_CASE("wgmma: the products measured on a GPU, bit for bit") {
  const std::vector<std::string> lines = sampled("case");
  CHECK(lines.size() >= 700);
  int equal = 0;
  for (const std::string& line : lines) {
    std::istringstream words(line);
    Case c{"sample", 0, false, false, false, 0, 0, 0};
    unsigned base = 0, base_here = 0;
    std::uint64_t hash = 0;
    words >> c.n >> c.b_mn_major >> c.a_registers >> c.accumulate >> std::hex >> c.a >> c.b >> std::dec >> c.seed >>
        base >> std::hex >> hash;
    REQUIRE(words);
    std::vector<float> registers(std::size_t(64 * c.n)), d = registers;
    launched("product", wgmma_probe::product_kernel(c), wgmma_cases::IMAGE_BYTES, c, registers.data(), &base_here);
    REQUIRE(base_here == base);
    for (int thread = 0; thread < 128; ++thread)
      for (int i = 0; i < c.n / 2; ++i) {
        const wgmma_layout::Place at = wgmma_layout::d(thread, i);
        d[std::size_t(at.row * c.n + at.column)] = registers[std::size_t(thread * (c.n / 2) + i)];
      }
    const bool same = wgmma_cases::fnv(d) == hash;
    CHECK_MESSAGE(same, wgmma_cases::spelt(c));
    equal += same;
  }
  CHECK(equal == int(lines.size()));
}

TEST_CASE("wgmma: the dot products measured on a GPU, bit for bit, A from shared memory and from registers") {
  const std::vector<std::string> lines = sampled("dot");
  CHECK(lines.size() >= 1000);
  constexpr std::size_t AT_ONCE = 32;  // a dot product is row i and column i of a problem
  int plain_equal = 0;
  for (std::size_t first = 0; first < lines.size(); first += AT_ONCE) {
    std::vector<MeasuredDot> measured;
    for (std::size_t i = first; i < std::min(lines.size(), first + AT_ONCE); ++i)
      measured.push_back(measured_dot(lines[i]));
    wgmma_probe::Dots problem{};
    for (std::size_t i = 0; i < measured.size(); ++i) {
      std::memcpy(problem.a[i], measured[i].a, sizeof problem.a[i]);
      for (int k = 0; k < 16; ++k) problem.b[k][i] = measured[i].b[k];
      problem.c[i][i] = std::bit_cast<float>(measured[i].c);
      fp16 a[16], b[16];
      for (int k = 0; k < 16; ++k) a[k] = {measured[i].a[k]}, b[k] = {measured[i].b[k]};
      plain_equal += std::bit_cast<std::uint32_t>(tensor_core_dot(a, b, problem.c[i][i], 16, TensorCore::fast)) ==
                     measured[i].result;
    }
    for (const bool a_registers : {false, true}) {
      float results[1][64][32];
      launched("dots", a_registers ? wgmma_probe::dots<true> : wgmma_probe::dots<false>, 4096,
               static_cast<const wgmma_probe::Dots*>(&problem), results);
      int wrong = 0;
      for (std::size_t i = 0; i < measured.size(); ++i)
        wrong += std::bit_cast<std::uint32_t>(results[0][i][i]) != measured[i].result;
      CHECK_MESSAGE(wrong == 0, "dot lines from " << first << " on: " << wrong << " wrong");
    }
  }
  CHECK(plain_equal < int(lines.size()) * 9 / 10);  // or the sample would say little
}

TEST_CASE("copy engine: the probe's boxes, half by half") {
  std::vector<unsigned char> image(wgmma_probe::BOX_IMAGE);
  unsigned base = 0, came = 0;
  for (const box_cases::Case& c : box_cases::all_cases()) {
    const wgmma_probe::BoxAt box{
        c.shape.rank, {c.at[0], c.at[1], c.at[2], c.at[3]}, 2 * box_cases::box_halves(c.shape)};
    const std::size_t bytes = box_cases::tensor_bytes(c);
    half* memory = nullptr;
    REQUIRE(cudaMalloc(&memory, bytes) == cudaSuccess);
    auto* const tensor = reinterpret_cast<std::uint16_t*>(memory);
    TensorMap map;
    REQUIRE(make_tensor_map(map, memory, c.shape) == cudaSuccess);

    for (std::size_t i = 0; i < bytes / 2; ++i) tensor[i] = std::uint16_t(1 + i % 65521);
    launched("load_box", wgmma_probe::load_box, wgmma_probe::BOX_IMAGE + 1024, map, box, image.data(), &base, &came);
    CHECK(came == 1);
    std::vector<unsigned char> expected(image.size(), (unsigned char)wgmma_probe::BOX_POISON);
    for (std::uint32_t i = 0; i < box_cases::box_halves(c.shape); ++i) {
      const auto half = box_cases::half_of(c, base, i);
      const std::uint16_t value = half.inside ? tensor[half.global / 2] : 0;
      std::memcpy(&expected[half.shared], &value, 2);
    }
    CHECK_MESSAGE(image == expected, box_cases::spelt(c));

    if (box_cases::storable(c)) {
      std::vector<std::uint16_t> whole(bytes / 2, 0xFFFF);
      std::memset(tensor, 0xFF, bytes);
      launched("store_box", wgmma_probe::store_box, wgmma_probe::BOX_IMAGE + 1024, map, box, &base);
      for (std::uint32_t i = 0; i < box_cases::box_halves(c.shape); ++i)
        if (const auto half = box_cases::half_of(c, base, i); half.inside)
          whole[half.global / 2] = std::uint16_t(half.shared % 251 | (half.shared + 1) % 251 << 8);
      CHECK_MESSAGE(std::memcmp(whole.data(), tensor, bytes) == 0, box_cases::spelt(c));
    }
    cudaFree(memory);
  }
}

// A wrong number of announced bytes, under both ways of counting: each must be one that a GPU may show.
TEST_CASE("copy engine: too few bytes announced end a phase early or never, too many never") {
  for (const Copies copies : {Copies::at_wait, Copies::at_issue, Copies::random})
    for (const box_cases::Case& c : box_cases::announced_cases()) {
      CAPTURE(name(copies));
      const unsigned blocks = box_cases::announced_launches(c), all = 2 * box_cases::box_halves(c.shape);
      half* memory = nullptr;
      REQUIRE(cudaMalloc(&memory, box_cases::tensor_bytes(c)) == cudaSuccess);
      TensorMap map;
      REQUIRE(make_tensor_map(map, memory, c.shape) == cudaSuccess);
      std::vector<unsigned> end(blocks, 2);
      ExecOptions options;
      options.copies = copies;
      set_exec_options(options);
      take_exec_report();
      REQUIRE(launch("announce", wgmma_probe::announce, blocks, 32, wgmma_probe::ANNOUNCED_IMAGE + 2048, nullptr, map,
                     box_cases::ANNOUNCED_STEP, end.data()) == cudaSuccess);
      CHECK(cudaDeviceSynchronize() == cudaSuccess);
      set_exec_options({});
      CHECK_MESSAGE(take_exec_report().message.empty(), "the launch has something to say");
      for (unsigned i = 0; i < blocks; ++i) {
        const unsigned bytes = box_cases::ANNOUNCED_STEP * (i + 1);
        CHECK_MESSAGE(
            end[i] == (copies == Copies::at_issue ? box_cases::must_end(bytes, all) : box_cases::may_end(bytes, all)),
            bytes << " of " << all << " announced");
      }
      cudaFree(memory);
    }
}

TEST_CASE("copy engine: where no box may begin") {
  std::vector<unsigned char> image(wgmma_probe::BOX_IMAGE);
  unsigned base = 0, came = 0;
  constexpr std::size_t SMEM = wgmma_probe::BOX_IMAGE + 1024;
  for (const box_cases::Refused& c : box_cases::refused_cases()) {
    CAPTURE(c.why);
    half* memory = nullptr;
    REQUIRE(cudaMalloc(&memory, box_cases::tensor_bytes(c.box)) == cudaSuccess);
    TensorMap map;
    REQUIRE(make_tensor_map(map, memory, c.box.shape) == cudaSuccess);
    const wgmma_probe::BoxAt box{2, {c.box.at[0], c.box.at[1]}, 2 * box_cases::box_halves(c.box.shape)};
    const Ended end = c.store ? ended("store_box", wgmma_probe::store_box, SMEM, map, box, &base)
                              : ended("load_box", wgmma_probe::load_box, SMEM, map, box, image.data(), &base, &came);
    CHECK(end.error == cudaErrorIllegalInstruction);
    CHECK(end.message.find(c.box.at[0] == 4 ? "a multiple of 8 halves" : "0 and more is allowed") != std::string::npos);
    cudaFree(memory);
  }
}
