// How to recognise the bug named_barrier_count.
#include "checks/bugs/fingerprint.hpp"

namespace {
using namespace lab;

constexpr Shape SMALL{1, 1, 200, 64, false}, WIDE_CAUSAL{1, 1, 300, 128, true};

std::vector<Part> look() {
  return {hangs(SMALL, {"barrier 2, to which 256 of 384 threads have come", "const auto wait_for_turn"}),
          hangs(WIDE_CAUSAL, {"barrier 3, to which 128 of 384 threads have come", "const auto wait_for_turn"})};
}

const RegisteredFingerprint registered(look);

}  // namespace
