// How to recognise the bug named_barrier_count.
#include "checks/bugs/signature.hpp"

using namespace lab;

// So long that the producer has to wait for a free slot and cannot have returned, on a GPU either.
constexpr Shape LONG{1, 1, 1024, 64, false}, WIDE_CAUSAL{1, 1, 1024, 128, true};

std::vector<Part> look() {
  return {hangs(LONG, {{at_barrier(2, 256, 640)}, "const auto wait_for_turn"}),
          hangs(WIDE_CAUSAL, {{at_barrier(3, 128, 384)}, "const auto wait_for_turn"})};
}
