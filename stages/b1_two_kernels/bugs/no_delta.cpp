// How to recognise the bug no_delta.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  const Look l = look_at({1, 2, 100, 64, false});
  const Gradients predicted = backward_after(l, [&](BackwardHead& h) {
    for (std::size_t i = 0; i < h.P.size(); ++i) h.dS[i] = l.trial.scale * h.P[i] * h.dP[i];
  });
  return {equals_prediction(l, Gradient::dq, predicted, "dS K with dS = scale P dP"),
          equals_prediction(l, Gradient::dk, predicted, "dS^T Q with the same dS"), still_right(l, Gradient::dv)};
}
