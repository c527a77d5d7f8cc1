// The commands of build/desk-learn, by the file that defines them.
#pragma once
#include "checks/desk/desk.hpp"

namespace lab::desk {

// lay_out.cpp: what needs no build
int exercise_command(const Args& args);
int hint_command(const Args& args);
int solution_command(const Args& args);
int reset_command(const Args& args);

// attempt.cpp: one exercise, interactively
int try_command(const Args& args);
int watch_command(const Args& args);
int predict_command(const Args& args);

// look.cpp: with the tools that stages have
int look_command(const Args& args);

// own.cpp: kernels of a learner's own
int own_command(const Args& args);
int watch_own_command(const Args& args);

// variants.cpp: for a class
int variants_command(const Args& args);

// grade.cpp, prove.cpp: all of them
int grade_command(const Args& args);
int assigned_command(const Args& args);
int check_exercises_command(const Args& args);

}  // namespace lab::desk
