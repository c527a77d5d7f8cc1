// The user's input cannot be used. main() prints the one line and exits with status 2.
#pragma once
#include <stdexcept>

namespace lab {

struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace lab
