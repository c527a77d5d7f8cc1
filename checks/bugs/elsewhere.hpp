// What a GPU can show of a bug by a launch of this same binary in a process of its own (`lab once`): that it hangs, and
// what compute-sanitizer says.
#pragma once
#include <string>

#include "checks/bugs/fingerprint.hpp"

namespace lab {

std::string state(const Trial& trial);  // " (ERROR: MESSAGE)"; "" if it went well

// A GPU has no schedules to choose and no checker of ours: what the bug does not happen to show there is hidden, not
// gone.
Part may_hide(Part part, const std::string& why);
Part cannot_look(Part part, const std::string& why);

// The kernel does not end, or, with or_stops, is stopped with an error.
Part hangs_elsewhere(const Shape& shape, bool or_stops);
// The compute-sanitizer tool that looks for such findings.
Part sanitizer_reports(const Shape& shape, Finding::Kind kind);

}  // namespace lab
