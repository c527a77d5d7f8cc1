// The commands of a backward stage's `lab`.
#include "checks/commands.hpp"

namespace lab {

int backward_test_command(std::span<char*> args);       // backward/acceptance.cpp
int backward_run_command(std::span<char*> args);        // backward/run_files.cpp
int backward_racecheck_command(std::span<char*> args);  // backward/racecheck.cpp
int backward_once_command(std::span<char*> args);       // backward/racecheck.cpp
int backward_plan_command(std::span<char*> args);       // backward/racecheck.cpp
int same_bits_command(std::span<char*> args);           // backward/same_bits.cpp
int backward_fuzz_command(std::span<char*> args);       // backward/acceptance.cpp
int backward_predict_command(std::span<char*> args);    // backward/exercises.cpp
int backward_card_command(std::span<char*> args);       // backward/exercises.cpp
int backward_counts_command(std::span<char*> args);     // backward/exercises.cpp
#ifdef LAB_GPU
int backward_bench_command(std::span<char*> args);  // bench/gpu/backward_bench.cpp
#endif

static constexpr Command COMMANDS[] = {
    {"test", backward_test_command,
     "test [full=1] [quick=1] [cheapest=N] [once=1] [turns=1] [seed=N]  acceptance of the linked stage"},
    {"run", backward_run_command,
     "run q=Q.npy k=K.npy v=V.npy do=DO.npy dq=DQ.npy dk=DK.npy dv=DV.npy [causal=0|1] [scale=x]"},
    {"same-bits", same_bits_command,
     "same-bits [orders=N]                   do the bits depend on the order of blocks?"},
    {"racecheck", backward_racecheck_command,
     "racecheck [short=1]                    races, uninitialised reads, overruns"},
    {"fingerprint", fingerprint_command, "fingerprint BUG                        looks for a bug in this build"},
    {"once", backward_once_command,
     "once B H S D [causal]                  one launch, for compute-sanitizer to watch"},
    {"plan", backward_plan_command,
     "plan B H S D [causal]                  the kernels of a call, and their dynamic shared memory, as JSON"},
    {"fuzz", backward_fuzz_command, "fuzz [seconds=N] [cases=N] [seed=K]     random problems"},
    {"predict", backward_predict_command,
     "predict kind=K say=TEXT [shape=...]     a prediction against what comes out"},
    {"card", backward_card_command, "card [shape=...] [inputs=...]           an exercise's case"},
    {"counts", backward_counts_command, "counts shape=B,H,S,D[,causal]           what a block of each kernel does"},
#ifdef LAB_GPU
    {"bench", backward_bench_command, "bench [shape=LIST]                      how long a call takes"},
#endif
};

std::span<const Command> commands() { return COMMANDS; }

}  // namespace lab
