// How to recognise the bug turns_not_cleared.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() { return {deadlocks({1, 1, 100, 64, false}, "waits in a spin on element")}; }
