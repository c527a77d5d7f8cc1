// CUDA's half for g++: software binary16 (common/fp16.hpp).
#pragma once
#include "common/fp16.hpp"
#include "cuda_runtime.h"
#include "rounded_arithmetic.h"

struct __half : lab::rounded::RoundedArithmetic<__half> {
  std::uint16_t bits;
  __half() = default;
  __half(float value) : bits(lab::converted_by_gpu(value).bits) {}
  operator float() const { return lab::to_float({bits}); }
};
struct alignas(4) __half2 {
  __half x, y;
};
using half = __half;
using half2 = __half2;

inline float __half2float(half h) { return h; }
inline half __float2half(float f) { return half(f); }
inline half __float2half_rn(float f) { return half(f); }
inline half2 __floats2half2_rn(float a, float b) { return {half(a), half(b)}; }
inline float2 __half22float2(half2 h) { return {float(h.x), float(h.y)}; }
