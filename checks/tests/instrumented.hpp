// For test cases that the sanitizers' build (make sanitize) cannot run; it leaves these suites out. A case that
// is not marked and needs it is red there.
#pragma once
#include <doctest/doctest.h>

namespace lab {

// TEST_CASE("..." * instrumented()): the calls that g++ puts before the loads and stores of a checked kernel.
inline doctest::test_suite instrumented() { return {"instrumented"}; }
// TEST_CASE("..." * faults()): a fault inside a kernel, for the lab's own handler to report; AddressSanitizer has one
// too.
inline doctest::test_suite faults() { return {"faults"}; }

}  // namespace lab
