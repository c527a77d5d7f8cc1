// How this kernel was compiled. Included once, at the end of a stage's kernel.cu, so that the answers always come
// from the kernel's own translation unit.
#pragma once
#include "common/backend.hpp"
#include "common/planted.hpp"
#include "common/stage.hpp"

const char* lab::planted_bug() { return LAB_BUG; }

bool lab::can_check() {
#ifdef __SANITIZE_THREAD__
  return true;
#else
  return false;
#endif
}
