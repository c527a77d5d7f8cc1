// How to recognise the bugs that this stage can plant.
#include "checks/bugs/fingerprint.hpp"
#include "reference/wrong_answers.hpp"

std::vector<lab::Fingerprint> lab::fingerprints() {
  return {{
      .bug = "head_dim_64",
      .plant = "the tile holds 64 columns and the loops run over 64, while rows are D = 128 apart",
      .predicted = "columns 0..63: softmax(q[0:64]·k[0:64] / sqrt(128))·V[:, 0:64]; columns 64..127: never written",
      .look =
          [] {
            const Trial t = run_trial({1, 2, 200, 128, false});
            return std::vector{
                unwritten_exactly(
                    t, [](int, int col) { return col >= 64; }, "columns 64..127"),
                equals_prediction(t, wrong::head_dim_64(t.shape, t.scale, t.in.q, t.in.k, t.in.v),
                                  "attention over the first 64 dimensions, in columns 0..63",
                                  [](int, int col) { return col < 64; }),
            };
          },
  }};
}
