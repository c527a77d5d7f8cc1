// fuzz of a backward stage: random problems through the acceptance, until one is red or the time is up.
#include <string_view>

#include "checks/acceptance/acceptance.hpp"
#include "checks/acceptance/sampling.hpp"
#include "checks/runner/commands.hpp"

namespace lab {

// runner KERNEL fuzz [seconds=N] [cases=N] [seed=K]
int backward_fuzz_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"seconds", "cases", "seed"};
  const KeyValues values(args, keys);
  AcceptanceOptions options;
  options.quick = true;
  options.seed = values.whole("seed", ~0ull, 0, 1);
  const double seconds = double(values.whole("seconds", 1'000'000, 1, 60));
  std::vector<Case> cases = random_backward_cases(options.seed, values.whole("cases", 1'000'000, 1, 1000));
  const auto cost = [&](const Case& c) { return case_cost(subject(), c, options); };
  leave_cheapest(cases, cost, 0);
  return run_acceptance({subject(), options, std::move(cases), cost, seconds});
}

}  // namespace lab
