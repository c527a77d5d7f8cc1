// Whether a backward stage's bits depend on the order of its blocks, and whether that is what its stage.conf says.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "checks/acceptance/subject.hpp"

namespace lab {

struct SameBits {
  Shape shape;
  std::size_t launches = 0, outputs = 0;  // how many of these differ from each other
  std::vector<std::size_t> each;          // the same of each of the subject's outputs
  double spread = 0;                      // between two launches, of an element, at most
};
// Of six launches; on the CPU each with a different order of blocks: ascending, descending, then
// shuffled; every second one lets other blocks go on where it can.
SameBits count_outputs(const Subject& subject, const Shape& shape);

// Both claims are held: "yes" to one output on every shape, "no" to several on some shape. `lines`: one a shape, each
// after a new line; `red`: empty where it holds.
struct OrderOfBlocks {
  std::string lines;
  std::vector<std::string> red;
};
OrderOfBlocks order_of_blocks(const Subject& subject);

}  // namespace lab
