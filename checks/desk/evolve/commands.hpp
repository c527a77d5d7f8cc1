// The commands of build/desk-evolve, by the file that defines them.
#pragma once
#include "checks/desk/desk.hpp"

namespace lab::desk {

// search.cpp
int search_command(const Args& args);
int build_command(const Args& args);
int run_command(const Args& args);
int confirm_command(const Args& args);

// cheaters.cpp
int cheaters_command(const Args& args);

// adopt.cpp
int adopt_command(const Args& args);

}  // namespace lab::desk
