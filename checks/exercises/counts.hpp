// What one block of the linked stage does, counted by the CPU execution.
#pragma once
#include <map>
#include <string>

#include "common/shape.hpp"

namespace lab {

struct BlockCounts {
  std::map<std::string, long> counts;  // of the block, or cluster, that takes the tile
  std::string failure;                 // "" if the launch went well
};
BlockCounts count_block(const Shape& shape, unsigned tile);

}  // namespace lab
