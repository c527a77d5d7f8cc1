#include "reference/inputs.hpp"

#include <cmath>
#include <numbers>
#include <string>
#include <thread>

#include "reference/bad_input.hpp"

namespace lab {
namespace {

constexpr double PEAK = 2.7;  // of q and k: q·k/sqrt(D) has standard deviation PEAK^2 = 7.3, so 4 sigma is about 30
// Moves all scores of a row by OFFSET * sum(q)/sqrt(D), of deviation OFFSET. exp overflows fp32 at 88: one row in five
// has no answer without the max subtraction, so that a sample of tiles cannot miss it.
constexpr double OFFSET = 100.0;

std::uint64_t hash(std::uint64_t x) {  // the finaliser of splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

double uniform(std::uint64_t seed, std::uint64_t tensor, std::uint64_t index) {  // (0, 1)
  const std::uint64_t bits = hash(hash(seed + 0x9E3779B97F4A7C15ull * (tensor + 1)) + 0x9E3779B97F4A7C15ull * index);
  return (double(bits >> 11) + 0.5) * 0x1p-53;
}

// Two normal numbers for each even index.
template <class Make>
void fill(std::vector<fp16>& tensor, std::size_t size, std::uint64_t seed, std::uint64_t id, Make make) {
  tensor.resize(size);
  const auto part = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i += 2) {
      const double radius = std::sqrt(-2 * std::log(uniform(seed, id, i)));
      const double angle = 2 * std::numbers::pi * uniform(seed, id, i + 1);
      tensor[i] = to_fp16(float(make(radius * std::cos(angle))));
      if (i + 1 < size) tensor[i + 1] = to_fp16(float(make(radius * std::sin(angle))));
    }
  };
  const std::size_t half = size / 4 * 2;
  std::thread other(part, 0, half);
  part(half, size);
  other.join();
}

}  // namespace

const char* name(Family family) {
  constexpr const char* NAMES[] = {"notes", "unit", "peaked", "offset", "impulse"};
  return NAMES[int(family)];
}

Family family_named(std::string_view wanted) {
  std::string names;
  for (const Family family : FAMILIES) {
    if (wanted == name(family)) return family;
    names += std::string(" ") + name(family);
  }
  throw BadInput("unknown inputs '" + std::string(wanted) + "'; there are" + names);
}

Inputs make_inputs(Family family, const Shape& shape, std::uint64_t seed) {
  const double qk = family == Family::notes ? 0.1 : family == Family::peaked ? PEAK : 1.0;
  const double offset = family == Family::offset ? OFFSET : 0.0;
  Inputs in;
  const std::size_t size = shape.elements();
  fill(in.q, size, seed, 0, [&](double x) { return qk * x; });
  fill(in.k, size, seed, 1, [&](double x) { return qk * x + offset; });
  if (family == Family::impulse) {
    in.v.assign(size, fp16{0});
    for (std::size_t row = 0; row < shape.rows(); ++row) in.v[row * shape.D + row % shape.S % shape.D] = to_fp16(1.0f);
  } else {
    fill(in.v, size, seed, 2, [&](double x) { return (family == Family::notes ? 0.1 : 1.0) * x; });
  }
  return in;
}

}  // namespace lab
