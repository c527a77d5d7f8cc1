// Which bug this build brings back. The Makefile compiles every kernel with -DLAB_BUG="name" (or ""),
// so that a stage can say, beside the correct line, `constexpr bool ldm = planted("ldm");`.
#pragma once
#include <string_view>

#ifndef LAB_BUG
#define LAB_BUG ""
#endif

namespace lab {

// True in the build that plants `bug`. A stage lists its bugs in its StageInfo; the harness refuses to run a
// build whose LAB_BUG is not in that list, so a misspelt name cannot pass for a fixed kernel.
constexpr bool planted(std::string_view bug) { return bug == std::string_view(LAB_BUG); }

}  // namespace lab
