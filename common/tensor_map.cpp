#include "common/tensor_map.hpp"

#include <string>

namespace lab {
namespace {

constexpr std::uint64_t LARGEST_EXTENT = std::uint64_t(1) << 32, LARGEST_STRIDE = std::uint64_t(1) << 40;

std::string dimension(const char* what, int d, std::uint64_t value) {
  return std::string(what) + " " + std::to_string(value) + " of dimension " + std::to_string(d);
}

}  // namespace

std::string tensor_map_refusal(const half* base, const TensorShape& shape) {
  const std::string head = "tensor map: ";
  if (shape.rank < 1 || shape.rank > MAX_TENSOR_RANK)
    return head + "rank " + std::to_string(shape.rank) + "; 1 to " + std::to_string(MAX_TENSOR_RANK) + " are allowed";
  if (!base || reinterpret_cast<std::uintptr_t>(base) % 16) return head + "a base address that is no multiple of 16";
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.extent[d] < 1 || shape.extent[d] > LARGEST_EXTENT)
      return head + dimension("extent", d, shape.extent[d]) + "; 1 to 2^32 are allowed";
    if (d > 0 && (shape.stride[d] % 16 || shape.stride[d] >= LARGEST_STRIDE))
      return head + dimension("stride", d, shape.stride[d]) + "; a multiple of 16 below 2^40 is allowed";
    if (shape.box[d] < 1 || shape.box[d] > 256)
      return head + dimension("box", d, shape.box[d]) + "; 1 to 256 are allowed";
  }
  if (shape.stride[0] != sizeof(half))
    return head + dimension("stride", 0, shape.stride[0]) + "; it is the element's 2 bytes";
  const std::uint32_t inner = shape.box[0] * std::uint32_t(sizeof(half));
  if (inner % 16) return head + "rows of " + std::to_string(inner) + " bytes in the box; a multiple of 16 is allowed";
  const std::uint32_t most = shape.swizzle == Swizzle::none ? 512 : swizzle_bytes(shape.swizzle);
  if (inner > most)
    return head + "rows of " + std::to_string(inner) + " bytes in the box; the swizzle has room for " +
           std::to_string(most);
  return "";
}

}  // namespace lab
