// Does this GPU's wgmma find and leave its matrices where common/wgmma_layout.hpp says, and compute what
// common/emulator/tensor_core.hpp says, bit for bit? Does the copy engine move boxes as checks/probes/box_cases.hpp
// says?
//
//   probe_wgmma [sample=FILE] [only=WORD]    on a GPU of sm_90: make probe-wgmma check=1. sample=FILE also writes what
//                                            was measured, for the unit tests; only= runs sections with WORD in their
//                                            name.
// Each section runs in a process of its own: one that faults or hangs costs itself alone.
#include <cuda_runtime.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "checks/probes/box_cases.hpp"
#include "checks/probes/dot_families.hpp"
#include "checks/probes/wgmma_cases.hpp"
#include "checks/probes/wgmma_kernels.cuh"
#include "common/emulator/tensor_core.hpp"
#include "common/launch.cuh"

using namespace lab;
using wgmma_cases::Case;

// What common/gpu/tensor_map.cpp says of a map that it refuses.
static std::string message;
void lab::set_launch_message(const std::string& text) { message = text; }

namespace {

constexpr int SECONDS = 60;     // for a section
constexpr int SHOWN = 3;        // cases that differ, per section
constexpr int DOT_BLOCKS = 64;  // per family and kind of A; 2048 dot products each
constexpr int SAMPLED = 40;     // dot products per family

std::string at_work;  // the case whose kernel runs

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "probe_wgmma: %s\n", why.c_str());
  std::exit(2);
}
void must(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    fail(at_work + (at_work.empty() ? "" : ": ") + what + ": " + cudaGetErrorString(error) + " " + message);
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
std::uint32_t bits(float f) { return std::bit_cast<std::uint32_t>(f); }

// One section's cases. Its process prints what differs and hands the numbers to the parent.
struct Tally {
  long cases = 0, wrong = 0;
  std::string sample;  // lines
  bool add(bool good, const std::function<std::string()>& words) {
    ++cases;
    if (!good && wrong++ < SHOWN) std::printf("  differs: %s\n", words().c_str());
    return good;
  }
};

// --- products by descriptors ----------------------------------------------------------------------------

void products(const char* section, Tally& tally) {
  float* const device = on_device<float>(nullptr, 64 * 256);
  unsigned* const base_device = on_device<unsigned>(nullptr, 1);
  for (const Case& c : wgmma_cases::all_cases()) {
    if (std::string_view(c.section) != section) continue;
    const wgmma_probe::ProductKernel kernel = wgmma_probe::product_kernel(c);
    must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, wgmma_cases::IMAGE_BYTES),
         "cudaFuncSetAttribute");
    kernel<<<1, 128, wgmma_cases::IMAGE_BYTES>>>(c, device, base_device);
    must(cudaGetLastError(), "launch");
    const std::vector<float> registers = from_device(device, std::size_t(64 * c.n));
    const unsigned base = from_device(base_device, 1)[0];
    if (base % 1024 || !wgmma_cases::fits(c, base)) fail("shared memory begins at an unforeseen address");
    std::vector<float> d(registers.size());
    for (int thread = 0; thread < 128; ++thread)
      for (int i = 0; i < c.n / 2; ++i) {
        const wgmma_layout::Place at = wgmma_layout::d(thread, i);
        d[std::size_t(at.row * c.n + at.column)] = registers[std::size_t(thread * (c.n / 2) + i)];
      }
    int wrong = 0, row_wrong = -1, column_wrong = -1;
    for (int row = 0; row < 64; ++row)
      for (int column = 0; column < c.n; ++column)
        if (d[std::size_t(row * c.n + column)] != wgmma_cases::expected(c, base, row, column)) {
          if (wrong++ == 0) row_wrong = row, column_wrong = column;
        }
    tally.add(wrong == 0, [&] {
      return wgmma_cases::spelt(c) + ": " + std::to_string(wrong) + " of " + std::to_string(64 * c.n) +
             " elements, the first D[" + std::to_string(row_wrong) + "][" + std::to_string(column_wrong) +
             "] = " + std::to_string(d[std::size_t(row_wrong * c.n + column_wrong)]) + ", expected " +
             std::to_string(wgmma_cases::expected(c, base, row_wrong, column_wrong));
    });
    char line[160];
    std::snprintf(line, sizeof line, "case %d %d %d %d %016llx %016llx %u %u %016llx\n", c.n, c.b_mn_major,
                  c.a_registers, c.accumulate, (unsigned long long)c.a, (unsigned long long)c.b, c.seed, base,
                  (unsigned long long)wgmma_cases::fnv(d));
    tally.sample += line;
  }
}

// --- the bits of dot products -----------------------------------------------------------------------------

using wgmma_probe::Dots;

// Four tiles of a family on the diagonal; beside it, rows of one meet columns of another.
Dots dots_of(const dot_families::Family& family, dot_families::Random& random) {
  Dots dots;
  for (int t = 0; t < 4; ++t) {
    dot_families::Tile tile;
    family.fill(tile, random);
    for (int row = 0; row < 16; ++row) {
      std::memcpy(dots.a[16 * t + row], tile.a[row], sizeof tile.a[row]);
      for (int column = 0; column < 32; ++column) dots.c[16 * t + row][column] = tile.c[row][column % 8];
    }
    for (int k = 0; k < 16; ++k) std::memcpy(&dots.b[k][8 * t], tile.b[k], sizeof tile.b[k]);
  }
  return dots;
}

std::string in_words(const Dots& p, int row, int column, float result) {
  std::string text;
  char word[16];
  for (int k = 0; k < 16; ++k) std::snprintf(word, sizeof word, "%04x", p.a[row][k]), text += word;
  text += ' ';
  for (int k = 0; k < 16; ++k) std::snprintf(word, sizeof word, "%04x", p.b[k][column]), text += word;
  std::snprintf(word, sizeof word, " %08x", bits(p.c[row][column])), text += word;
  std::snprintf(word, sizeof word, " %08x", bits(result)), text += word;
  return text;
}

void dot_products(bool a_registers, Tally& tally) {
  using Results = float[64][32];
  auto* const results_device = on_device<Results>(nullptr, DOT_BLOCKS);
  for (const dot_families::Family& family : dot_families::FAMILIES) {
    dot_families::Random random(20261121 + std::uint64_t(&family - dot_families::FAMILIES) * 2 + a_registers);
    std::vector<Dots> problems;
    for (int i = 0; i < DOT_BLOCKS; ++i) problems.push_back(dots_of(family, random));
    Dots* const device = on_device<Dots>(problems.data(), problems.size());
    constexpr unsigned SMEM = 4096;
    if (a_registers)
      wgmma_probe::dots<true><<<DOT_BLOCKS, 128, SMEM>>>(device, results_device);
    else
      wgmma_probe::dots<false><<<DOT_BLOCKS, 128, SMEM>>>(device, results_device);
    must(cudaGetLastError(), "launch");
    std::vector<float> results(DOT_BLOCKS * 64 * 32);
    must(cudaMemcpy(results.data(), results_device, results.size() * sizeof(float), cudaMemcpyDeviceToHost),
         "a kernel");
    must(cudaFree(device), "cudaFree");
    long equal = 0, plain = 0, cases = 0;
    for (int i = 0; i < DOT_BLOCKS; ++i)
      for (int row = 0; row < 64; ++row)
        for (int column = 0; column < 32; ++column) {
          fp16 a[16], b[16];
          const Dots& p = problems[std::size_t(i)];
          for (int k = 0; k < 16; ++k) a[k] = {p.a[row][k]}, b[k] = {p.b[k][column]};
          const float result = results[std::size_t((i * 64 + row) * 32 + column)];
          const float expected = tensor_core_dot(a, b, p.c[row][column], 16, TensorCore::sm_90);
          ++cases;
          plain += bits(tensor_core_dot(a, b, p.c[row][column], 16, TensorCore::fast)) == bits(result);
          equal += tally.add(bits(expected) == bits(result), [&] {
            char model[24];
            std::snprintf(model, sizeof model, "%08x", bits(expected));
            return "a b c result " + in_words(p, row, column, result) + ", the model says " + model;
          });
        }
    std::printf("  %-28s %7ld of %ld equal (a plain fp32 loop: %ld)\n", family.name, equal, cases, plain);
    tally.sample += std::string("# ") + family.name + "\n";
    for (int i = 0; i < SAMPLED; ++i) {
      const int row = i % 64, column = row / 16 * 8 + i % 8;
      tally.sample +=
          "dot " + in_words(problems[std::size_t(i)], row, column, results[std::size_t((i * 64 + row) * 32 + column)]) +
          "\n";
    }
  }
}

// --- boxes --------------------------------------------------------------------------------------------------

wgmma_probe::BoxAt box_of(const box_cases::Case& c) {
  wgmma_probe::BoxAt box{c.shape.rank, {c.at[0], c.at[1], c.at[2], c.at[3]}, 2 * box_cases::box_halves(c.shape)};
  return box;
}

// Launches the kernel that loads the box into `image`, or stores it; words[0]: where it lay, words[1]: whether it came.
void move_box(bool stores, const box_cases::Case& c, const TensorMap& map, unsigned char* image, unsigned* words) {
  constexpr int SMEM = wgmma_probe::BOX_IMAGE + 1024;
  must(stores ? cudaFuncSetAttribute(wgmma_probe::store_box, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM)
              : cudaFuncSetAttribute(wgmma_probe::load_box, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM),
       "attribute");
  if (stores)
    wgmma_probe::store_box<<<1, 128, SMEM>>>(map, box_of(c), words);
  else
    wgmma_probe::load_box<<<1, 128, SMEM>>>(map, box_of(c), image, words, words + 1);
  must(cudaGetLastError(), "launch");
}

void boxes(const std::string& kind, bool stores, Tally& tally) {
  auto* const image_device = on_device<unsigned char>(nullptr, wgmma_probe::BOX_IMAGE);
  auto* const words = on_device<unsigned>(nullptr, 2);
  for (const box_cases::Case& c : box_cases::all_cases()) {
    if (box_cases::kind(c) != kind || (stores && !box_cases::storable(c))) continue;
    at_work = box_cases::spelt(c);
    std::vector<std::uint16_t> tensor(box_cases::tensor_bytes(c) / 2);
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = std::uint16_t(stores ? 0xFFFF : 1 + i % 65521);
    auto* const device = on_device<std::uint16_t>(tensor.data(), tensor.size());
    TensorMap map;
    must(make_tensor_map(map, reinterpret_cast<const half*>(device), c.shape), "tensor map");
    long wrong = 0;
    move_box(stores, c, map, image_device, words);
    if (stores) {
      const unsigned base = from_device(words, 1)[0];
      std::vector<std::uint16_t> expected = tensor;
      for (std::uint32_t i = 0; i < box_cases::box_halves(c.shape); ++i)
        if (const auto half = box_cases::half_of(c, base, i); half.inside)
          expected[half.global / 2] = std::uint16_t(half.shared % 251 | (half.shared + 1) % 251 << 8);
      const auto stored = from_device(device, tensor.size());
      for (std::size_t i = 0; i < stored.size(); ++i) wrong += stored[i] != expected[i];
    } else {
      const auto said = from_device(words, 2);
      std::vector<unsigned char> expected(wgmma_probe::BOX_IMAGE, (unsigned char)wgmma_probe::BOX_POISON);
      for (std::uint32_t i = 0; i < box_cases::box_halves(c.shape); ++i) {
        const auto half = box_cases::half_of(c, said[0], i);
        const std::uint16_t value = half.inside ? tensor[half.global / 2] : 0;
        std::memcpy(&expected[half.shared], &value, 2);
      }
      const auto loaded = from_device(image_device, wgmma_probe::BOX_IMAGE);
      for (std::size_t i = 0; i < loaded.size(); ++i) wrong += loaded[i] != expected[i];
      if (!said[1]) wrong = wgmma_probe::BOX_IMAGE;  // its bytes were never counted
    }
    must(cudaFree(device), "cudaFree");
    tally.add(wrong == 0, [&] {
      return box_cases::spelt(c) + ": " + std::to_string(wrong) + (stores ? " halves" : " bytes") + " wrong";
    });
  }
}

// Too few bytes announced, the right number, too many. When a phase ends, the engine's steps decide, which differ from
// launch to launch; some of those that may must, and some must not, or the rule would be another.
void announced(Tally& tally) {
  constexpr int LAUNCHES = 30, SMEM = wgmma_probe::ANNOUNCED_IMAGE + 2048;
  for (const box_cases::Case& c : box_cases::announced_cases()) {
    at_work = box_cases::spelt(c);
    const unsigned blocks = box_cases::announced_launches(c), all = 2 * box_cases::box_halves(c.shape);
    auto* const tensor = on_device<half>(nullptr, box_cases::tensor_bytes(c) / 2);
    auto* const ended_device = on_device<unsigned>(nullptr, blocks);
    TensorMap map;
    must(make_tensor_map(map, tensor, c.shape), "tensor map");
    long ended_early = 0, never = 0;
    for (int launch = 0; launch < LAUNCHES; ++launch) {
      wgmma_probe::announce<<<blocks, 32, SMEM>>>(map, box_cases::ANNOUNCED_STEP, ended_device);
      must(cudaGetLastError(), "launch");
      const auto ended = from_device(ended_device, blocks);
      for (unsigned i = 0; i < blocks; ++i) {
        const unsigned bytes = box_cases::ANNOUNCED_STEP * (i + 1);
        const bool good = ended[i] ? box_cases::may_end(bytes, all) : !box_cases::must_end(bytes, all);
        tally.add(good, [&] {
          return box_cases::spelt(c) + ": " + std::to_string(bytes) + " announced, the phase " +
                 (ended[i] ? "ended" : "did not end");
        });
        if (box_cases::may_end(bytes, all) && !box_cases::must_end(bytes, all)) ++(ended[i] ? ended_early : never);
      }
    }
    tally.add(ended_early && never, [&] { return box_cases::spelt(c) + ": always the same with too few announced"; });
    std::printf("  %s: too few announced, the phase ended %ld times and never %ld\n", box_cases::spelt(c).c_str(),
                ended_early, never);
    must(cudaFree(tensor), "cudaFree");
    must(cudaFree(ended_device), "cudaFree");
  }
}

void refused(const box_cases::Refused& c, Tally& tally) {
  auto* const image = on_device<unsigned char>(nullptr, wgmma_probe::BOX_IMAGE);
  auto* const words = on_device<unsigned>(nullptr, 2);
  TensorMap map;
  must(make_tensor_map(map, on_device<half>(nullptr, box_cases::tensor_bytes(c.box) / 2), c.box.shape), "tensor map");
  move_box(c.store, c.box, map, image, words);
  const cudaError_t seen = cudaDeviceSynchronize();
  tally.add(seen == cudaErrorIllegalInstruction,
            [&] { return box_cases::spelt(c.box) + ": " + cudaGetErrorString(seen); });
}

// --- sections ---------------------------------------------------------------------------------------------------

struct Section {
  std::string name;
  std::function<void(Tally&)> work;
};
std::vector<Section> sections() {
  std::vector<Section> all;
  std::vector<const char*> names;
  for (const Case& c : wgmma_cases::all_cases())
    if (std::find_if(names.begin(), names.end(), [&](const char* n) { return std::string_view(n) == c.section; }) ==
        names.end())
      names.push_back(c.section);
  for (const char* name : names) all.push_back({name, [name](Tally& tally) { products(name, tally); }});
  all.push_back({"dot products, A from shared memory", [](Tally& tally) { dot_products(false, tally); }});
  all.push_back({"dot products, A from registers", [](Tally& tally) { dot_products(true, tally); }});
  std::vector<std::string> kinds;
  for (const box_cases::Case& c : box_cases::all_cases())
    if (std::ranges::find(kinds, box_cases::kind(c)) == kinds.end()) kinds.push_back(box_cases::kind(c));
  for (const bool stores : {false, true})
    for (const std::string& kind : kinds)
      all.push_back(
          {(stores ? "stored, " : "loaded, ") + kind, [kind, stores](Tally& tally) { boxes(kind, stores, tally); }});
  all.push_back({"announced: too few bytes, too many", announced});
  for (const box_cases::Refused& c : box_cases::refused_cases())
    all.push_back({std::string("refused: ") + c.why, [c](Tally& tally) { refused(c, tally); }});
  return all;
}

// Runs a section in a child process; false if it did not come to its end.
bool run(const Section& section, const std::string& sample_file, Tally& tally) {
  int ends[2];
  if (pipe(ends) != 0) fail("no pipe");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) fail("no process");
  if (child == 0) {
    close(ends[0]);
    Tally own;
    section.work(own);
    if (!sample_file.empty()) {
      std::FILE* const file = std::fopen(sample_file.c_str(), "a");
      if (!file || std::fwrite(own.sample.data(), 1, own.sample.size(), file) != own.sample.size() ||
          std::fclose(file) != 0)
        fail("cannot write " + sample_file);
    }
    const long numbers[2] = {own.cases, own.wrong};
    if (write(ends[1], numbers, sizeof numbers) != ssize_t(sizeof numbers)) fail("the pipe is closed");
    std::exit(0);
  }
  close(ends[1]);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(SECONDS);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      std::printf("  no end after %d s\n", SECONDS);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  long numbers[2];
  const bool ended = read(ends[0], numbers, sizeof numbers) == ssize_t(sizeof numbers);
  close(ends[0]);
  if (ended) tally.cases = numbers[0], tally.wrong = numbers[1];
  return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Asked in a child: CUDA must not begin before the fork.
std::string device_line() {
  int ends[2];
  if (pipe(ends) != 0) fail("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    cudaDeviceProp device{};
    must(cudaGetDeviceProperties(&device, 0), "no GPU");
    if (device.major != 9 || device.minor != 0)
      fail(std::string(device.name) + " is sm_" + std::to_string(10 * device.major + device.minor) +
           "; wgmma is sm_90's alone");
    int runtime = 0;
    must(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    const std::string line = std::string(device.name) + ", CUDA " + std::to_string(runtime / 1000) + "." +
                             std::to_string(runtime % 1000 / 10);
    std::exit(write(ends[1], line.data(), line.size()) == ssize_t(line.size()) ? 0 : 2);
  }
  close(ends[1]);
  char line[300] = {};
  const ssize_t length = read(ends[0], line, sizeof line - 1);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (length <= 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) std::exit(2);
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  std::string sample, only;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.rfind("sample=", 0) == 0 && word.size() > 7)
      sample = word.substr(7);
    else if (word.rfind("only=", 0) == 0 && word.size() > 5)
      only = word.substr(5);
    else
      fail("takes sample=FILE and only=WORD, or nothing");
  }
  const std::string device = device_line();
  std::printf("%s\n", device.c_str());
  const std::string unfinished = sample.empty() ? "" : sample + ".part";
  if (!sample.empty()) {
    std::FILE* const file = std::fopen(unfinished.c_str(), "w");
    if (!file) fail("cannot write " + unfinished);
    std::fprintf(file,
                 "# What wgmma gave on an %s, written by `make probe-wgmma sample=...`.\n"
                 "# case: N, B n innermost, A from registers, scale-D, descriptors of A and B counted from the image,\n"
                 "#   seed, the image's address, FNV-1a of D's words row by row (checks/probes/wgmma_cases.hpp).\n"
                 "# dot: a and b, 16 halves each, c, result; all as bits.\n",
                 device.c_str());
    std::fclose(file);
  }
  int passed = 0, failed = 0;
  for (const Section& section : sections()) {
    if (section.name.find(only) == std::string::npos) continue;
    Tally tally;
    const bool ended = run(section, unfinished, tally);
    if (ended)
      std::printf("%-36s %8ld of %ld wrong\n", section.name.c_str(), tally.wrong, tally.cases);
    else
      std::printf("%-36s did not come to its end\n", section.name.c_str());
    ++(ended && tally.wrong == 0 && tally.cases > 0 ? passed : failed);
  }
  if (passed + failed == 0) fail("no section has '" + only + "' in its name");
  if (!sample.empty() && std::rename(unfinished.c_str(), sample.c_str()) != 0) fail("cannot write " + sample);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed > 0;
}
