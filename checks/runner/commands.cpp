#include "checks/runner/commands.hpp"

namespace lab {

static constexpr Command COMMANDS[] = {
    {"run", run_command, Pass::stage,
     "run q=Q.npy k=K.npy v=V.npy out=O.npy [causal=0|1] [scale=x]    of a backward stage do= in, dq= dk= dv= out"},
    {"signature", signature_command, Pass::stage,
     "signature BUG                        looks for a bug in this kernel"},
    {"card", card_command, Pass::stage,
     "card [shape=...] [inputs=...]           an exercise's case, with the first wrong element"},
    {"predict", predict_command, Pass::stage,
     "predict kind=K say=TEXT [shape=...]   a prediction against what comes out"},
    {"counts", counts_command, Pass::stage,
     "counts shape=B,H,S,D[,causal]           what a block of each kernel does, counted"},
    {"validate", validate_command, Pass::forward,
     "validate shape=B,H,S,D[,causal] [seed=N]    may the search time this candidate?"},
    {"bits", bits_command, Pass::stage, "bits [quick=1]                         a digest of each output, bit by bit"},
    {"same-bits", same_bits_command, Pass::backward,
     "same-bits                              do the bits depend on the order of blocks?"},
    {"plan", plan_command, Pass::stage, "plan shape=B,H,S,D[,causal]             the kernels that a call launches",
     false},
#ifdef LAB_GPU
    {"bench", bench_command, Pass::stage,
     "bench [shape=B,H,S,D[,causal];...|acceptance|long|all]    how long a call takes"},
#else
    {"trace", trace_command, Pass::forward,
     "trace [shape=B,H,S,D[,causal]] [tile=N] [json=FILE]    a block's steps, for ui.perfetto.dev"},
    {"counters", counters_command, Pass::forward,
     "counters [shape=B,H,S,D[,causal]] [csv=1]    what a GPU's counters would count, line by line"},
    {"drill", drill_command, Pass::drill, "drill [seed=N]     the kernel, bit for bit"},
    {"order", order_command, Pass::drill, "order              the order of what it does"},
    {"counts", drill_counts_command, Pass::drill, "counts shape=NAME  what a launch does, counted"},
#endif
    {"reproduce", reproduce_command, Pass::none,
     "reproduce NAME KERNEL...     each bug's signature, where it must show and not elsewhere"},
    {"check-harness", check_harness_command, Pass::none,
     "check-harness KERNEL...      the acceptance must be red on each"},
    {"racecheck", racechecks_command, Pass::none, "racecheck [short=1] KERNEL...    each race check"},
    {"evolve", evolve_command, Pass::none,
     "evolve BACKEND STAGE [KEY=VALUE...]    the elite loop, until the time is spent"},
};

extern "C" std::span<const Command> lab_commands() { return COMMANDS; }

}  // namespace lab
