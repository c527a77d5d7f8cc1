// What desk.so exports: exercises, results and the elite loop.
#include "checks/desk/desk.hpp"

namespace lab::desk {

Run exercise_command, hint_command, solution_command;  // learn/lay_out.cpp
Run try_command, predict_command, look_command;        // learn/attempt.cpp
Run grade_command;                                     // learn/grade.cpp
Run check_exercises_command;                           // learn/prove.cpp
Run bench_command, resources_command;                  // records/, the files of these names
Run machine_command, sanitizer_report_command;         // records/sanitizer_report.cpp
Run search_command;                                    // evolve/search.cpp
Run cheaters_command;                                  // evolve/cheaters.cpp

static constexpr Command COMMANDS[] = {
    {"exercise", exercise_command, "[N|KIND|STAGE [again]]", "lists them, or lays one out in work/N"},
    {"predict", predict_command, "MAKE N SAY", "a prediction against what the handed-out kernel does"},
    {"try", try_command, "MAKE N", "the checks, from cheap to dear, up to the first red"},
    {"look", look_command, "MAKE N racecheck|counters|trace [WORD=VALUE...]", "the tool on what is laid out"},
    {"hint", hint_command, "N", "the next of three"},
    {"solution", solution_command, "N [give-up]", "when it is done, or given up"},
    {"grade", grade_command, "MAKE JSON SEED ASSIGNED", "what is assigned, or else all that was begun"},
    {"check-exercises", check_exercises_command, "MAKE text|quick|whole [N]",
     "each red as handed out, green when solved"},
    {"bench", bench_command, "SHAPES ROUNDS JSON STAGE KERNEL...", "times stages and PyTorch in turns; bench-1"},
    {"resources", resources_command, "KERNELS [CSV [STAGE]]", "registers, shared memory, spills"},
    {"machine", machine_command, "[SANITIZER]", "what a measurement says of its machine"},
    {"sanitizer-report", sanitizer_report_command, "LOGS [JSON]", "what compute-sanitizer's logs say; tools-1"},
    {"search", search_command, "MAKE BACKEND STAGE [KEY=VALUE...]", "the elite loop, until the time is spent"},
    {"cheaters", cheaters_command, "MAKE BACKEND", "the referee must refuse every one"},
};

}  // namespace lab::desk

extern "C" int lab_desk(std::span<char*> args) { return lab::desk::dispatch("runner", lab::desk::COMMANDS, args); }
