// How to recognise the bug first_rows_twice.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 300, 64, false});
  constexpr int ROWS = 64;
  const Gradients predicted = backward_after(l, [](BackwardHead& h) {
    for (int i = h.S - 1; i >= 0; --i)
      if (i / ROWS % 2 == 1)
        for (int j = 0; j < h.S; ++j) h.dS[h.at(i, j)] = h.dS[h.at(i - ROWS, j)];
  });
  return {equals_prediction({l, dq}, predicted.dq, "dQ of row - 64 in the second half of each tile"),
          still_right({l, dk}), still_right({l, dv}), still_right({run_trial({1, 1, 100, 128, false}), dq})};
}
