// Attention, or its gradients, of tensors from files.
#pragma once
#include <span>

#include "checks/acceptance/subject.hpp"

namespace lab {

// The exit status. Throws BadInput for files and shapes that can't be used.
int run_files(const Subject& subject, std::span<char*> args);

}  // namespace lab
