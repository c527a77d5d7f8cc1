// All commands of `lab`.
#include "checks/commands.hpp"

namespace lab {

static constexpr Command COMMANDS[] = {
    {"test", test_command,
     "test [full=1] [quick=1] [cheapest=N] [once=1] [turns=1] [seed=N]  acceptance of the linked stage"},
    {"run", run_command, "run q=Q.npy k=K.npy v=V.npy out=O.npy [causal=0|1] [scale=x]"},
    {"fingerprint", fingerprint_command, "fingerprint BUG                        looks for a bug in this build"},
    {"once", once_command, "once B H S D [causal [seconds]]      one launch, for compute-sanitizer to watch"},
    {"racecheck", racecheck_command, "racecheck [short=1] [first=1]          races, uninitialised reads, overruns"},
    {"fuzz", fuzz_command,
     "fuzz [seconds=N] [seed=K] [check=1]    random problems; a failure is shrunk and says how to repeat it"},
    {"blindness", blindness_command, "blindness                              would the notes' inputs have shown it?"},
    {"bench", bench_command,
     "bench [shape=B,H,S,D[,causal];...|acceptance|long|all] [amplitude=x] [round=N] [out=FILE]"},
    {"trace", trace_command,
     "trace [shape=B,H,S,D[,causal]] [tile=N] [json=FILE] [check=1]    a block's steps, for ui.perfetto.dev"},
    {"predict", predict_command, "predict kind=K say=TEXT [shape=...]   a prediction against what comes out"},
    {"counts", counts_command, "counts shape=B,H,S,D[,causal] [tile=N]     what a block does, counted"},
    {"counters", counters_command,
     "counters [shape=B,H,S,D[,causal]] [csv=1]    what a GPU's counters would count, line by line"},
    {"bits", bits_command, "bits [quick=1]                         a digest of each output, bit by bit"},
    {"plan", plan_command, "plan B H S D [causal]                how the stage launches a shape, as JSON", false},
};

std::span<const Command> commands() { return COMMANDS; }

#ifndef LAB_GPU
int bench_command(std::span<char*>) {
  throw BadInput("bench times kernels on a GPU; this binary runs them on the CPU");
}
#endif

}  // namespace lab
