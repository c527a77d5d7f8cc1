#include "checks/tests/test_rounding_kernels.hpp"

#include <cuda_runtime.h>

namespace lab::rounding_kernels {

float product_and_sum(float a, float b, float c) { return a * b + c; }
void sums(float (&sums)[8], const float (&a)[8], float b) {
  for (int i = 0; i < 8; ++i) sums[i] += a[i] * b;
}
float fused(float a, float b, float c) { return fmaf(a, b, c); }

}  // namespace lab::rounding_kernels
