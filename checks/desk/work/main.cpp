// build/desk-work COMMAND ARGUMENT...: builds run and judged, exercises.
#include "checks/desk/desk.hpp"

namespace lab::desk {

Run reproduce_command, check_harness_command, racecheck_command, broken_version_command;  // bugs.cpp
Run pieces_command;                                                                       // pieces.cpp
Run exercise_command, hint_command, solution_command;  // ../exercises/learn/commands.cpp
Run try_command, predict_command;                      // ../exercises/learn/commands.cpp
Run look_command;                                      // ../exercises/learn/commands.cpp
Run own_command;                                       // own.cpp
Run grade_command;                                     // ../exercises/learn/grade.cpp
Run check_exercises_command;                           // ../exercises/learn/prove.cpp

static constexpr Command COMMANDS[] = {
    {"reproduce", reproduce_command, "STAGE [STAGE:BUG=BUG_LAB=FIXED_LAB...]",
     "each fingerprint where it must show, not elsewhere"},
    {"check-harness", check_harness_command, "STAGE:BUG=LAB...", "the acceptance must be red on each"},
    {"racecheck", racecheck_command, "[short=1] LAB...",
     "each CPU build's race check; status 1 where there are findings"},
    {"broken-version", broken_version_command, "STAGE STAGE:BUG=LAB...",
     "the acceptance of a version that never worked"},
    {"pieces", pieces_command, "[limit=SECONDS] [counted]",
     "runs lines NAME: COMMAND side by side, and adds up what they count"},
    {"exercise", exercise_command, "[N|KIND|STAGE [again]]", "lists them, or lays one out in work/N"},
    {"predict", predict_command, "MAKE N SAY", "a prediction against what the handed-out kernel does"},
    {"try", try_command, "MAKE N", "the checks, from cheap to dear, up to the first red"},
    {"look", look_command, "MAKE N racecheck|counters|trace [WORD=VALUE...]", "the tool on what is laid out"},
    {"own", own_command, "NAME STAGE|blank", "lays out work/own/NAME"},
    {"hint", hint_command, "N", "the next of three"},
    {"solution", solution_command, "N [give-up]", "when it is done, or given up"},
    {"grade", grade_command, "MAKE JSON SEED ASSIGNED", "what is assigned, or else all that was begun"},
    {"check-exercises", check_exercises_command, "MAKE text|quick|whole [N]",
     "each red as handed out, green when solved"},
};

}  // namespace lab::desk

int main(int argc, char** argv) { return lab::desk::dispatch("desk-work", lab::desk::COMMANDS, argc, argv); }
