// The problems whose outputs `make bits` holds to an H200's, bit by bit.
#pragma once
#include <string>
#include <vector>

#include "common/shape.hpp"
#include "reference/inputs.hpp"

namespace lab {

struct BitsCase {
  // The source of q and k: as the family draws them, k = q (the largest score of a row is its own key's), or every
  // element the amplitude itself.
  enum class Keys { drawn, same, constant };

  Shape shape;
  Family family = Family::unit;
  Keys keys = Keys::drawn;
  float amplitude = 1;  // multiplies q and k
  float scale = 0.125f;
  int multiprocessors = 132;  // that the launcher finds, so that on any GPU it chooses the same instances
};

// The same cases for every stage, and those that this one needs besides, so that all instances of its kernel run. With
// `quick` each fifth.
std::vector<BitsCase> bits_cases(bool quick);

// "unit*30 (1,2,200,64) causal scale 0.3 multiprocessors 4"
std::string text(const BitsCase& test);

Inputs inputs_of(const BitsCase& test);

}  // namespace lab
