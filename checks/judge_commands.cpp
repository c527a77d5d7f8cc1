// The commands of `judge`: what the elite loop asks of a candidate. A program of its own, for it is linked for every
// one.
#include "checks/commands.hpp"

namespace lab {

int judge_command(std::span<char*> args);  // evolve/judge.cpp

static constexpr Command COMMANDS[] = {
    {"judge", judge_command, "judge shape=B,H,S,D[,causal] [seed=N]    what the referee says of the linked kernel"},
#ifndef LAB_GPU
    {"counters", counters_command, "counters shape=B,H,S,D[,causal] [json=FILE]    what a GPU's counters would count"},
#endif
    {"plan", plan_command, "plan B H S D [causal]                how the stage launches a shape, as JSON", false},
};

std::span<const Command> commands() { return COMMANDS; }

}  // namespace lab
