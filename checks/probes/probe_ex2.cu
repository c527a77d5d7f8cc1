// Does the CPU give this GPU's bits where the GPU's function units are no IEEE arithmetic (2^x, 1 / x, and what CUDA
// makes of them), and where it converts to half? Five functions, 67 million inputs each
// (checks/probes/special_functions.hpp).
//
//   probe_ex2 [sample=FILE]    on a GPU: make probe what=ex2 check=1. sample=FILE also writes a sample, for the unit tests
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "checks/probes/probe.cuh"
#include "checks/probes/special_functions.hpp"
#include "common/ptx/ex2.cuh"

using namespace lab;
using namespace lab::special_functions;

constexpr std::uint32_t BATCH = 1u << 20;
constexpr int DIFFERENCES_SHOWN = 4;  // of each function, in each family

// results[function][i]
__global__ void compute(const float* inputs, std::uint32_t count, std::uint32_t (*results)[BATCH]) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float x = inputs[i];
  results[0][i] = __float_as_uint(ptx::ex2(x));
  results[1][i] = __float_as_uint(ptx::rcp(x));
  results[2][i] = __float_as_uint(__expf(x));
  results[3][i] = __float_as_uint(__fdividef(3.0f, x));
  results[4][i] = __half_as_ushort(__float2half(x));
}

namespace {

class Gpu {
 public:
  // results[function][i], at most BATCH inputs.
  std::vector<std::uint32_t> results[FUNCTIONS];
  void compute(const std::vector<float>& inputs) {
    const auto count = std::uint32_t(inputs.size());
    probe::must(cudaMemcpy(inputs_, inputs.data(), count * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
    probe::run(::compute, (count + 255) / 256, 256, 0, inputs_, count, results_);
    for (int f = 0; f < FUNCTIONS; ++f) results[f] = probe::from_device(results_[f], count);
  }

 private:
  float* const inputs_ = probe::on_device<float>(nullptr, BATCH);
  std::uint32_t (*const results_)[BATCH] = probe::on_device<std::uint32_t[BATCH]>(nullptr, FUNCTIONS);
};

// Prints the family's lines; how many functions have no difference in it.
int compare(Gpu& gpu, const Family& family) {
  std::uint32_t different[FUNCTIONS] = {};
  std::vector<float> inputs;
  std::printf("%s: %u inputs\n", family.name, family.count);
  for (std::uint32_t first = 0; first < family.count; first += BATCH) {
    inputs.resize(std::min(BATCH, family.count - first));
    for (std::uint32_t i = 0; i < inputs.size(); ++i) inputs[i] = family.input(first + i);
    gpu.compute(inputs);
    for (int f = 0; f < FUNCTIONS; ++f)
      for (std::uint32_t i = 0; i < inputs.size(); ++i) {
        const std::uint32_t here = functions[f].on_cpu(inputs[i]), there = gpu.results[f][i];
        if (here != there && different[f]++ < DIFFERENCES_SHOWN)
          std::printf("  differs: %s, x = %08x: %08x, the CPU says %08x\n", functions[f].name, bits(inputs[i]), there,
                      here);
      }
  }
  for (int f = 0; f < FUNCTIONS; ++f) std::printf("  %-20s %9u differ\n", functions[f].name, different[f]);
  return int(std::count(different, different + FUNCTIONS, 0u));
}

std::string sample_of(Gpu& gpu, const std::string& measured_on) {
  std::string text =
      "# What a GPU gives for the functions and inputs of checks/probes/special_functions.hpp: family, function, "
      "hashes of\n"
      "# " +
      std::to_string(BLOCK) + " results each. Measured on an " + measured_on +
      ", by `make probe what=ex2 sample=...`.\n";
  for (int family = 0; family < FAMILIES; ++family) {
    gpu.compute(sampled_inputs(families[family]));
    for (int f = 0; f < FUNCTIONS; ++f) text += sample_line(family, f, gpu.results[f]);
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  return probe::main_of("probe_ex2", [&] {
    const std::string sample = probe::word_of(argc, argv, "sample");
    cudaDeviceProp device{};
    probe::must(cudaGetDeviceProperties(&device, 0), "no GPU");
    const std::string measured_on = probe::device_line(device);
    std::printf("%s\n", measured_on.c_str());
    Gpu gpu;
    int passed = 0;
    for (const Family& family : families) passed += compare(gpu, family);
    if (!sample.empty()) probe::write_sample(sample, sample_of(gpu, measured_on));
    return probe::finish(passed, FAMILIES * FUNCTIONS - passed);
  });
}
