// How to recognise the bug no_delta.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 100, 64, false});
  const Gradients predicted = backward_after(l, [&](BackwardHead& h) {
    for (std::size_t i = 0; i < h.P.size(); ++i) h.dS[i] = l.scale * h.P[i] * h.dP[i];
  });
  return {equals_prediction({l, dq}, predicted.dq, "dS K with dS = scale P dP"),
          equals_prediction({l, dk}, predicted.dk, "dS^T Q with the same dS"), still_right({l, dv})};
}
