// How to recognise the bug p_not_transposed.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 100, 64, false});
  const int tile = subject().tile_m;
  const Gradients predicted = backward_after(l, [&](BackwardHead& h) {
    const std::vector<double> P = h.P;
    for (int i = 0; i < h.S; ++i)
      for (int j = 0; j < h.S; ++j) {
        const int row = i / tile * tile + j % tile, key = j / tile * tile + i % tile;
        h.P[h.at(i, j)] = row < h.S && key < h.S ? P[h.at(row, key)] : 0.0;
      }
  });
  return {equals_prediction({l, dv}, predicted.dv, "the sum with each 32 x 32 tile of P transposed"),
          still_right({l, dq}), still_right({l, dk})};
}
