// How to recognise the bug swizzle_row_bits.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false}, SMALL{1, 1, 128, 64, false}, WIDE{1, 1, 128, 128, false};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION);
  return {bank_turns(SMALL, "ptx::ldmatrix_x4(b0, b1, swizzled(K", 8),
          bank_turns(SMALL, "ptx::ldmatrix_x4_trans(b0, b1, swizzled(V", 8),
          bank_turns(SMALL, "ptx::ldmatrix_x4(a, swizzled(smem.Q", 8),
          bank_turns(WIDE, "ptx::ldmatrix_x4(b0, b1, swizzled(K", 8), right_by_luck(t, "with either swizzle")};
}
