// How to recognise the bug ds_not_transposed.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 100, 64, false});
  const Gradients predicted = backward_after(l, [](BackwardHead& h) {
    constexpr int BLOCK = 8;
    const std::vector<double> dS = h.dS;
    for (int i = 0; i < h.S; ++i)
      for (int j = 0; j < h.S; ++j) {
        const int row = i / BLOCK * BLOCK + j % BLOCK, key = j / BLOCK * BLOCK + i % BLOCK;
        h.dS[h.at(i, j)] = row < h.S && key < h.S ? dS[h.at(row, key)] : 0.0;
      }
  });
  return {equals_prediction({l, dq}, predicted.dq, "the sum with each 8 x 8 block of dS transposed"),
          still_right({l, dk}), still_right({l, dv})};
}
