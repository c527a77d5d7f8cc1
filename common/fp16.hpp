// IEEE binary16 as plain bits, in software, or by F16C where the compiler may use it (kernels on the CPU). Host code and the CPU
// backend's __half both use it: without F16C, g++ turns _Float16 arithmetic into library calls that are about 40 times slower.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

namespace lab {

// 16 bits of an fp16 value; the tensor element type of the whole lab.
struct fp16 {
  std::uint16_t bits = 0;
  bool operator==(const fp16&) const = default;  // compares bits: NaN equals the same NaN
};

inline constexpr fp16 FP16_NAN{0xFFFF};  // what poisoned buffers are filled with

// fp16 -> fp32, exact (subnormals, infinities and NaN payloads included; F16C makes a signalling NaN quiet).
constexpr float to_float(fp16 h) {
#ifdef __F16C__
  if (!std::is_constant_evaluated()) {
    using Halves = short __attribute__((vector_size(16)));
    return __builtin_ia32_vcvtph2ps(Halves{short(h.bits)})[0];
  }
#endif
  const std::uint32_t sign = std::uint32_t(h.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = std::uint32_t(h.bits & 0x7FFFu) << 13;  // exponent and mantissa in fp32 place
  const std::uint32_t exponent = magnitude & 0x0F800000u;
  if (exponent == 0x0F800000u) return std::bit_cast<float>(sign | magnitude | 0x7F800000u);  // Inf, NaN
  if (exponent == 0) {  // zero or subnormal: the fp32 subtraction renormalises exactly
    constexpr std::uint32_t two_to_minus_14 = 113u << 23;
    const float f = std::bit_cast<float>(magnitude | two_to_minus_14) - std::bit_cast<float>(two_to_minus_14);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(f) | sign);
  }
  return std::bit_cast<float>(sign | (magnitude + ((127u - 15u) << 23)));
}

// fp32 -> fp16, round to nearest even; overflow gives infinity, NaN stays NaN: the same one, or one of all.
constexpr fp16 to_fp16(float value, bool one_nan = false) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint16_t sign = std::uint16_t((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u && one_nan) return {0x7FFF};
  if (magnitude > 0x7F800000u) return {std::uint16_t(sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu))};
#ifdef __F16C__
  if (!std::is_constant_evaluated()) {
    using Floats = float __attribute__((vector_size(16)));
    return {std::uint16_t(__builtin_ia32_vcvtps2ph(Floats{value}, 0)[0])};
  }
#endif
  if (magnitude >= 0x47800000u) return {std::uint16_t(sign | 0x7C00u)};  // |value| >= 2^16
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 lets the fp32 adder round to a multiple of 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {std::uint16_t(sign | (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5f)))};
  }
  // A carry out of the mantissa moves into the exponent, up to infinity, as it should.
  const std::uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
  return {std::uint16_t(sign | ((rounded - ((127u - 15u) << 23)) >> 13))};
}

// cvt.rn.f16.f32, __float2half.
constexpr fp16 converted_by_gpu(float value) { return to_fp16(value, true); }

}  // namespace lab
