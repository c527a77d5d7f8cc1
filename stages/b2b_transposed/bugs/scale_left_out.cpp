// How to recognise the bug scale_left_out.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  const Look l = look_at({1, 2, 100, 64, true});
  const Gradients predicted = backward_after(l, [&](BackwardHead& h) {
    for (double& dS : h.dS) dS /= l.trial.scale;
  });
  return {equals_prediction(l, Gradient::dk, predicted, "dK / scale"), still_right(l, Gradient::dq),
          still_right(l, Gradient::dv)};
}
