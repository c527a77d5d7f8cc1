// validate shape=B,H,S,D[,causal] [seed=N]: whether the loaded kernel may be timed, for the search. Lines "KEY VALUE...": smem, kernel,
// calls, rows, us (a figure a round); or one line "refused GUARD: WHAT", and status 1.
#include <cstdio>

#include "checks/bench/shapes.hpp"
#include "checks/runner/commands.hpp"
#include "checks/search/validator.hpp"

namespace lab {

int validate_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "seed"};
  const KeyValues words(args, KEYS);
  const Shape shape = one_shape(words.require("shape"));
  const auto device = search::make_device();
  search::Plan plan = search::plan_for(shape, *device);
  plan.seed = words.whole("seed", ~0ull, 0, 1);
  try {
    const search::Passed passed = search::validate(*device, subject(), shape, plan);
    const LaunchPlan launch = plan_of(shape);
    std::printf("smem %zu\nkernel %s\ncalls %zu\nrows %zu\n", launch.smem, launch.kernel.c_str(), passed.calls_checked,
                passed.rows_checked);
    for (std::size_t i = 0; i < passed.us.size(); ++i) std::printf(i ? " %.4f" : "us %.4f", passed.us[i]);
    if (!passed.us.empty()) std::printf("\n");
  } catch (const search::Refused& e) {
    std::printf("refused %s\n", e.what());
    return 1;
  }
  return 0;
}

}  // namespace lab
