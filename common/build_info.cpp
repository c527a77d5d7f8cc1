// How a binary's kernel was built. Compiled once for each binary, with the kernel's own flags and
//   -DLAB_STAGE="v2b_single_warp" -DLAB_BUG="warp7_nan" (or "") -DLAB_TARGET="sm_89"
// so that kernel.cu is plain CUDA and knows nothing of it.
#include <stdexcept>
#include <string>
#include <string_view>

#include "common/backend.hpp"
#include "common/stage.hpp"
#include "common/target.hpp"

const char* lab::stage_name() { return LAB_STAGE; }

const char* lab::planted_bug() { return LAB_BUG; }

const lab::Target& lab::stage_target() {
  for (const Target& target : TARGETS)
    if (target.name == std::string_view(LAB_TARGET)) return target;
  throw std::logic_error(std::string(LAB_STAGE) + " was built for the target '" + LAB_TARGET + "', which is unknown");
}

bool lab::can_check() {
#ifdef __SANITIZE_THREAD__
  return true;
#else
  return false;
#endif
}
