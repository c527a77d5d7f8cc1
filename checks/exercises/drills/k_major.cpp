// Inputs of `k_major`, and the right answer: a 64 x 64 by 64 x 32 product, and the fields of four descriptors.
#include "checks/exercises/drills/drill.hpp"

__global__ void mechanism(const half* in, int swizzle, float* out);

namespace {

lab::Drill of(int swizzle) {
  constexpr std::size_t M = 64, N = 32, K = 64;
  lab::Drill d;
  d.name = "swizzle " + std::to_string(swizzle);
  d.in = lab::small_numbers((M + N) * K);
  multiply(d, M, N, K, true);
  // PTX ISA, "Matrix Descriptor Format": 14 bits of address / 16, of leading / 16, of stride / 16, and two at the top.
  const unsigned tops[] = {0, 3, 2, 1};
  for (unsigned i = 0; i < 4; ++i) {
    d.right.push_back(float((0x7C400 + 16 * i) % 0x40000 / 16)), d.right.push_back(2048 / 16);
    d.right.push_back(float((1024 + 256 * i) / 16)), d.right.push_back(float(tops[i] << 14));
  }
  on_input(d, mechanism, {128, (M + N) * K * 2}, swizzle);
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() { return {of(128), of(64), of(0)}; }
