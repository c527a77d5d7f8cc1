// Lines of the kernel that a signature names by a piece of their text.
#pragma once
#include <string>

#include "checks/bugs/patch.hpp"

namespace lab {

constexpr int NO_LINE = -1;  // of a learner's kernel, which may have lost the line or have it twice
struct Place {
  std::string file;
  int line = 0;
  std::string text() const { return file + ":" + std::to_string(line); }
};

// From now on line_with() reads the bug's patch, which must outlive it, and the kernel that this build was made of, if
// that is an exercise's and not the stage's; a learner has written its lines.
void look_for(const Patch& patch, const std::string& own_source);

// The only line with `piece`, of the kernel as this build has it. In the fixed build a line that only the patch would
// add is sought there. A signature that cannot find its line is a mistake in its .cpp.
Place line_with(const std::string& piece);

}  // namespace lab
