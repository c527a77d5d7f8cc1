// In front of a kernel in plain CUDA that a learner or a bug has changed, precompiled: as kernel_printf.hpp.
#include "common/cpu/plain_cuda.h"

extern "C" int lab_kernel_printf(const char* format, ...);
#define printf lab_kernel_printf
