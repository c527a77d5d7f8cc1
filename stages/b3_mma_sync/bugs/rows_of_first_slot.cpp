// How to recognise the bug rows_of_first_slot.
#include <cmath>

#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 100, 64, false});
  const int tile = subject().tile_m;
  const Gradients predicted = backward_after(l, [&](BackwardHead& h) {
    for (int i = tile; i < h.S; ++i)
      for (int j = 0; j < h.S; ++j) {
        double& P = h.P[h.at(i, j)];
        P *= std::exp(h.L[i] - h.L[i - tile]);
        h.dS[h.at(i, j)] = l.scale * P * (h.dP[h.at(i, j)] - h.delta[i - tile]);
      }
  });
  const char* rule = "the sum with L and delta of row - 64 in the second tile";
  return {equals_prediction({l, dq}, predicted.dq, rule), equals_prediction({l, dk}, predicted.dk, rule),
          equals_prediction({l, dv}, predicted.dv, rule)};
}
