// runner KERNEL blindness: would the notes' own test have seen what is wrong with this build? The mission shape, under their
// inputs and under unit variance, at their tolerance; and whether a choice of schedule shows it.
#include <cmath>
#include <cstdio>

#include "checks/acceptance/report.hpp"
#include "checks/acceptance/tolerance.hpp"
#include "checks/bugs/signature.hpp"
#include "checks/runner/commands.hpp"
#include "reference/attention.hpp"

namespace lab {

int blindness_command(std::span<char*> args) {
  if (!args.empty()) throw BadInput("blindness takes no arguments");
  for (const Family family : {Family::notes, Family::unit})
    for (const bool causal : {false, true}) {
      const Trial t = run_trial({1, 8, 512, 64, causal}, family);
      const char* inputs = name(family);
      if (!t.ok()) {
        // "stops": an error within the kernel, other than that it does not end
        std::printf("%s %d - %s\n", inputs, int(causal),
                    t.launched != cudaSuccess              ? "refused"
                    : t.finished == cudaErrorLaunchTimeout ? "hangs"
                                                           : "stops");
        continue;
      }
      const std::vector<double> ref = attention(t.shape, t.scale, t.in.q, t.in.k, t.in.v);
      double largest = 0;
      for (std::size_t i = 0; i < ref.size(); ++i) {
        const double diff = std::abs(to_float(t.out[i]) - ref[i]);
        largest = std::isnan(diff) || std::isnan(largest) ? NAN : std::max(largest, diff);
      }
      std::printf("%s %d %s %s\n", inputs, int(causal), std::isnan(largest) ? "NaN" : format("%.6f", largest).c_str(),
                  largest <= NOTES_TOLERANCE ? "pass" : "fail");
    }
  if (can_schedule())
    std::printf("schedules %s\n", schedules_differ({1, 1, 128, 64, false}).shown ? "differ" : "agree");
  return 0;
}

}  // namespace lab
