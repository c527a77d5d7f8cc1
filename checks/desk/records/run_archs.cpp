// desk-records archs: every stage's kernel compiled for every architecture that its stage.conf claims; no GPU is
// needed. A line for each stage. Exit status 1 if one does not compile, or compiles with what trouble_in() names.
#include <cstdio>

#include "checks/desk/desk.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/records/nvcc.hpp"
#include "common/gpu_fit.hpp"

namespace lab::desk {

int archs_command(const Args&) {
  const Ran known = capture({"nvcc", "--list-gpu-code"});
  if (known.status != 0) throw BadInput("make archs needs nvcc, which is not on the PATH");
  std::vector<Compilation> all;
  for (const StageNeeds& stage : stages_in("stages"))
    for (const std::string& arch : claimed_architectures(stage, words_of(known.out)))
      all.push_back({stage.stage, "", arch, kernel_path(stage.stage)});
  compile_all(all);

  int passed = 0, failed = 0;
  std::string last;
  for (const Compilation& c : all) {
    if (c.stage != last) std::printf("%s%-20s", last.empty() ? "" : "\n", (last = c.stage).c_str());
    const std::string trouble = trouble_in(c.nvcc);
    ++(trouble.empty() ? passed : failed);
    std::printf(" %s%s%s", c.arch.c_str(), trouble.empty() ? "" : " RED: ", trouble.c_str());
  }
  std::printf("\n%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace lab::desk
