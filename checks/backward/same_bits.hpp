// Whether a backward stage's bits depend on the order of its blocks, and whether that is what its stage.conf says.
#pragma once
#include <cstddef>
#include <vector>

#include "common/shape.hpp"

namespace lab {

// same_bits="yes" or "no" of the stage's stage.conf. Throws BadInput for anything else.
bool claims_same_bits();

struct SameBits {
  Shape shape;
  std::size_t launches = 0, outputs = 0;  // how many of these differ from each other
  std::size_t dq = 0, dk = 0, dv = 0;     // the same of each gradient
  double spread = 0;                      // between two outputs of an element, at most
  bool same() const { return outputs == 1; }
};
// `launches` launches; on the CPU each with another order of blocks: ascending, descending, then
// shuffled; every second one lets other blocks go on where it can.
inline constexpr std::size_t SAME_BITS_LAUNCHES = 6;
SameBits count_outputs(const Shape& shape, std::size_t launches = SAME_BITS_LAUNCHES);

// Both claims are held: "yes" to one output on every shape, "no" to several on some shape. Prints a line a shape.
bool holds_its_claim(std::size_t launches);

}  // namespace lab
