// How to recognise the bug smem_overflow.
#include "checks/bugs/fingerprint.hpp"

namespace {
using namespace lab;

std::vector<Part> look() {
  // 2048 keys take three stages. The budget is sm_89's on every backend, so a GPU with room for it refuses it too.
  return {refused(run_trial({1, 1, 2048, 128, false}), {"173568", "101376"})};
}

const RegisteredFingerprint registered(look);

}  // namespace
