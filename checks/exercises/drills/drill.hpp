// A drill: one instruction, or one mechanism of 60 lines, in a kernel file of its own, NAME.cu (drill.cuh). Here is the
// judge's half of it: the inputs, what must come out, bit for bit, and sometimes the order of events.
#pragma once
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "common/backend.hpp"

namespace lab {

// One launch of it.
struct Drill {
  std::string name = "drill";         // of several launches: what reports and bounds call this one
  std::vector<int> size{};            // what the kernel file's drill() gets
  std::vector<float> in{};            // the kernel gets halves
  std::vector<float> right{};         // what `out` must hold; halves there, if all of `out` is written as halves
  std::size_t rows = 0, columns = 0;  // of the matrix that `right` begins with, if it does
  bool halves = false;
  std::function<std::string(std::size_t)> of_out{};  // of out[i], in words: its input, or where a kernel finds it
  // Says why the order in which things happened is wrong, or "".
  std::function<std::string(std::span<const ExecEvent>)> order{};
};
using Launches = std::vector<Drill>;
template <class Case, class Make>
Launches of_each(std::initializer_list<Case> cases, Make make) {
  Launches all;
  for (const Case& one : cases) all.push_back(make(one));
  return all;
}

// NAME's is `extern "C" Launches drill_NAME()`, in one of the other files here. Small whole numbers: then no order of
// additions changes a bit.

// `make grade` chooses inputs by it: others than a learner has seen.
extern unsigned input_seed;
// -8 .. 7, a different one for each place.
inline float small_number(unsigned place) { return float(int((place + input_seed * 7919u) * 2654435761u >> 28) - 8); }
std::vector<float> small_numbers(std::size_t count);
// Adds A B to what must come out, row by row: the input holds A[M][K] and then B[K][N], or the transpose B[N][K].
void multiply(Drill& d, std::size_t M, std::size_t N, std::size_t K, bool transposed);

}  // namespace lab
