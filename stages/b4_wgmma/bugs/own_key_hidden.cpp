// How to recognise the bug own_key_hidden.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  const Look l = look_at({1, 2, 100, 64, true});
  const Gradients predicted = backward_after(l, [](BackwardHead& h) {
    for (int i = 0; i < h.S; ++i) h.P[h.at(i, i)] = h.dS[h.at(i, i)] = 0;
  });
  const char* rule = "the sum without the pairs of a row and its own key";
  return {equals_prediction(l, Gradient::dq, predicted, rule), equals_prediction(l, Gradient::dk, predicted, rule),
          equals_prediction(l, Gradient::dv, predicted, rule),
          still_right(look_at({1, 1, 100, 64, false}), Gradient::dq)};
}
