// build/desk-records COMMAND ARGUMENT...: results and the elite loop. A program of its own, because a JSON library
// takes long to compile and a stage's test needs none of it.
#include "checks/desk/desk.hpp"

namespace lab::desk {

Run bench_command, resources_command;           // in the files of these names
Run machine_command, sanitizer_report_command;  // sanitizer_report.cpp
Run search_command;                             // evolve/search.cpp
Run cheaters_command;                           // evolve/cheaters.cpp

static constexpr Command COMMANDS[] = {
    {"bench", bench_command, "SHAPES ROUNDS JSON STAGE LAB...", "times stages and PyTorch in turns; bench-1"},
    {"resources", resources_command, "LABS [CSV [STAGE]]", "registers, shared memory, spills"},
    {"machine", machine_command, "[SANITIZER]", "what a measurement says of its machine"},
    {"sanitizer-report", sanitizer_report_command, "LOGS [JSON]", "what compute-sanitizer's logs say; tools-1"},
    {"search", search_command, "MAKE BACKEND STAGE [KEY=VALUE...]", "the elite loop, until the time is spent"},
    {"cheaters", cheaters_command, "MAKE BACKEND", "the referee must refuse every one"},
};

}  // namespace lab::desk

int main(int argc, char** argv) { return lab::desk::dispatch("desk-records", lab::desk::COMMANDS, argc, argv); }
