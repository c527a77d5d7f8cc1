// How to recognise the bug partial_stripe.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};
constexpr Shape SMALL{1, 1, 128, 64, false};

std::vector<Part> look() {
  return {wrong_somewhere(run_trial(MISSION)),
          checker_reports(SMALL, {Finding::Kind::race_inter_warp, "", "wmma::store_matrix_sync(&smem.scores"}),
          checker_reports(SMALL, {Finding::Kind::out_of_bounds, "", "wmma::store_matrix_sync(&smem.scores"})};
}
