// How to recognise the bug scale_twice.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 100, 64, true});
  const Gradients predicted = backward_after(l, [&](BackwardHead& h) {
    for (double& dS : h.dS) dS *= l.scale;
  });
  return {equals_prediction({l, dq}, predicted.dq, "scale dQ"), equals_prediction({l, dk}, predicted.dk, "scale dK"),
          still_right({l, dv})};
}
