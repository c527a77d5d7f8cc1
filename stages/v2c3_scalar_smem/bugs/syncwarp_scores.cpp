// How to recognise the bug syncwarp_scores.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() { return nothing_wrong({1, 1, 128, 64, false}); }
