// How to recognise the bug misaligned_cp_async.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 128, 64, false};

std::vector<Part> look() {
  return {fails(run_trial(SMALL), cudaErrorMisalignedAddress,
                {"misaligned address", "cp.async of 16 bytes", "warp 7 lane"})};
}
