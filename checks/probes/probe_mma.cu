// Does this GPU compute what common/emulator/tensor_core.hpp says, bit for bit, and do its lanes hold what
// common/mma_layout.hpp says? Random dot products of every family (checks/probes/dot_families.hpp) through
// mma.sync.m16n8k16; ldmatrix and stmatrix, plain and transposed, of numbered matrices.
//
//   probe_mma [sample=FILE]    on a GPU: make probe-mma check=1. sample=FILE also writes measured cases, for the unit tests
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "checks/probes/dot_families.hpp"
#include "common/emulator/tensor_core.hpp"
#include "common/mma_layout.hpp"
#include "common/ptx/ldmatrix.cuh"
#include "common/ptx/mma.cuh"
#include "common/ptx/stmatrix.cuh"

using namespace lab;
namespace layout = lab::mma_layout;
using dot_families::FAMILIES;
using dot_families::Family;
using dot_families::Tile;

constexpr int TILES = 512;  // per family; 128 dot products each
constexpr std::uint64_t SEED = 20261121;
constexpr int SAMPLED = 40;  // cases per family
constexpr int VARIANTS = 6;  // of ldmatrix: x1, x2, x4, then .trans

// One warp per tile.
__global__ void multiply_kernel(const Tile* tiles, float (*results)[16][8]) {
  const Tile& tile = tiles[blockIdx.x];
  const int lane = threadIdx.x;
  unsigned a[4] = {}, b[2] = {};
  float c[4];
  for (int e = 0; e < layout::A_ELEMENTS; ++e) {
    const layout::Place at = layout::a(lane, e);
    a[e / 2] |= unsigned(tile.a[at.row][at.column]) << (16 * (e % 2));
  }
  for (int e = 0; e < layout::B_ELEMENTS; ++e) {
    const layout::Place at = layout::b(lane, e);
    b[e / 2] |= unsigned(tile.b[at.row][at.column]) << (16 * (e % 2));
  }
  for (int e = 0; e < layout::C_ELEMENTS; ++e) {
    const layout::Place at = layout::c(lane, e);
    c[e] = tile.c[at.row][at.column];
  }
  ptx::mma_m16n8k16(c, a, b);
  for (int e = 0; e < layout::C_ELEMENTS; ++e) {
    const layout::Place at = layout::c(lane, e);
    results[blockIdx.x][at.row][at.column] = c[e];
  }
}

// Element (row, column) of matrix i is the number 64 i + 8 row + column, as bits. loaded[variant][lane][2 i + half].
__global__ void ldmatrix_kernel(std::uint16_t (*loaded)[32][8], std::uint16_t (*stored)[4][8][8]) {
  __shared__ __align__(16) half memory[4][8][8], back[4][8][8];
  const int lane = threadIdx.x;
  auto* numbers = reinterpret_cast<std::uint16_t*>(memory);
  [[maybe_unused]] auto* returned = reinterpret_cast<std::uint16_t*>(back);
  for (int i = lane; i < 256; i += 32) numbers[i] = std::uint16_t(i);
  __syncwarp();
  const half* row = memory[lane / 8][lane % 8];
  for (int variant = 0; variant < VARIANTS; ++variant) {
    unsigned x1[1] = {}, x2[2] = {}, x4[4] = {};
    if (variant == 0) ptx::ldmatrix_x1(x1, row);
    if (variant == 1) ptx::ldmatrix_x2(x2, row);
    if (variant == 2) ptx::ldmatrix_x4(x4, row);
    if (variant == 3) ptx::ldmatrix_x1_trans(x1, row);
    if (variant == 4) ptx::ldmatrix_x2_trans(x2, row);
    if (variant == 5) ptx::ldmatrix_x4_trans(x4, row);
    const int matrices = 1 << variant % 3;
    const unsigned* r = matrices == 1 ? x1 : matrices == 2 ? x2 : x4;
    for (int e = 0; e < 2 * matrices; ++e) loaded[variant][lane][e] = std::uint16_t(r[e / 2] >> (16 * (e % 2)));
#if __CUDA_ARCH__ >= 900
    for (int i = lane; i < 256; i += 32) returned[i] = 0xFFFF;
    __syncwarp();
    half* to = back[lane / 8][lane % 8];
    if (variant == 0) ptx::stmatrix_x1(to, x1);
    if (variant == 1) ptx::stmatrix_x2(to, x2);
    if (variant == 2) ptx::stmatrix_x4(to, x4);
    if (variant == 3) ptx::stmatrix_x1_trans(to, x1);
    if (variant == 4) ptx::stmatrix_x2_trans(to, x2);
    if (variant == 5) ptx::stmatrix_x4_trans(to, x4);
    __syncwarp();
    for (int i = lane; i < 64 * matrices; i += 32) (&stored[variant][0][0][0])[i] = returned[i];
    __syncwarp();
#endif
  }
}

namespace {

std::uint32_t bits(float f) { return std::bit_cast<std::uint32_t>(f); }

struct Dot {
  fp16 a[16], b[16];
  float c;
};
Dot dot_of(const Tile& tile, int row, int column) {
  Dot dot;
  for (int k = 0; k < 16; ++k) dot.a[k] = {tile.a[row][k]}, dot.b[k] = {tile.b[k][column]};
  dot.c = tile.c[row][column];
  return dot;
}

std::string in_words(const Dot& dot, float result) {
  std::string text;
  char word[16];
  for (const fp16* side : {dot.a, dot.b}) {
    for (int k = 0; k < 16; ++k) std::snprintf(word, sizeof word, "%04x", side[k].bits), text += word;
    text += ' ';
  }
  std::snprintf(word, sizeof word, "%08x ", bits(dot.c)), text += word;
  std::snprintf(word, sizeof word, "%08x", bits(result)), text += word;
  return text;
}

std::vector<Tile> tiles_of(const Family& family) {
  dot_families::Random random(SEED + std::uint64_t(&family - FAMILIES));
  std::vector<Tile> tiles(TILES);
  for (Tile& tile : tiles) family.fill(tile, random);
  return tiles;
}

struct Count {
  int passed = 0, failed = 0;
  void add(bool good) { ++(good ? passed : failed); }
  int finish() const {
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
  }
};

// results[tile][row][column] against the definition. Prints the family's line, and the first cases that differ.
bool compare(const Family& family, const std::vector<Tile>& tiles, const float (*results)[16][8], TensorCore model) {
  long cases = 0, equal = 0, plain = 0;
  for (std::size_t i = 0; i < tiles.size(); ++i)
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column) {
        const Dot dot = dot_of(tiles[i], row, column);
        const float expected = tensor_core_dot(dot.a, dot.b, dot.c, 16, model), result = results[i][row][column];
        ++cases;
        plain += bits(tensor_core_dot(dot.a, dot.b, dot.c, 16, TensorCore::fast)) == bits(result);
        if (bits(expected) == bits(result))
          ++equal;
        else if (cases - equal <= 3)
          std::printf("  differs: a b c result %s, the model says %08x\n", in_words(dot, result).c_str(),
                      bits(expected));
      }
  std::printf("%-28s %7ld of %ld equal (a plain fp32 loop: %ld)\n", family.name, equal, cases, plain);
  return equal == cases;
}

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "probe_mma: %s\n", why.c_str());
  std::exit(2);
}
void must(cudaError_t error) {
  if (error != cudaSuccess) fail(cudaGetErrorString(error));
}
template <class T>
T* on_device(const void* from, std::size_t count) {
  T* memory = nullptr;
  must(cudaMalloc(&memory, count * sizeof(T)));
  must(from ? cudaMemcpy(memory, from, count * sizeof(T), cudaMemcpyHostToDevice)
            : cudaMemset(memory, 0, count * sizeof(T)));
  return memory;
}

// Small integers: every product and sum is exact, so only a wrong place can make a wrong number.
bool mma_places(std::vector<float>& results, float (*device_results)[16][8]) {
  dot_families::Random random(SEED);
  std::vector<Tile> tiles(TILES);
  for (Tile& tile : tiles) {
    const auto small = [&] { return float(int(random() % 33) - 16); };
    for (auto& row : tile.a)
      for (std::uint16_t& x : row) x = to_fp16(small()).bits;
    for (auto& row : tile.b)
      for (std::uint16_t& x : row) x = to_fp16(small()).bits;
    for (auto& row : tile.c)
      for (float& x : row) x = small();
  }
  Tile* device = on_device<Tile>(tiles.data(), tiles.size());
  multiply_kernel<<<TILES, 32>>>(device, device_results);
  must(cudaMemcpy(results.data(), device_results, results.size() * sizeof(float), cudaMemcpyDeviceToHost));
  must(cudaFree(device));
  const auto* shaped = reinterpret_cast<const float(*)[16][8]>(results.data());
  long wrong = 0;
  for (int i = 0; i < TILES; ++i)
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column)
        wrong += double(shaped[i][row][column]) !=
                 double(tiles[i].c[row][column]) + dot_families::exact_sum(tiles[i], row, column);
  std::printf("%-28s %7ld of %d wrong\n", "mma: places of A, B and C", wrong, TILES * 128);
  return wrong == 0;
}

void matrix_places(bool has_stmatrix, Count& count) {
  using Loaded = std::uint16_t[32][8];
  using Stored = std::uint16_t[4][8][8];
  auto* loaded_device = on_device<Loaded>(nullptr, VARIANTS);
  auto* stored_device = on_device<Stored>(nullptr, VARIANTS);
  ldmatrix_kernel<<<1, 32>>>(loaded_device, stored_device);
  static Loaded loaded[VARIANTS];
  static Stored stored[VARIANTS];
  must(cudaMemcpy(loaded, loaded_device, sizeof loaded, cudaMemcpyDeviceToHost));
  must(cudaMemcpy(stored, stored_device, sizeof stored, cudaMemcpyDeviceToHost));
  for (int variant = 0; variant < VARIANTS; ++variant) {
    const int matrices = 1 << variant % 3;
    const bool transposed = variant >= 3;
    int wrong_loads = 0, wrong_stores = 0;
    for (int lane = 0; lane < 32; ++lane)
      for (int e = 0; e < 2 * matrices; ++e) {
        const layout::Place at = layout::ldmatrix(lane, e, transposed);
        wrong_loads += loaded[variant][lane][e] != 64 * (e / 2) + 8 * at.row + at.column;
      }
    for (int i = 0; i < 64 * matrices; ++i) wrong_stores += (&stored[variant][0][0][0])[i] != i;
    char name[32];
    std::snprintf(name, sizeof name, "ldmatrix.x%d%s", matrices, transposed ? ".trans" : "");
    std::printf("%-28s %7d of %d wrong\n", name, wrong_loads, 64 * matrices);
    count.add(wrong_loads == 0);
    if (!has_stmatrix) continue;
    name[0] = 's', name[1] = 't';
    std::printf("%-28s %7d of %d wrong\n", name, wrong_stores, 64 * matrices);
    count.add(wrong_stores == 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string sample;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.rfind("sample=", 0) != 0 || word.size() == 7) fail("takes sample=FILE, or nothing");
    sample = word.substr(7);
  }
  cudaDeviceProp device{};
  must(cudaGetDeviceProperties(&device, 0));
  if (device.major != 8 && device.major != 9)
    fail(std::string(device.name) + " is sm_" + std::to_string(10 * device.major + device.minor) +
         "; there is a model of sm_8x and of sm_90");
  const TensorCore model = device.major == 9 ? TensorCore::sm_90 : TensorCore::sm_89;
  const char* const model_name = device.major == 9 ? "sm_90" : "sm_89";
  int driver = 0, runtime = 0;
  must(cudaDriverGetVersion(&driver));
  must(cudaRuntimeGetVersion(&runtime));
  std::printf("%s, model %s\n", device.name, model_name);

  std::vector<float> results(TILES * 128);
  const auto* shaped = reinterpret_cast<const float(*)[16][8]>(results.data());
  auto* device_results = reinterpret_cast<float(*)[16][8]>(on_device<float>(nullptr, results.size()));
  std::string text =
      "# Dot products as the tensor core of one GPU gives them (mma.sync.m16n8k16): a and b, 16 halves each,\n"
      "# c, result; all as bits. Measured on an " +
      std::string(device.name) + ", CUDA " + std::to_string(runtime / 1000) + "." +
      std::to_string(runtime % 1000 / 10) + ", by `make probe-mma sample=...`.\n" + model_name + "\n";
  Count count;
  count.add(mma_places(results, device_results));
  matrix_places(device.major >= 9, count);
  for (const Family& family : FAMILIES) {
    const std::vector<Tile> tiles = tiles_of(family);
    Tile* tiles_device = on_device<Tile>(tiles.data(), tiles.size());
    multiply_kernel<<<TILES, 32>>>(tiles_device, device_results);
    must(cudaMemcpy(results.data(), device_results, results.size() * sizeof(float), cudaMemcpyDeviceToHost));
    must(cudaFree(tiles_device));
    count.add(compare(family, tiles, shaped, model));
    text += "# " + std::string(family.name) + "\n";
    for (int i = 0; i < SAMPLED; ++i)
      text += in_words(dot_of(tiles[i], i % 16, i % 8), shaped[i][i % 16][i % 8]) + "\n";
  }
  must(cudaGetLastError());
  if (!sample.empty()) {
    const std::string unfinished = sample + ".part";
    std::FILE* file = std::fopen(unfinished.c_str(), "w");
    const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (!file || std::fclose(file) != 0 || !written || std::rename(unfinished.c_str(), sample.c_str()) != 0)
      fail("cannot write " + sample);
    std::printf("%d cases written to %s\n", int(SAMPLED * std::size(FAMILIES)), sample.c_str());
  }
  return count.finish();
}
