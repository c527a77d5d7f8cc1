// A drill: one instruction, or one mechanism of 60 lines, in a kernel file of its own, NAME.cu (drill.cuh). Here is the
// judge's half of it: the inputs, what must come out, bit for bit, and sometimes the order of events.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/backend.hpp"
#include "common/fp16.hpp"

namespace lab {

// One launch of it.
struct Drill {
  std::string name = "drill";  // of several launches: what reports and bounds call this one
  std::vector<int> size{};     // what the kernel file's drill() gets
  std::vector<fp16> in{};
  std::vector<float> right{};  // what `out` must hold; halves there, if all of `out` is written as halves
  bool halves = false;
  // Says why the order in which things happened is wrong, or "".
  std::function<std::string(std::span<const ExecEvent>)> order{};
};
using Launches = std::vector<Drill>;

// `make grade` chooses inputs by it: others than a learner has seen.
extern unsigned input_seed;
// -8 .. 7, a different one for each place. Small whole numbers: then no order of additions changes a bit.
inline float small_number(unsigned place) { return float(int((place + input_seed * 7919u) * 2654435761u >> 28) - 8); }
std::vector<fp16> small_numbers(std::size_t count);
std::vector<float> as_floats(const std::vector<fp16>& in);
// Adds A B to what must come out, row by row: the input holds A[M][K] and then B[K][N], or the transpose B[N][K].
void multiply(Drill& d, std::size_t M, std::size_t N, std::size_t K, bool transposed);

// drill.cpp's table has them by name.
namespace drills {
Launches box(), copies(), map(), matrices(), phases(), product(), warpgroup();  // instructions.cpp
Launches k_major(), mn_major(), store(), swizzle(), tile_map(), transposed();   // layouts.cpp
Launches chain(), producer(), ring(), shared_tile(), turns();                   // pipelines.cpp
Launches lazy(), merge(), pieces();                                             // softmax.cpp
}  // namespace drills

}  // namespace lab
