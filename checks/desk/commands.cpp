// What commands.so exports beside lab_commands(): results and the elite loop.
#include "checks/desk/desk.hpp"

namespace lab::desk {

Run bench_command;     // records/bench.cpp
Run search_command;    // evolve/search.cpp
Run cheaters_command;  // evolve/cheaters.cpp

static constexpr Command COMMANDS[] = {
    {"bench", bench_command, "SHAPES ROUNDS CSV STAGE KERNEL...", "times stages and PyTorch in turns"},
    {"search", search_command, "MAKE BACKEND STAGE [KEY=VALUE...]", "the elite loop, until the time is spent"},
    {"cheaters", cheaters_command, "MAKE BACKEND", "the referee must refuse every one"},
};

}  // namespace lab::desk

extern "C" int lab_desk(std::span<char*> args) { return lab::desk::dispatch("runner", lab::desk::COMMANDS, args); }
