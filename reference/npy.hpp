// fp16 tensors in NumPy's .npy format, so that anyone can feed a kernel from PyTorch or NumPy and read the
// result back. Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html (versions 1.0
// and 2.0 are read).
#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/fp16.hpp"
#include "common/shape.hpp"

namespace lab {

struct NpyTensor {
  std::array<int, 4> shape{};  // [B, H, S, D], each at least 1
  std::vector<fp16> values;    // C order
};

// Throws BadInput, one line starting with `name`, for anything but a little-endian fp16 array of four
// dimensions in C order that is exactly as long as it says. Reads nothing past `bytes`, and allocates nothing
// that `bytes` do not fill.
NpyTensor parse_npy(std::span<const std::byte> bytes, const std::string& name);

// The same from a regular file; its size is checked against its header before its values are read.
NpyTensor read_npy(const std::string& path);

// Writes version 1.0. The file appears whole or not at all: an existing one is replaced only by a complete
// one. Throws BadInput if it can't be written, or if `values` are not as many as the shape has; nothing is
// left behind then.
void write_npy(const std::string& path, const std::array<int, 4>& shape, std::span<const fp16> values);

}  // namespace lab
