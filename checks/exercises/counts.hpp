// The work of one block of the linked stage, counted by the CPU execution.
#pragma once
#include <map>
#include <string>

#include "common/shape.hpp"

namespace lab {

struct BlockCounts {
  std::map<std::string, long> counts;               // of the block, or cluster, that takes the tile
  std::map<std::string, std::string> dearest = {};  // by the same words: "FILE:LINE" that most of it comes from, or ""
  std::string failure = "";                         // "" if the launch went well
};
BlockCounts count_block(const Shape& shape, unsigned tile);

}  // namespace lab
