// How to recognise the bug pingpong_swapped.
#include "checks/bugs/signature.hpp"

namespace {
using namespace lab;

constexpr Shape ONE_TILE{1, 1, 128, 64, false}, WIDE_CAUSAL{1, 1, 300, 128, true};

std::vector<Part> look() {
  // Group 1 is through, and so is the producer.
  const ExpectedHang hang{{at_barrier(2, 128, 256), 0xFF0}, "const auto wait_for_turn"};
  return {hangs(ONE_TILE, hang), hangs(WIDE_CAUSAL, hang)};
}

const RegisteredSignature registered(look);

}  // namespace
