// make probe what=ex2: does the CPU give this GPU's bits where the GPU's function units are no IEEE arithmetic (2^x, 1 / x, and what CUDA
// makes of them), and where it converts to half? Five functions, 67 million inputs each on a GPU; a sample of them in the unit tests.
#pragma once
#include <cuda_fp16.h>

#include <algorithm>

#include "checks/probes/probe.cuh"
#include "common/emulator/special_functions.hpp"
#include "common/ptx/ex2.cuh"
#include "reference/hash.hpp"

namespace lab::ex2_probe {

using probe::bits, probe::Tally;

constexpr int FROM = 0, TO = 999;
constexpr std::uint32_t BLOCK = 2048;  // results of one hash
inline std::string head(const std::string& gpu) {
  return "# What a GPU gives for the functions and inputs of checks/probes/ex2.cuh: family, function, hashes of\n# " +
         std::to_string(BLOCK) + " results each. Measured on an " + gpu + ", by `make probe what=ex2 sample=...`.\n";
}

struct Function {
  const char* name;
  std::uint32_t (*on_cpu)(float);
};
constexpr int FUNCTIONS = 5;
inline const Function functions[FUNCTIONS] = {
    {"ex2.approx.ftz.f32", [](float x) { return bits(ex2_approx_ftz(x)); }},
    {"rcp.approx.ftz.f32", [](float x) { return bits(rcp_approx_ftz(x)); }},
    {"__expf(x)", [](float x) { return bits(fast_exp(x)); }},
    {"__fdividef(3, x)", [](float x) { return bits(fast_divide(3.0f, x)); }},
    {"__float2half(x)", [](float x) { return std::uint32_t(converted_by_gpu(x).bits); }},
};
constexpr std::uint32_t BATCH = 1u << 20;
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

// A hash whose every bit depends on all of i (the finalizer of MurmurHash3).
inline std::uint32_t mixed(std::uint32_t i) {
  i = (i ^ i >> 16) * 0x85EBCA6Bu;
  i = (i ^ i >> 13) * 0xC2B2AE35u;
  return i ^ i >> 16;
}

struct Family {
  const char* name;
  std::uint32_t count, sampled;     // sampled divides count
  float (*input)(std::uint32_t i);  // i < count
};
inline const Family families[] = {
    {"all mantissas of 1 .. 2 and of -2 .. -1", 1u << 24, 1u << 15,
     [](std::uint32_t i) { return std::bit_cast<float>((i >> 23 << 31) + 0x3F800000u + i % (1u << 23)); }},
    {"all signs and exponents", 1u << 24, 1u << 15,
     [](std::uint32_t i) { return std::bit_cast<float>(i << 8 | mixed(i) % 256); }},
    {"-160 .. 130, evenly", 1u << 25, 1u << 15,
     [](std::uint32_t i) { return float(mixed(i) * (290.0 / 0x1p32) - 160.0); }},
    {"64 floats to each side of -160, -159, .. 159", 320 * 128, 320 * 128,
     [](std::uint32_t i) { return std::bit_cast<float>(bits(float(int(i / 128) - 160)) + i % 128 - 64); }},
    {"64 floats to each side of every power of two", 512 * 128, 512 * 128,
     [](std::uint32_t i) { return std::bit_cast<float>((i / 128 << 23) + i % 128 - 64); }},
};

// results[function][input], all equal to the CPU's.
inline std::vector<std::vector<std::uint32_t>> results_of(const std::vector<float>& inputs, Tally& tally) {
  static auto* const on_device = probe::on_device<std::uint32_t[BATCH]>(nullptr, FUNCTIONS);
  static auto* const inputs_on_device = probe::on_device<float>(nullptr, BATCH);
  const auto count = std::uint32_t(inputs.size());
  check_cuda(cudaMemcpy(inputs_on_device, inputs.data(), count * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
  probe::run(compute, (count + 255) / 256, 256, 0, static_cast<const float*>(inputs_on_device), count, on_device);
  std::vector<std::vector<std::uint32_t>> results;
  for (int f = 0; f < FUNCTIONS; ++f) {
    results.push_back(probe::from_device(on_device[f], count));
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t here = functions[f].on_cpu(inputs[i]), there = results.back()[i];
      tally.add(here == there, [&] {
        return format("%s, x = %08x: %08x, the CPU says %08x", functions[f].name, bits(inputs[i]), there, here);
      });
    }
  }
  return results;
}

inline void family(int number, bool whole, Tally& tally) {
  const Family& family = families[number];
  std::vector<float> inputs;
  for (std::uint32_t first = 0; whole && first < family.count; first += BATCH) {
    inputs.resize(std::min(BATCH, family.count - first));
    for (std::uint32_t i = 0; i < inputs.size(); ++i) inputs[i] = family.input(first + i);
    results_of(inputs, tally);
  }
  // The sample's: evenly spaced, each at an odd place of its share. One FNV-1a of each BLOCK results' words.
  const std::uint32_t share = family.count / family.sampled;
  inputs.resize(family.sampled);
  for (std::uint32_t j = 0; j < family.sampled; ++j) inputs[j] = family.input(j * share + mixed(j) % share);
  const auto results = results_of(inputs, tally);
  for (int f = 0; f < FUNCTIONS; ++f) {
    tally.sample += format("%d %d", number, f);
    for (std::uint32_t first = 0; first < family.sampled; first += BLOCK) {
      std::uint64_t hash = FNV_START;
      for (std::uint32_t i = first; i < first + BLOCK; ++i)
        for (int shift = 0; shift < 32; shift += 8) hash = fnv1a(hash, results[std::size_t(f)][i] >> shift & 255);
      tally.sample += format(" %016llx", (unsigned long long)hash);
    }
    tally.sample += "\n";
  }
}

inline std::vector<probe::Section> sections(bool whole) {
  std::vector<probe::Section> all;
  for (int i = 0; i < int(std::size(families)); ++i)
    all.push_back({families[i].name, [=](Tally& tally) { family(i, whole, tally); }});
  return all;
}

}  // namespace lab::ex2_probe
