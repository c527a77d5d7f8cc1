// validate shape=B,H,S,D[,causal] [seed=N]: whether the loaded kernel may be timed, for the search. Lines
// "KEY VALUE...": us (a figure a round), calls, rows, smem, kernel; or one line "refused GUARD: WHAT", and
// status 1.
#include <cstdio>

#include "checks/bench/bench_samples.hpp"
#include "checks/runner/commands.hpp"
#include "checks/search/validator.hpp"
#include "common/stage.hpp"

namespace lab {

int validate_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "seed"};
  const KeyValues words(args, KEYS);
  const Shape shape = one_shape(words.require("shape"));
  const auto device = search::make_device();
  search::Plan plan = search::plan_for(shape, *device);
  plan.seed = std::uint64_t(words.number("seed").value_or(1));
  try {
    const search::Passed passed = search::validate(*device, stage(), shape, plan);
    const LaunchPlan launch = stage().plan(shape);
    std::printf("smem %zu\nkernel %s\n", launch.smem, launch.kernel.c_str());
    std::printf("calls %zu\nrows %zu\n", passed.calls_checked, passed.rows_checked);
    if (!passed.us.empty()) {
      std::printf("us");
      for (const double us : passed.us) std::printf(" %.4f", us);
      std::printf("\n");
    }
  } catch (const search::Refused& e) {
    std::printf("refused %s\n", e.what());
    return 1;
  }
  return 0;
}

}  // namespace lab
