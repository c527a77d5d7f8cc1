// How to recognise the bug last_query_tile.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 100, 64, false});
  const int whole = 100 / subject().tile_m * subject().tile_m;
  const Gradients predicted = backward_after(l, [&](BackwardHead& h) {
    for (int i = whole; i < h.S; ++i)
      for (int j = 0; j < h.S; ++j) h.P[h.at(i, j)] = h.dS[h.at(i, j)] = 0;
  });
  return {equals_prediction({l, dk}, predicted.dk, "the sum over rows 0..95"),
          equals_prediction({l, dv}, predicted.dv, "the sum over rows 0..95"), still_right({l, dq})};
}
