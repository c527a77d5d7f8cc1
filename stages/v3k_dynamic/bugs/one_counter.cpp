// How to recognise the bug one_counter.
#include "checks/bugs/fingerprint.hpp"

namespace {
using namespace lab;

std::vector<Part> look() { return {overlapping_launches_wrong({1, 6, 300, 64, true}, {1, 5, 450, 64, true})}; }

const RegisteredFingerprint registered(look);

}  // namespace
