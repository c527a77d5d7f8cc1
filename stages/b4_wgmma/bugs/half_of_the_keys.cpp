// How to recognise the bug half_of_the_keys.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 300, 64, false});
  const Gradients predicted = backward_after(l, [](BackwardHead& h) {
    const int keys = subject().tile_n;
    for (int i = 0; i < h.S; ++i)
      for (int j = 0; j < h.S; ++j)
        if (j % keys >= keys / 2) h.dS[h.at(i, j)] = 0;
  });
  return {equals_prediction({l, dq}, predicted.dq, "the sum without the second half of each block's keys"),
          still_right({l, dk}), still_right({l, dv})};
}
