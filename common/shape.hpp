// The size of one attention problem. Tensors are contiguous [B, H, S, D].
#pragma once
#include <cstddef>

namespace lab {

struct Shape {
  int B = 1;            // batch
  int H = 1;            // heads
  int S = 1;            // sequence length, the same for queries and keys
  int D = 64;           // head dimension; the stages take 64 and 128
  bool causal = false;  // query row i sees keys 0..i only

  constexpr std::size_t rows() const { return std::size_t(B) * H * S; }
  constexpr std::size_t elements() const { return rows() * D; }
  bool operator==(const Shape&) const = default;
};

}  // namespace lab
