// One object per stage: target, needs and shared memory from its stage.conf, which the Makefile hands over. The object
// in liblab.a, compiled without them, serves programs that have no stage.
#include "common/target.hpp"

#ifndef LAB_TARGET
#define LAB_TARGET "sm_89"
#define LAB_NEEDS ""
#define LAB_SMEM 101376
#endif

namespace {
// Not find_target() != nullptr: with -fsanitize=undefined g++ finds no constant in a comparison of addresses.
constexpr bool is_target(std::string_view name) {
  for (const lab::Target& target : lab::TARGETS)
    if (name == target.name) return true;
  return false;
}
}  // namespace

static_assert(is_target(LAB_TARGET), "stage.conf: target must be sm_89 or sm_90a");
static_assert(LAB_SMEM <= lab::find_target(LAB_TARGET)->smem_per_block, "stage.conf: smem is more than the target has");

const lab::StageConf lab::stage_conf{LAB_TARGET, LAB_NEEDS, LAB_SMEM};
