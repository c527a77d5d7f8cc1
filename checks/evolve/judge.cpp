// judge shape=B,H,S,D[,causal] [seed=N]: what the referee says of the linked kernel, for the search. Lines
// "KEY VALUE...": us (a figure a round), calls, rows, smem, kernel; or one line "refused SAFEGUARD: WHAT", and
// status 1.
#include <cstdio>

#include "checks/bench/bench_samples.hpp"
#include "checks/evolve/referee.hpp"
#include "checks/runner/commands.hpp"
#include "common/stage.hpp"

namespace lab {

int judge_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "seed"};
  const KeyValues words(args, KEYS);
  const Shape shape = one_shape(words.require("shape"));
  const auto device = evolve::make_device();
  evolve::Plan plan = evolve::plan_for(shape, *device);
  plan.seed = std::uint64_t(words.number("seed").value_or(1));
  try {
    const LaunchPlan launch = stage().plan(shape);
    std::printf("smem %zu\nkernel %s\n", launch.smem(), launch.kernel.c_str());
    const evolve::Judged judged = evolve::judge(*device, stage(), shape, plan);
    std::printf("calls %zu\nrows %zu\n", judged.calls_checked, judged.rows_checked);
    if (!judged.us.empty()) {
      std::printf("us");
      for (const double us : judged.us) std::printf(" %.4f", us);
      std::printf("\n");
    }
  } catch (const evolve::Refused& e) {
    std::printf("refused %s\n", e.what());
    return 1;
  }
  return 0;
}

}  // namespace lab
