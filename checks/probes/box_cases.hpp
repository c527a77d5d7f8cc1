// Boxes for the copy engine: where each half of a box comes from and goes to, written as one formula, and the cases
// that `make probe what=wgmma check=1` tries on a GPU and the unit tests on the CPU.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/tensor_map.hpp"
#include "common/wgmma_layout.hpp"

namespace lab::box_cases {

struct Case {
  TensorShape shape;
  int at[MAX_TENSOR_RANK] = {};
};

inline std::uint32_t box_halves(const TensorShape& shape) {
  std::uint32_t halves = 1;
  for (int d = 0; d < shape.rank; ++d) halves *= shape.box[d];
  return halves;
}
struct HalfOfBox {
  bool inside;           // of the tensor; what lies outside is zero when loaded, and not stored
  std::uint64_t global;  // bytes from the tensor's first
  std::uint32_t shared;  // bytes from the box's first
};
// Half number i of the box, dimension 0 fastest; the box begins at shared address `base`. Rows lie without gaps, but
// under a swizzle each takes as much as that spans, however short it is.
inline HalfOfBox half_of(const Case& c, std::uint32_t base, std::uint32_t i) {
  HalfOfBox result{true, 0, 0};
  const std::uint32_t row = c.shape.box[0], span = std::uint32_t(swizzle_bytes(c.shape.swizzle));
  const std::uint32_t linear = span ? i / row * span + i % row * 2 : i * 2;
  result.shared = wgmma_layout::swizzled(base + linear, span) - base;
  for (int d = 0; d < c.shape.rank; ++d) {
    const std::int64_t index = c.at[d] + std::int64_t(i % c.shape.box[d]);
    i /= c.shape.box[d];
    if (index < 0 || index >= std::int64_t(c.shape.extent[d])) result.inside = false;
    result.global += std::uint64_t(index) * c.shape.stride[d];
  }
  return result;
}

// A dense tensor of these extents.
inline Case dense(std::vector<unsigned> extents, std::vector<unsigned> box, std::vector<int> at, Swizzle swizzle) {
  Case c;
  c.shape.rank = int(extents.size()), c.shape.swizzle = swizzle;
  std::uint64_t stride = 2;
  for (int d = 0; d < c.shape.rank; ++d) {
    const auto i = std::size_t(d);
    c.shape.extent[d] = extents[i], c.shape.box[d] = box[i], c.at[d] = at[i], c.shape.stride[d] = stride;
    stride = (stride * extents[i] + 15) / 16 * 16;
  }
  return c;
}
inline std::uint64_t tensor_bytes(const Case& c) {
  const int last = c.shape.rank - 1;
  return c.shape.extent[last] * (last ? c.shape.stride[last] : 2);
}

inline std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    const unsigned full = swizzle == Swizzle::none ? 64 : swizzle_bytes(swizzle) / 2;
    for (const unsigned inner : {full, full / 2}) {
      if (inner < 8) continue;
      for (const auto& [x, y] :
           {std::pair{0, 0}, {8, 3}, {-8, -2}, {-16, 5}, {int(200 - inner / 2) / 8 * 8, 70}, {184, 90}, {240, 0}})
        cases.push_back(dense({200, 100}, {inner, 64}, {x, y}, swizzle));
      cases.push_back(dense({96, 40, 5}, {inner, 16, 3}, {16, -4, 3}, swizzle));
      cases.push_back(dense({96, 40, 5}, {inner, 32, 2}, {64, 30, -1}, swizzle));
      cases.push_back(dense({64, 20, 4, 3}, {inner, 8, 2, 2}, {8, 15, 3, 2}, swizzle));
    }
  }
  return cases;
}

// A store must begin inside, or past the end.
inline bool storable(const Case& c) {
  for (int d = 0; d < c.shape.rank; ++d)
    if (c.at[d] < 0) return false;
  return c.shape.rank <= 3;
}
// Loads of which a wrong number of bytes is announced: any multiple of 16, to a few more than come.
inline std::vector<Case> announced_cases() {
  return {dense({64, 64}, {64, 64}, {0, 0}, Swizzle::b128), dense({16, 64}, {16, 64}, {0, 0}, Swizzle::b32)};
}
inline constexpr unsigned ANNOUNCED_STEP = 16;
inline unsigned announced_launches(const Case& c) { return 2 * box_halves(c.shape) / ANNOUNCED_STEP + 8; }
// Whether a phase that waits for this number of bytes of a box of `all` may end, and whether it must.
constexpr bool may_end(unsigned announced, unsigned all) {
  return announced == all || (announced < all && announced % LEAST_COUNTED == 0);
}
constexpr bool must_end(unsigned announced, unsigned all) { return announced == all; }

// Boxes that the engine refuses, as an illegal instruction.
struct Refused {
  const char* why;
  bool store;
  Case box;
};
inline std::vector<Refused> refused_cases() {
  const auto box = [](int x, int y) { return dense({200, 100}, {64, 64}, {x, y}, Swizzle::b128); };
  return {{"load at a column of no 16 bytes", false, box(4, 0)},
          {"store at a column of no 16 bytes", true, box(4, 0)},
          {"store at a column before the tensor", true, box(-8, 0)},
          {"store at a row before the tensor", true, box(0, -2)}};
}

inline std::string spelt(const Case& c) {
  std::string text = "box";
  for (int d = 0; d < c.shape.rank; ++d) text += (d ? " x " : " ") + std::to_string(c.shape.box[d]);
  text += " at";
  for (int d = 0; d < c.shape.rank; ++d) text += (d ? "," : " ") + std::to_string(c.at[d]);
  text += " of";
  for (int d = 0; d < c.shape.rank; ++d) text += (d ? " x " : " ") + std::to_string(c.shape.extent[d]);
  return text + ", swizzle " + std::to_string(swizzle_bytes(c.shape.swizzle));
}

// The kind of a box: the length of its rows and their swizzle.
inline std::string kind(const Case& c) {
  return "rows of " + std::to_string(2 * c.shape.box[0]) + " bytes, swizzle " +
         std::to_string(swizzle_bytes(c.shape.swizzle));
}

}  // namespace lab::box_cases
