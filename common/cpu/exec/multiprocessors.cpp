#include "common/backend.hpp"

namespace lab {

int multiprocessors();

int multiprocessors() {
  constexpr int ONE_PER_BLOCK = 1 << 30;
  return exec_options().multiprocessors > 0 ? exec_options().multiprocessors : ONE_PER_BLOCK;
}

}  // namespace lab
