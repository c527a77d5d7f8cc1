// The desk's commands: functions of the tables in main.cpp and work/main.cpp, by the file that defines them.
#pragma once
#include "checks/desk/desk.hpp"

namespace lab::desk {

// names.cpp: what stages and bugs there are (build/desk; all that follow, build/desk-work)
int dirs_command(const Args& args);
int list_command(const Args& args);
int resolve_command(const Args& args);
int bugs_command(const Args& args);
int mapped_command(const Args& args);
int conf_command(const Args& args);
int goals_command(const Args& args);

// bugs.cpp: builds run, and what they say judged
int reproduce_command(const Args& args);
int check_harness_command(const Args& args);
int racecheck_command(const Args& args);
int broken_version_command(const Args& args);

// patches.cpp: bugs as patches
int patch_command(const Args& args);
int patches_command(const Args& args);
int show_bug_command(const Args& args);
int edit_bug_command(const Args& args);
int save_bug_command(const Args& args);

// mutants.cpp: unplanned mistakes
int mutate_command(const Args& args);
int mutants_command(const Args& args);

// pieces.cpp: a test run made of pieces
int pieces_command(const Args& args);

}  // namespace lab::desk
