// How to recognise the bug turn_missed.
#include "checks/bugs/signature.hpp"

using namespace lab;

// As many heads as make blocks of three and of four warpgroups the best choice.
constexpr Shape THREE{1, 205, 192, 64, true}, FOUR{1, 264, 256, 64, true}, DENSE{1, 205, 192, 64, false},
    TWO{1, 135, 200, 64, true};

std::vector<Part> look() {
  const char* const turn = "ptx::barrier_sync(2 + group, 2 * GROUP)";
  const Trial dense = run_trial(DENSE), two = run_trial(TWO);
  return {hangs(THREE, {{at_barrier(4, 128, 256), 0xF0FF}, turn}),
          hangs(FOUR, {{at_barrier(5, 128, 256), 0xF000F}, turn}),
          still_right(dense, "without a mask, where all need as many tiles"),
          still_right(two, "with a mask in blocks of two, whose rows end in the same tile")};
}
