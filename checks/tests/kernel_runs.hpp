// Shared by the tests of the checker's rules: named kernels, and every schedule and time of copying to run them under.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "common/backend.hpp"

namespace lab {

template <class Kernel>
struct KernelRun {
  const char* name;
  Kernel* kernel;
};
// `kernel` of the namespace that the file calls `kernels`, as the file's `Run`.
#define KERNEL(kernel) \
  Run { #kernel, kernels::kernel }

inline std::string texts(const std::vector<Finding>& all) {
  std::string text;
  for (const Finding& f : all) text += f.text + "\n";
  return text;
}

// body(options) under each, with `seeds` seeds where something is random. One worker: the tests count what they see.
template <class Body>
void under_all_options(std::uint64_t seeds, Body body) {
  for (const Schedule schedule : {Schedule::ascending, Schedule::descending, Schedule::round_robin, Schedule::random})
    for (const Copies copies : {Copies::at_wait, Copies::at_issue, Copies::random})
      for (std::uint64_t seed = 1; seed <= (schedule == Schedule::random || copies == Copies::random ? seeds : 1);
           ++seed) {
        ExecOptions options;
        options.schedule = schedule, options.copies = copies, options.seed = seed, options.workers = 1;
        CAPTURE(std::string(name(schedule)));
        CAPTURE(std::string(name(copies)));
        CAPTURE(seed);
        body(options);
      }
}

}  // namespace lab
