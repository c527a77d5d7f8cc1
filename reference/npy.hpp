// fp16 tensors in NumPy's .npy format, so that anyone can feed a kernel from PyTorch or NumPy and read the
// result back. Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html (version 1.0,
// which has room for more than four dimensions need).
#pragma once
#include <array>
#include <span>
#include <string>
#include <vector>

#include "common/fp16.hpp"

namespace lab {

struct NpyTensor {
  std::array<int, 4> shape{};  // [B, H, S, D], each at least 1
  std::vector<fp16> values;    // C order
};

// Throws BadInput, one line, for anything but a regular file with a little-endian fp16 array of four dimensions in C order, which is exactly as
// long as its header says: that is known before its values are read.
NpyTensor read_npy(const std::string& path);

// Of as many values as the shape has. The file appears whole or not at all: an existing one is replaced only by a complete one. Throws
// BadInput if it can't be written; nothing is left behind then.
void write_npy(const std::string& path, const std::array<int, 4>& shape, std::span<const fp16> values);

}  // namespace lab
