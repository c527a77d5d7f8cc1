// build/desk-records COMMAND ARGUMENT...: results, tables and pages, and the elite loop. A program of its own, because a JSON library
// takes long to compile and a stage's test needs none of it.
#include "checks/desk/desk.hpp"

namespace lab::desk {

Run bench_command, resources_command, bits_command,
    counters_command;                                                   // in the files of these names
Run machine_command, sanitizer_report_command;                          // sanitizer_report.cpp
Run blindness_table_command, tools_table_command, climb_table_command;  // tables.cpp
Run pages_command, hunks_command;                                       // pages.cpp
Run search_command;                                                     // evolve/search.cpp
Run cheaters_command;                                                   // evolve/cheaters.cpp

static constexpr Command COMMANDS[] = {
    {"bench", bench_command, "SHAPES ROUNDS JSON STAGE LAB...", "times stages and PyTorch in turns; bench-1"},
    {"resources", resources_command, "LABS [JSON [STAGE]]", "registers, shared memory, spills; resources-1"},
    {"counters", counters_command, "LABS [JSON]", "what the CPU execution counts; counted-1"},
    {"bits", bits_command, "RECORD QUICK FILE LAB...", "digests of outputs, recorded or compared; bits-1"},
    {"machine", machine_command, "[SANITIZER]", "what a measurement says of its machine"},
    {"sanitizer-report", sanitizer_report_command, "LOGS [JSON]", "what compute-sanitizer's logs say; tools-1"},
    {"blindness-table", blindness_table_command, "LABS", "of `make blindness`"},
    {"tools-table", tools_table_command, "LABS", "what each tool sees of each bug"},
    {"climb-table", climb_table_command, "LABS", "the versions of the notes in order"},
    {"hunks", hunks_command, "REGEX OLD NEW", "the hunks of a diff that have a line with REGEX"},
    {"pages", pages_command, "[--check] [PAGE...]", "renews or compares the blocks of the pages"},
    {"search", search_command, "MAKE BACKEND STAGE [KEY=VALUE...]", "the elite loop, until the time is spent"},
    {"cheaters", cheaters_command, "MAKE BACKEND", "the referee must refuse every one"},
};

}  // namespace lab::desk

int main(int argc, char** argv) { return lab::desk::dispatch("desk-records", lab::desk::COMMANDS, argc, argv); }
