#include "checks/runner/commands.hpp"

namespace lab {

static constexpr Command FORWARD[] = {
    {"test", test_command, "test [full=1] [quick=1] [cheapest=N] [once=1] [turns=1] [seed=N]  acceptance"},
    {"run", run_command, "run q=Q.npy k=K.npy v=V.npy out=O.npy [causal=0|1] [scale=x]"},
    {"signature", signature_command, "signature BUG [source=FILE]          looks for a bug in this kernel"},
    {"once", once_command, "once B H S D [causal [seconds]]      one launch, for compute-sanitizer to watch"},
    {"racecheck", racecheck_command, "racecheck [short=1] [first=1]          races, uninitialised reads, overruns"},
    {"fuzz", fuzz_command,
     "fuzz [seconds=N] [seed=K] [check=1]    random problems; a failure is shrunk and says how to repeat it"},
    {"blindness", blindness_command, "blindness                              would the notes' inputs have shown it?"},
    {"card", card_command, "card [shape=...] [inputs=...]           an exercise's case, with the first wrong element"},
    {"predict", predict_command, "predict kind=K say=TEXT [shape=...]   a prediction against what comes out"},
    {"counts", counts_command, "counts shape=B,H,S,D[,causal] [tile=N]     what a block does, counted"},
    {"validate", validate_command, "validate shape=B,H,S,D[,causal] [seed=N]    may the search time this candidate?"},
    {"bits", bits_command, "bits [quick=1]                         a digest of each output, bit by bit"},
#ifdef LAB_GPU
    {"bench", bench_command,
     "bench [shape=B,H,S,D[,causal];...|acceptance|long|all] [amplitude=x]    how long a call takes"},
#else
    {"trace", trace_command,
     "trace [shape=B,H,S,D[,causal]] [tile=N] [json=FILE] [check=1]    a block's steps, for ui.perfetto.dev"},
    {"counters", counters_command,
     "counters [shape=B,H,S,D[,causal]] [csv=1]    what a GPU's counters would count, line by line"},
#endif
    {"plan", plan_command, "plan shape=B,H,S,D[,causal]            how the stage launches a shape", false},
};

static constexpr Command BACKWARD[] = {
    {"test", test_command, "test [full=1] [quick=1] [cheapest=N] [once=1] [turns=1] [seed=N]  acceptance"},
    {"run", run_command, "run q=Q.npy k=K.npy v=V.npy do=DO.npy dq=DQ.npy dk=DK.npy dv=DV.npy [causal=0|1] [scale=x]"},
    {"bits", bits_command, "bits [quick=1]                         a digest of the gradients of each case"},
    {"same-bits", same_bits_command,
     "same-bits [orders=N]                   do the bits depend on the order of blocks?"},
    {"racecheck", racecheck_command, "racecheck [short=1]                    races, uninitialised reads, overruns"},
    {"signature", signature_command, "signature BUG                        looks for a bug in this kernel"},
    {"once", once_command, "once B H S D [causal]                  one launch, for compute-sanitizer to watch"},
    {"plan", backward_plan_command,
     "plan shape=B,H,S,D[,causal]             the kernels of a call, and their dynamic shared memory"},
    {"fuzz", fuzz_command, "fuzz [seconds=N] [cases=N] [seed=K]     random problems"},
    {"predict", backward_predict_command,
     "predict kind=K say=TEXT [shape=...]     a prediction against what comes out"},
    {"card", backward_card_command, "card [shape=...] [inputs=...]           an exercise's case"},
    {"counts", backward_counts_command, "counts shape=B,H,S,D[,causal]           what a block of each kernel does"},
#ifdef LAB_GPU
    {"bench", bench_command, "bench [shape=LIST]                      how long a call takes"},
#endif
};

#ifndef LAB_GPU
static constexpr Command DRILL[] = {
    {"drill", drill_command, "drill [seed=N]     the kernel, bit for bit"},
    {"order", order_command, "order              the order of what it does"},
    {"counts", drill_counts_command, "counts shape=NAME  what a launch does, counted"},
};
#endif

// Of several kernels.
static constexpr Command KERNELS[] = {
    {"reproduce", reproduce_command,
     "reproduce NAME KERNEL...     each bug's signature, where it must show and not elsewhere"},
    {"check-harness", check_harness_command, "check-harness KERNEL...      the acceptance must be red on each"},
    {"broken-version", broken_version_command, "broken-version NAME KERNEL...    the acceptance of what never worked"},
    {"racecheck", racechecks_command, "racecheck [short=1] KERNEL...    each race check"},
};

extern "C" std::span<const Command> lab_commands(Pass pass) {
#ifndef LAB_GPU
  if (pass == Pass::drill) return DRILL;
#endif
  if (pass == Pass::none) return KERNELS;
  return pass == Pass::backward ? std::span<const Command>(BACKWARD) : FORWARD;
}

}  // namespace lab
