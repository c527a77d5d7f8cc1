// The kernel at hand (checks/runner/library.hpp), and how it was built.
#pragma once

namespace lab {

// The stage's directory: "v2b_single_warp".
const char* stage_name();
// The bug that its patch put in; "" when fixed.
const char* planted_bug();
// Whether it was compiled with the checker's instrumentation.
bool can_check();

}  // namespace lab
