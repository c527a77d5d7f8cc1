// How to recognise the bug own_key_hidden.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 100, 64, true});
  const Gradients predicted = backward_after(l, [](BackwardHead& h) {
    for (int i = 0; i < h.S; ++i) h.P[h.at(i, i)] = h.dS[h.at(i, i)] = 0;
  });
  const char* rule = "the sum without the pairs of a row and its own key";
  return {equals_prediction({l, dq}, predicted.dq, rule), equals_prediction({l, dk}, predicted.dk, rule),
          equals_prediction({l, dv}, predicted.dv, rule), still_right({run_trial({1, 1, 100, 64, false}), dq})};
}
