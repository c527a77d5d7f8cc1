// build/desk-learn COMMAND ARGUMENT...: the exercises. A program of its own beside build/desk, because nothing else
// needs it.
#include "checks/desk/dispatch.hpp"
#include "checks/desk/learn/commands.hpp"

namespace lab::desk {
namespace {

constexpr Command COMMANDS[] = {
    {"exercise", exercise_command, "exercise [N|KIND|STAGE]  lists them, or lays one out in work/N"},
    {"predict", predict_command, "predict MAKE N SAY       a prediction against what the handed-out kernel does"},
    {"try", try_command, "try MAKE N               the checks, from cheap to dear, up to the first red"},
    {"watch", watch_command, "watch MAKE N             the same at every save"},
    {"look", look_command, "look MAKE N TOOL [W=V..] racecheck, counters or trace of what is laid out"},
    {"own", own_command, "own NAME STAGE|blank     lays out work/own/NAME"},
    {"watch-own", watch_own_command, "watch-own MAKE NAME      its test at every save"},
    {"hint", hint_command, "hint N                   the next of three"},
    {"solution", solution_command, "solution N [give-up]     when it is done, or given up"},
    {"reset", reset_command, "reset N                  as it was handed out; a copy is kept"},
    {"grade", grade_command, "grade MAKE JSON SEED ASSIGNED VARIANT   what is assigned, or else all that was begun"},
    {"assigned", assigned_command, "assigned WORDS|FILE      the numbers of what is assigned"},
    {"variants", variants_command, "variants MAKE STUDENTS SEED ASSIGNED OUT   a hand-out per student, and the key"},
    {"check-exercises", check_exercises_command,
     "check-exercises MAKE text|quick|half|whole [N]\n                           the exercises themselves: each red as "
     "handed out, "
     "green when solved"},
};

}  // namespace
}  // namespace lab::desk

int main(int argc, char** argv) { return lab::desk::dispatch("desk-learn", lab::desk::COMMANDS, argc, argv); }
