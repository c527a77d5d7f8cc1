// How to recognise the bug scale_left_out.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 100, 64, true});
  const Gradients predicted = backward_after(l, [&](BackwardHead& h) {
    for (double& dS : h.dS) dS /= l.scale;
  });
  return {equals_prediction({l, dk}, predicted.dk, "dK / scale"), still_right({l, dq}), still_right({l, dv})};
}
