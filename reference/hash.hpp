// Hashes and random numbers that are the same on every machine, unlike those of the standard library.
#pragma once
#include <cstdint>

namespace lab {

constexpr std::uint64_t GOLDEN = 0x9E3779B97F4A7C15ull;  // 2^64 / the golden ratio: SplitMix64's step

constexpr std::uint64_t mixed(std::uint64_t x) {  // the finaliser of SplitMix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mixed(state_ += GOLDEN); }

 private:
  std::uint64_t state_;
};

// FNV-1a, a step for each unit of the data: bytes, halves or words.
constexpr std::uint64_t FNV_START = 0xCBF29CE484222325ull;
constexpr std::uint64_t fnv1a(std::uint64_t hash, std::uint64_t unit) { return (hash ^ unit) * 0x100000001B3ull; }

}  // namespace lab
