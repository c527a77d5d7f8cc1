// The result of an H200's tensor core from fp16 operands and an fp32 accumulator, bit for bit.
//
// A dot product is taken in blocks of 16 products, and each block is added to the accumulator in one step:
//   1. Products are exact, and stay unnormalised: a product's exponent is the sum of its factors', whether its
//      significand is below 2 or not. Zero products, and a zero accumulator, take no part.
//   2. All of them are shifted right to the largest exponent and cut off after 25 fraction bits.
//   3. What is left is summed exactly, and the sum is cut off to fp32's 24 bits, towards zero.
// (sm_89 and sm_80 take blocks of 8 and keep 24 bits.)
// Subnormal halves and accumulators count in full. A NaN, inf x 0, or infinities of both signs give the NaN 0x7FFFFFFF.
//
// The model is that of F. Khattak and M. Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (TACO), whose floor of
// 2^-133 under the largest exponent no fp16 input can reach. `make probe what=mma` holds it against a GPU.
#pragma once
#include <cstdint>

#include "common/fp16.hpp"

namespace lab {

inline constexpr int EXTRA_BITS = 2;  // beyond fp32's
inline constexpr std::uint32_t TENSOR_CORE_NAN = 0x7FFFFFFFu;

// c + sum of a[i] b[i] as the tensor core gives it: the definition; mma_tile below is the fast way.
float tensor_core_dot(const fp16 (&a)[16], const fp16 (&b)[16], float c);

// The functions below are there with AVX2 and without, and give the same bits.
bool machine_has_avx2();

// One m16n8k16 product, its operands converted once: value, and exponent (1 - 15 for subnormals, NONE for zero).
class MmaA {
 public:
  void set(const std::uint16_t (&bits)[16][16], bool with_avx2 = machine_has_avx2());  // [row][k]

 private:
  friend void mma_tile(const MmaA&, const class MmaB&, float (&)[16][8], bool);
  alignas(32) std::uint16_t bits_[16][16];
  alignas(32) float value_[16][16];
  alignas(32) std::int16_t exponent_[16][16];
  bool special_[16];  // the row holds an infinity or a NaN
};
class MmaB {
 public:
  void set(const std::uint16_t (&bits)[16][8], bool with_avx2 = machine_has_avx2());  // [k][column]

 private:
  friend void mma_tile(const MmaA&, const MmaB&, float (&)[16][8], bool);
  friend void mma_tile_bf16(const std::uint16_t (&)[16][16], const MmaB&, float (&)[16][8]);
  alignas(32) std::uint16_t bits_[16][8];
  alignas(32) float value_[16][8];
  alignas(32) std::int16_t exponent_[16][8];
  alignas(16) std::uint32_t special_[8];  // all ones where the column does
};
// c += a b; every element equals tensor_core_dot of its row and column.
void mma_tile(const MmaA& a, const MmaB& b, float (&c)[16][8], bool with_avx2 = machine_has_avx2());
// The same where the bits are bfloat16s: exact products, summed as doubles and cut off to a float. A GPU keeps fewer bits
// of the smaller ones.
void mma_tile_bf16(const std::uint16_t (&a)[16][16], const MmaB& b, float (&c)[16][8]);

}  // namespace lab
