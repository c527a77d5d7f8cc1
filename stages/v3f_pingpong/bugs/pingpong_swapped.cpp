// How to recognise the bug pingpong_swapped.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape TWO_TILES{1, 1, 128, 64, false}, WIDE_CAUSAL{1, 1, 300, 128, true};

std::vector<Part> look() {
  // All groups but the first are through, and so is the producer.
  const auto hang = [](unsigned returned) {
    return ExpectedHang{{at_barrier(2, 128, 256), returned}, "const auto wait_for_turn"};
  };
  return {hangs(TWO_TILES, hang(0xFFFF0)), hangs(WIDE_CAUSAL, hang(0xFF0))};
}
