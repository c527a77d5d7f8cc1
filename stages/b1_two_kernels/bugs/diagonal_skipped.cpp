// How to recognise the bug diagonal_skipped.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 100, 64, true});
  const int tile = subject().tile_m;
  const Gradients predicted = backward_after(l, [&](BackwardHead& h) {
    for (int i = 0; i < h.S; ++i)
      for (int j = 0; j < h.S; ++j)
        if (i / tile == j / tile) h.P[h.at(i, j)] = h.dS[h.at(i, j)] = 0;
  });
  return {equals_prediction({l, dk}, predicted.dk, "the sum without the pairs of a key's own tile"),
          equals_prediction({l, dv}, predicted.dv, "the sum without the pairs of a key's own tile"),
          still_right({l, dq})};
}
