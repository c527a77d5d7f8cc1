// Inputs of `mn_major`, and the right answer: a 64 x 48 by 48 x N product.
#include "checks/exercises/drills/drill.hpp"

template <int N>
__global__ void mechanism(const half* in, lab::Swizzle swizzle, float* out);
extern template void mechanism<64>(const half*, lab::Swizzle, float*);
extern template void mechanism<128>(const half*, lab::Swizzle, float*);

namespace {

template <std::size_t N>
lab::Drill of(lab::Swizzle swizzle) {
  constexpr std::size_t M = 64, K = 48;
  lab::Drill d;
  d.name = "N " + std::to_string(N) + ", swizzle " + std::to_string(lab::swizzle_bytes(swizzle));
  d.in = lab::small_numbers((M + N) * K);
  multiply(d, M, N, K, false);
  on_input(d, mechanism<int(N)>, {128, K * N * 2}, swizzle);
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() {
  return {of<64>(Swizzle::b128), of<128>(Swizzle::b128), of<64>(Swizzle::b64), of<64>(Swizzle::none),
          of<128>(Swizzle::none)};
}
