// The functions whose bits are a GPU's own, and inputs for them: `make probe what=ex2` compares all of these inputs on a
// GPU, the unit tests a sample of them.
#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "common/emulator/special_functions.hpp"
#include "common/fp16.hpp"
#include "reference/hash.hpp"

namespace lab::special_functions {

inline std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

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
constexpr int FAMILIES = 5;
inline const Family families[FAMILIES] = {
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

// The sample's inputs: evenly spaced in each family, each at an odd place of its share.
inline std::vector<float> sampled_inputs(const Family& family) {
  std::vector<float> inputs(family.sampled);
  const std::uint32_t share = family.count / family.sampled;
  for (std::uint32_t j = 0; j < family.sampled; ++j) inputs[j] = family.input(j * share + mixed(j) % share);
  return inputs;
}

// The sample's file has, for each family and function, a line `FAMILY FUNCTION HASHES` (numbers from 0 on): one FNV-1a
// of each BLOCK results' words.
constexpr std::uint32_t BLOCK = 2048;
inline std::uint64_t hash_of(const std::uint32_t* words, std::uint32_t count) {
  std::uint64_t hash = FNV_START;
  for (std::uint32_t i = 0; i < count; ++i)
    for (int shift = 0; shift < 32; shift += 8) hash = fnv1a(hash, words[i] >> shift & 255);
  return hash;
}
inline std::string sample_line(int family, int function, const std::vector<std::uint32_t>& results) {
  constexpr char DIGITS[] = "0123456789abcdef";
  std::string line = std::to_string(family) + ' ' + std::to_string(function);
  for (std::uint32_t first = 0; first < results.size(); first += BLOCK) {
    const std::uint64_t hash = hash_of(&results[first], BLOCK);
    line += ' ';
    for (int shift = 60; shift >= 0; shift -= 4) line += DIGITS[hash >> shift & 15];
  }
  return line + '\n';
}

}  // namespace lab::special_functions
