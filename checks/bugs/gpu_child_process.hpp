// The parts of a signature that a GPU shows by a launch of this same kernel in a process of its own (`runner KERNEL once`): a
// hang, and a report of compute-sanitizer.
#pragma once
#include <string>

#include "checks/bugs/signature.hpp"

namespace lab {

// A GPU has no schedules to choose and no checker of ours: what the bug does not happen to show there is hidden, not
// gone.
Part may_hide(Part part, const std::string& why);
Part cannot_look(Part part, const std::string& why);

// The kernel does not end, or, with or_stops, is stopped with an error.
Part hangs_elsewhere(const Shape& shape, bool or_stops);
// The compute-sanitizer tool that looks for such findings.
Part sanitizer_reports(const Shape& shape, Finding::Kind kind);

}  // namespace lab
