// lab run of a backward stage: gradients of tensors from files.
#include "checks/acceptance/run_files.hpp"

#include <cstdio>

#include "checks/backward/trial.hpp"
#include "checks/runner/commands.hpp"

namespace lab {

// lab run q= k= v= do= dq= dk= dv= [causal=0|1] [scale=x]
int backward_run_command(std::span<char*> args) {
  FilesRun files(args, {"q", "k", "v", "do"}, {"dq", "dk", "dv"});
  files.start();
  const BackwardTrial t =
      run_backward(files.shape(), files.scale(), {{files.input(0), files.input(1), files.input(2)}, files.input(3)});
  if (t.ok() && t.stray.empty()) return files.write({t.dq, t.dk, t.dv});
  std::fprintf(stderr, "lab: %s: %s; no gradient is written\n", backward_stage().name,
               t.ok() ? t.stray.front().c_str() : t.error().c_str());
  return 1;
}

}  // namespace lab
