#include "common/multiprocessors.hpp"

#include <algorithm>

#include "common/backend.hpp"

namespace lab {

int multiprocessors() {
  constexpr int H200 = 132;
  return exec_options().multiprocessors > 0 ? exec_options().multiprocessors : H200;
}

unsigned persistent_blocks(unsigned pieces) {
  if (exec_options().multiprocessors == 0) return pieces;
  return std::min(pieces, unsigned(exec_options().multiprocessors));
}

}  // namespace lab
