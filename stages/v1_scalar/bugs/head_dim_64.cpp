// How to recognise the bug head_dim_64.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial t = run_trial({1, 2, 200, 128, false});
  return std::vector{
      unwritten_exactly(
          t, [](int, int col) { return col >= 64; }, "columns 64..127"),
      equals_prediction(t, wrong::head_dim_64(t), "attention over the first 64 dimensions, in columns 0..63",
                        [](int, int col) { return col < 64; }),
  };
}
