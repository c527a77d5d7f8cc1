// Arithmetic as kernels are compiled.
#pragma once

namespace lab::rounding_kernels {

float product_and_sum(float a, float b, float c);           // a * b + c
void sums(float (&sums)[8], const float (&a)[8], float b);  // sums[i] += a[i] * b
float fused(float a, float b, float c);                     // fmaf(a, b, c)

}  // namespace lab::rounding_kernels
