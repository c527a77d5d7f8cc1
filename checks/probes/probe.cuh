// Shared by the probes, on a GPU and, in the unit tests, on the CPU: device memory, launches, sections that count what differs and say
// what they measured, dot products against their definition. A probe is a header with a HEAD of its sample, which an H200 wrote and the
// unit tests hold the CPU to, and its sections; probe.cu is the program.
#pragma once
#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "checks/acceptance/device_tensors.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/probes/dot_families.hpp"
#include "common/emulator/tensor_core.hpp"
#include "common/fp16.hpp"

namespace lab::probe {

inline std::string at_work;  // the case whose kernel runs
// Until the process ends.
template <class T>
T* on_device(const void* from, std::size_t count) {
  static std::deque<Buffer<T>> allocated;
  T* const memory = allocated.emplace_back(count).data();
  check_cuda(from ? cudaMemcpy(memory, from, count * sizeof(T), cudaMemcpyHostToDevice)
                  : cudaMemset(memory, 0, count * sizeof(T)),
             "cudaMemcpy");
  return memory;
}
template <class T>
std::vector<T> from_device(const T* memory, std::size_t count) {
  std::vector<T> values(count);
  check_cuda(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost), "a kernel");
  return values;
}

// How a launch ended.
template <class... Params, class... Args>
cudaError_t ended(void (*kernel)(Params...), unsigned blocks, unsigned threads, unsigned smem, Args... args) {
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(smem)),
             "cudaFuncSetAttribute");
  kernel<<<blocks, threads, smem>>>(args...);
  check_cuda(cudaGetLastError(), "launch");
  return cudaDeviceSynchronize();
}
template <class... Params, class... Args>
void run(void (*kernel)(Params...), unsigned blocks, unsigned threads, unsigned smem, Args... args) {
  check_cuda(ended(kernel, blocks, threads, smem, args...), "a kernel");
}

inline std::uint32_t bits(float f) { return std::bit_cast<std::uint32_t>(f); }
// One section's cases, with what it has to say and what it measured, as lines.
struct Tally {
  static constexpr int SHOWN = 3;  // of the cases that differ
  long cases = 0, wrong = 0;
  std::string report, sample;
  template <class Words>
  void add(bool good, Words words) {
    ++cases;
    if (!good && wrong++ < SHOWN) report += std::string("  differs: ") + words() + "\n";
  }
};
struct Section {
  std::string name;
  std::function<void(Tally&)> work;
};

// a, b, c and the result of one dot product, as bits.
inline std::string in_words(const fp16 (&a)[16], const fp16 (&b)[16], float c, float result) {
  std::string text;
  for (const fp16* side : {a, b}) {
    for (int k = 0; k < 16; ++k) text += format("%04x", unsigned(side[k].bits));
    text += ' ';
  }
  return text + format("%08x %08x", bits(c), bits(result));
}

constexpr int SAMPLED = 40;  // dot products of each family
// Holds the results of a family's problems, a[row][16], b[16][column] and c[row][column] each, against the definition. Of problem i the
// sample has the dot product at row i, in the diagonal's column; without `every` nothing else is looked at.
template <class Problem>
void dot_products(const std::string& family, const std::string& word, const std::vector<Problem>& problems,
                  const std::vector<float>& results, bool every, Tally& tally) {
  constexpr int ROWS = std::extent_v<decltype(Problem::c), 0>, COLUMNS = std::extent_v<decltype(Problem::c), 1>;
  tally.sample += "# " + family + "\n";
  for (int i = 0; i < int(problems.size()); ++i) {
    const Problem& p = problems[std::size_t(i)];
    const int sampled_row = i % ROWS, sampled_column = (sampled_row / 16 * 8 + i % 8) % COLUMNS;
    for (int row = 0; row < ROWS; ++row)
      for (int column = 0; column < COLUMNS; ++column) {
        const bool sampled = row == sampled_row && column == sampled_column;
        if (!every && !sampled) continue;
        fp16 a[16], b[16];
        for (int k = 0; k < 16; ++k) a[k] = {p.a[row][k]}, b[k] = {p.b[k][column]};
        const float result = results[std::size_t((i * ROWS + row) * COLUMNS + column)];
        const float expected = tensor_core_dot(a, b, p.c[row][column]);
        const auto words = [&] { return in_words(a, b, p.c[row][column], result); };
        tally.add(bits(expected) == bits(result), [&] {
          return family + ": a b c result " + words() + format(", the model says %08x", bits(expected));
        });
        if (sampled && i < SAMPLED) tally.sample += word + words() + "\n";
      }
  }
}

}  // namespace lab::probe
