// In front of every instrumented kernel, precompiled. A kernel's output is kept apart from the checks' output, which
// `make try` reads, and each line begins with its block and thread.
#include "common/cpu/plain_cuda.h"

extern "C" int lab_kernel_printf(const char* format, ...);
#define printf lab_kernel_printf
