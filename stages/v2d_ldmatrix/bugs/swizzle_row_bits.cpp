// How to recognise the bug swizzle_row_bits.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false}, SMALL{1, 1, 128, 64, false}, WIDE{1, 1, 128, 128, false};

// Every ldmatrix.x4 there takes 8 cycles at the banks: 4 without a conflict, one per eight rows of 16 bytes.
Part eight_cycles(const Shape& shape, const char* piece) {
  return counted(shape, {Counted::ldmatrix, piece, &Tally::wavefronts, 8, "cycles at the banks"});
}

std::vector<Part> look() {
  const Trial t = run_trial(MISSION);
  return {eight_cycles(SMALL, "ptx::ldmatrix_x4(b[0], b[1], swizzled(K"),
          eight_cycles(SMALL, "ptx::ldmatrix_x4_trans(b[0], b[1], swizzled(V"),
          eight_cycles(SMALL, "ptx::ldmatrix_x4(a, swizzled(smem.Q"),
          eight_cycles(WIDE, "ptx::ldmatrix_x4(b[0], b[1], swizzled(K"), still_right(t, "with either swizzle")};
}
