// Precompiled for what runs kernels and tests them on the CPU (common/make/build.mk). It stands before each of those
// files, which include what they use all the same.
#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "common/cpu/exec/block.hpp"
