// The commands of `learner`: what an exercise's checks need.
#include "checks/commands.hpp"

namespace lab {

static constexpr Command COMMANDS[] = {
    {"test", test_command, "test [cheapest=N] [once=1] [seed=N]     acceptance of the linked kernel"},
    {"racecheck", racecheck_command, "racecheck [short=1] [first=1]          races, uninitialised reads, overruns"},
    {"fingerprint", fingerprint_command, "fingerprint BUG [source=FILE]          looks for a bug in this build"},
    {"fuzz", fuzz_command, "fuzz [seconds=N] [seed=K] [check=1]    random problems; or only B= H= S= D= ..."},
    {"predict", predict_command, "predict kind=K say=TEXT [shape=...]     a prediction against what comes out"},
    {"card", card_command, "card [shape=...] [inputs=...]           an exercise's case, with the first wrong element"},
    {"counts", counts_command, "counts shape=B,H,S,D[,causal] [tile=N]  what a block does, counted"},
    {"plan", plan_command, "plan B H S D [causal]                how the stage launches a shape, as JSON", false},
};

std::span<const Command> commands() { return COMMANDS; }

}  // namespace lab
