// How a binary's kernel was built. Compiled once for each binary, with the kernel's own flags and
//   -DLAB_STAGE="v2b_single_warp" -DLAB_BUG="warp7_nan" (or "") -DLAB_TARGET="sm_89"
// so that kernel.cu is plain CUDA and knows nothing of it.
#include <string_view>

#include "common/backend.hpp"
#include "common/stage.hpp"
#include "common/target.hpp"

namespace {

constexpr const lab::Target* target_named(std::string_view name) {
  for (const lab::Target& target : lab::TARGETS)
    if (target.name == name) return &target;
  return nullptr;
}
static_assert(target_named(LAB_TARGET), "the stage's stage.conf names a target that common/target.hpp does not have");

}  // namespace

const char* lab::stage_name() { return LAB_STAGE; }

const char* lab::planted_bug() { return LAB_BUG; }

const lab::Target& lab::stage_target() { return *target_named(LAB_TARGET); }

bool lab::can_check() {
#ifdef __SANITIZE_THREAD__
  return true;
#else
  return false;
#endif
}
