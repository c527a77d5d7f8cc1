// Shared by the probes, on a GPU and, in the unit tests, on the CPU: device memory, a count of what differs, dot
// products in words, and samples of what was measured, written whole.
#pragma once
#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/tensor_core.hpp"
#include "common/fp16.hpp"

namespace lab::probe {

struct Failed : std::runtime_error {  // the probe itself cannot go on
  using std::runtime_error::runtime_error;
};
inline std::string at_work;  // the case whose kernel runs
inline void must(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw Failed(at_work + (at_work.empty() ? "" : ": ") + what + ": " + cudaGetErrorString(error));
}
template <class T>
T* on_device(const void* from, std::size_t count) {
  T* memory = nullptr;
  must(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
  must(from ? cudaMemcpy(memory, from, count * sizeof(T), cudaMemcpyHostToDevice)
            : cudaMemset(memory, 0, count * sizeof(T)),
       "cudaMemcpy");
  return memory;
}
template <class T>
std::vector<T> from_device(const T* memory, std::size_t count) {
  std::vector<T> values(count);
  must(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost), "a kernel");
  return values;
}

// How a launch ended.
template <class... Params, class... Args>
cudaError_t ended(void (*kernel)(Params...), unsigned blocks, unsigned threads, unsigned smem, Args... args) {
  must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(smem)), "cudaFuncSetAttribute");
  kernel<<<blocks, threads, smem>>>(args...);
  must(cudaGetLastError(), "launch");
  return cudaDeviceSynchronize();
}
template <class... Params, class... Args>
void run(void (*kernel)(Params...), unsigned blocks, unsigned threads, unsigned smem, Args... args) {
  must(ended(kernel, blocks, threads, smem, args...), "a kernel");
}

inline std::uint32_t bits(float f) { return std::bit_cast<std::uint32_t>(f); }

// One section's cases, with what it has to say and what it measured, as lines.
struct Tally {
  static constexpr int SHOWN = 3;  // of the cases that differ
  long cases = 0, wrong = 0;
  std::string report, sample;
  bool add(bool good, const std::function<std::string()>& words) {
    ++cases;
    if (!good && wrong++ < SHOWN) report += "  differs: " + words() + "\n";
    return good;
  }
  template <class... T>
  void say(const char* pattern, T... values) {
    char line[200];
    std::snprintf(line, sizeof line, pattern, values...);
    report += line;
  }
};
struct Section {
  std::string name;
  std::function<void(Tally&)> work;
};

struct Dot {
  fp16 a[16], b[16];
  float c;
};
// Of a problem with a[row][16], b[16][column] and c[row][column].
template <class Problem>
Dot dot_of(const Problem& p, int row, int column) {
  Dot dot;
  for (int k = 0; k < 16; ++k) dot.a[k] = {p.a[row][k]}, dot.b[k] = {p.b[k][column]};
  dot.c = p.c[row][column];
  return dot;
}
template <class... T>
std::string printed(const char* pattern, T... values) {
  char word[40];
  std::snprintf(word, sizeof word, pattern, values...);
  return word;
}
// a, b, c and the result, as bits.
inline std::string in_words(const Dot& dot, float result) {
  std::string text;
  for (const fp16* side : {dot.a, dot.b}) {
    for (int k = 0; k < 16; ++k) text += printed("%04x", unsigned(side[k].bits));
    text += ' ';
  }
  return text + printed("%08x %08x", bits(dot.c), bits(result));
}
// Holds results against the definition; `plain` counts those that a loop in fp32 gives too.
struct DotCount {
  TensorCore model;
  long cases = 0, equal = 0, plain = 0;
  void add(Tally& tally, const Dot& dot, float result) {
    const float expected = tensor_core_dot(dot.a, dot.b, dot.c, 16, model);
    ++cases;
    plain += bits(tensor_core_dot(dot.a, dot.b, dot.c, 16, TensorCore::fast)) == bits(result);
    equal += tally.add(bits(expected) == bits(result), [&] {
      return "a b c result " + in_words(dot, result) + ", the model says " + printed("%08x", bits(expected));
    });
  }
  void say(Tally& tally, const char* family) const {
    tally.say("  %-28s %7ld of %ld equal (a plain fp32 loop: %ld)\n", family, equal, cases, plain);
  }
};

// --- of the programs alone ---
// "NVIDIA H200, CUDA 13.0".
inline std::string device_line(const cudaDeviceProp& device) {
  int runtime = 0;
  must(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  return std::string(device.name) + ", CUDA " + std::to_string(runtime / 1000) + "." +
         std::to_string(runtime % 1000 / 10);
}
// sample=FILE: whole, or not there.
inline void write_sample(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  const std::string unfinished = path + ".part";
  std::FILE* const file = std::fopen(unfinished.c_str(), "w");
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (!file || std::fclose(file) != 0 || !written || std::rename(unfinished.c_str(), path.c_str()) != 0)
    throw Failed("cannot write " + path);
  std::printf("%zu bytes written to %s\n", text.size(), path.c_str());
}
// The value of the word KEY=VALUE among the arguments, which may be no others than these.
inline std::string word_of(int argc, char** argv, const std::string& key, std::string_view others = "") {
  std::string value;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], name = word.substr(0, word.find('='));
    const bool known = name == key || (!others.empty() && name == others);
    if (!known || word.size() < name.size() + 2) throw Failed("'" + word + "' means nothing here");
    if (name == key) value = word.substr(name.size() + 1);
  }
  return value;
}
// 0: all sections passed.
inline int finish(int passed, int failed) {
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed > 0;
}
template <class Body>
int main_of(const char* program, Body body) {
  try {
    return body();
  } catch (const Failed& failed) {
    std::fprintf(stderr, "%s: %s\n", program, failed.what());
    return 2;
  }
}

}  // namespace lab::probe
