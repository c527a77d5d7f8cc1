// The commands of build/desk-records, by the file that defines them.
#pragma once
#include "checks/desk/desk.hpp"

namespace lab::desk {

// run_bench.cpp, run_profile.cpp, run_phases.cpp: what is measured on a GPU
int bench_command(const Args& args);
int profile_command(const Args& args);
int phases_command(const Args& args);

// run_sanitizer.cpp: what compute-sanitizer left behind, and on which machine
int machine_command(const Args& args);
int sanitizer_report_command(const Args& args);

// run_resources.cpp: what nvcc makes of each kernel
int resources_command(const Args& args);
// run_counters.cpp: what the CPU execution counts
int counters_command(const Args& args);
int counters_table_command(const Args& args);
int floors_table_command(const Args& args);
// run_bits.cpp: outputs held to a GPU's, bit by bit
int bits_command(const Args& args);
// run_archs.cpp
int archs_command(const Args& args);

// run_tables.cpp: tables and figure data from the CPU's binaries
int blindness_table_command(const Args& args);
int tools_table_command(const Args& args);
int climb_table_command(const Args& args);
int plan_command(const Args& args);

// run_pages.cpp: the pages' blocks
int pages_command(const Args& args);
int hunks_command(const Args& args);

}  // namespace lab::desk
