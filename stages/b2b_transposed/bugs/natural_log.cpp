// How to recognise the bug natural_log.
#include <cmath>
#include <numbers>

#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 20, 64, false});
  const Gradients predicted = backward_after(l, [&](BackwardHead& h) {
    for (int i = 0; i < h.S; ++i)
      for (int j = 0; j < h.S; ++j) {
        const double factor = std::exp(h.L[i] * (1 - std::numbers::ln2));
        h.P[h.at(i, j)] *= factor, h.dS[h.at(i, j)] *= factor;
      }
  });
  const char* rule = "the sum with P exp(L (1 - ln 2)) in place of P";
  return {equals_prediction({l, dv}, predicted.dv, rule), equals_prediction({l, dk}, predicted.dk, rule),
          equals_prediction({l, dq}, predicted.dq, rule)};
}
