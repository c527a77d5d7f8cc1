// The kernels of `make probe-wgmma` on the CPU: its wgmma and its copy engine do what common/wgmma_layout.hpp and
// checks/probes/box_cases.hpp say, which is what the probe holds a GPU to.
#include <doctest/doctest.h>

#include <cstring>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "checks/probes/box_cases.hpp"
#include "checks/probes/wgmma_cases.hpp"
#include "checks/probes/wgmma_kernels.cuh"
#include "checks/tests/test_exec.hpp"
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
