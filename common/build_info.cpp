// How a binary's kernel was built. Compiled once for each binary, with the kernel's own flags and
//   -DLAB_STAGE="v2b_single_warp" -DLAB_BUG="warp7_nan" (or "")
// so that kernel.cu is plain CUDA and knows nothing of it.
#include "common/build_info.hpp"

const char* lab::stage_name() { return LAB_STAGE; }

const char* lab::planted_bug() { return LAB_BUG; }

bool lab::can_check() {
#ifdef __SANITIZE_THREAD__
  return true;
#else
  return false;
#endif
}
