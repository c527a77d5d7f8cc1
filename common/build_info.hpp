// The sources and flags of this binary. Each binary has a build_info.cpp of its own, so this includes nothing.
#pragma once

namespace lab {

// The stage's directory: "v2b_single_warp".
const char* stage_name();
// The bug that its patch put in; "" when fixed.
const char* planted_bug();
// Whether its kernel was compiled with the checker's instrumentation.
bool can_check();

}  // namespace lab
