// In front of every kernel that is not instrumented, precompiled.
#include "common/cpu/plain_cuda.h"
