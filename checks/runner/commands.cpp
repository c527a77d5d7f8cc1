#include "checks/runner/commands.hpp"

namespace lab {

static constexpr Command COMMANDS[] = {
    {"run", run_command, Pass::stage},
    {"signature", signature_command, Pass::stage},
    {"card", card_command, Pass::stage},
    {"predict", predict_command, Pass::stage},
    {"counts", counts_command, Pass::stage},
    {"validate", validate_command, Pass::forward},
    {"bits", bits_command, Pass::stage},
    {"same-bits", same_bits_command, Pass::backward},
    {"plan", plan_command, Pass::stage, false},
#ifdef LAB_GPU
    {"bench", bench_command, Pass::stage},
#else
    {"trace", trace_command, Pass::forward},
    {"counters", counters_command, Pass::forward},
    {"drill", drill_command, Pass::drill},
    {"order", order_command, Pass::drill},
    {"counts", drill_counts_command, Pass::drill},
#endif
    {"reproduce", reproduce_command, Pass::none},
    {"check-harness", check_harness_command, Pass::none},
    {"racecheck", racechecks_command, Pass::none},
    {"evolve", evolve_command, Pass::none},
};

extern "C" std::span<const Command> lab_commands() { return COMMANDS; }

}  // namespace lab
