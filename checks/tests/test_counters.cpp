// The CPU execution's counts against counts by hand, where no stage's recorded counts (make counters) tell: cycles at the banks for all
// pitches and widths, sectors, addresses that change, steps waited, boxes at an edge; and the least time that follows from counts.
#include <algorithm>
#include <cstdint>
#include <random>
#include <set>

#include "checks/counters/floor.hpp"
#include "checks/tests/test_counters_kernels.hpp"
#include "checks/tests/test_exec.hpp"
#include "common/emulator/counting.hpp"

using namespace lab;
namespace kernels = lab::counters_kernels;

namespace {

constexpr std::uint32_t ALL = 0xFFFFFFFFu;
constexpr std::size_t SMEM = 32768;

ExecReport counted(kernels::Kernel* kernel, unsigned threads = 32, const ExecOptions& asked = {}) {
  ExecOptions options = asked;
  options.count = true;
  float* out = nullptr;
  REQUIRE(cudaMalloc(&out, 64 * 32 * sizeof(float)) == cudaSuccess);
  const Outcome outcome = run({1, threads, SMEM, options}, [&] { kernel(out); });
  cudaFree(out);
  REQUIRE_MESSAGE(outcome.ok(), outcome.message());
  return outcome.report;
}
Tally of(const ExecReport& report, Counted what) {
  Tally sum;
  for (const CountedLine& line : report.counts)
    if (line.what == what) sum += line.tally;
  REQUIRE(report.counted_blocks.size() == 1);
  CHECK(report.counted_blocks[0].tallies[std::size_t(what)] == sum);  // by lines and by blocks: the same
  return sum;
}

}  // namespace

// 32 banks of 4 bytes. Lanes that want different words of one bank are served one after the other, lanes that want one
// word together; accesses of 8 and 16 bytes are served for 16 and 8 lanes at a time.
TEST_CASE("counters: wavefronts are those of the banks, for every pitch and width, and for lanes anywhere") {
  const auto by_hand = [](const std::uint64_t(&address)[32], unsigned bytes) {
    unsigned wavefronts = 0;
    for (unsigned first = 0; first < 32; first += 128 / bytes) {
      std::set<std::uint64_t> words[32];
      for (unsigned lane = first; lane < first + 128 / bytes; ++lane)
        for (unsigned i = 0; i < bytes / 4; ++i) words[(address[lane] / 4 + i) % 32].insert(address[lane] / 4 + i);
      wavefronts += unsigned(std::ranges::max(words, {}, &std::set<std::uint64_t>::size).size());
    }
    return wavefronts;
  };
  std::mt19937 dice(1);
  for (const unsigned bytes : {4u, 8u, 16u}) {
    CHECK(cpu::least_wavefronts(ALL, bytes) == bytes / 4);
    for (unsigned pitch = 0; pitch <= 1024; pitch += bytes) {
      CAPTURE(bytes);
      CAPTURE(pitch);
      std::uint64_t address[32];
      for (unsigned lane = 0; lane < 32; ++lane) address[lane] = pitch <= 256 ? lane * pitch : dice() % 128 * bytes;
      CHECK(cpu::shared_wavefronts(ALL, address, bytes) == by_hand(address, bytes));
    }
  }
}

TEST_CASE("counters: partial warps, two-byte accesses, sectors") {
  std::uint64_t address[32];
  for (unsigned lane = 0; lane < 32; ++lane) address[lane] = 128 * lane;  // all in bank 0
  CHECK(cpu::shared_wavefronts(0x1, address, 4) == 1);
  CHECK(cpu::shared_wavefronts(0x80000001, address, 4) == 2);
  CHECK(cpu::shared_wavefronts(0xFF, address, 16) == 8);
  CHECK(cpu::shared_wavefronts(0x101, address, 16) == 2);  // of two groups of eight
  CHECK(cpu::least_wavefronts(0x101, 16) == 2);
  CHECK(cpu::least_wavefronts(0x3, 16) == 1);
  for (unsigned lane = 0; lane < 32; ++lane) address[lane] = 2 * lane;
  CHECK(cpu::shared_wavefronts(ALL, address, 2) == 1);  // two lanes share a word
  CHECK(cpu::global_sectors(ALL, address, 2) == 2);
  for (unsigned lane = 0; lane < 32; ++lane) address[lane] = 16 + 16 * lane;
  CHECK(cpu::global_sectors(ALL, address, 16) == 17);  // half a sector late
  CHECK(cpu::global_sectors(0x5, address, 16) == 2);
}

TEST_CASE("counters: a place in the source is worked out anew where its addresses lie otherwise" * instrumented()) {
  const ExecReport report = counted(kernels::other_places_each_time);
  CHECK(of(report, Counted::shared_store).instructions == 5);
  CHECK(of(report, Counted::shared_store).wavefronts == 1 + 32 + 1 + 16 + 1);
  CHECK(of(report, Counted::global_store).sectors == 4 + 4 + 5 + 9 + 9);
}

TEST_CASE("counters: steps waited stand at the line of who waits, whoever comes last" * instrumented()) {
  under_all_schedules([](const ExecOptions& options) {
    const ExecReport report = counted(kernels::late_for_a_named_barrier, 64, options);
    CHECK(of(counted(kernels::waits_for_the_slowest, 96, options), Counted::shared_store).instructions == 10 + 20);
    CHECK(of(counted(kernels::waits_for_the_slowest, 96, options), Counted::barrier).waited == 30);
    int lines = 0;
    for (const CountedLine& line : report.counts) {
      if (line.what != Counted::named_barrier) continue;
      CAPTURE(line.text);
      CHECK(line.tally.waited == (line.text.find("true") != std::string::npos ? 20u : 0u));
      ++lines;
    }
    CHECK(lines == 2);
  });
}

TEST_CASE("floor: the mean, the largest block, and several of the smallest") {
  const auto block = [](std::uint64_t wavefronts) {
    CountedBlock b;
    Tally& tally = b.tallies[std::size_t(Counted::shared_load)];
    tally.unavoidable = wavefronts, tally.wavefronts = 1'000'000;  // what a compiler can save is in no floor
    return b;
  };
  const Rates rates{"a machine", 4, 100};
  const auto us = [&](std::vector<CountedBlock> blocks) {
    const Floor floor = floor_of(blocks, rates);
    CHECK(floor.binds == Unit::shared);
    return floor.least();
  };
  CHECK(us({block(400)}) == doctest::Approx(4));      // one block, one multiprocessor
  CHECK(us({8, block(400)}) == doctest::Approx(8));   // two each
  CHECK(us({9, block(400)}) == doctest::Approx(12));  // one SM gets three
  CHECK(us({block(100), block(100), block(100), block(100), block(900)}) == doctest::Approx(9));
  CHECK(us({block(500), block(500), block(500), block(500), block(100)}) == doctest::Approx(6));  // 100 beside a 500
  CHECK(floor_of({}, rates).least() == 0);
}

TEST_CASE("counters: a box's bytes, and the sectors of it that lie inside the tensor") {
  constexpr int COLUMNS = 64, ROWS = 10;
  half* data = nullptr;
  REQUIRE(cudaMalloc(&data, COLUMNS * ROWS * sizeof(half)) == cudaSuccess);
  const cuuint64_t size[] = {COLUMNS, ROWS}, stride[] = {COLUMNS * 2};
  const cuuint32_t box[] = {32, 8}, step[] = {1, 1};
  CUtensorMap map;
  REQUIRE(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, data, size, stride, box, step,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  for (const int row : {0, 6}) {  // the second box has four rows of eight
    const Outcome outcome = runs({1, 32, SMEM, {.count = true}}, [&] {
      SHARED(half, tile, [8][64], 1024);  // a swizzled row spans 128 bytes
      SHARED(std::uint64_t, full, [1], 8);
      initialised(full);
      if (threadIdx.x == 0) {
        cpu::mbarrier_arrive(full, 512, true);
        cpu::tma_load(tile, {&map, {32, row}, 2}, full);
        AWAIT(full, 0);
      }
    });
    const Tally load = of(outcome.report, Counted::tma_load);
    CHECK((load.instructions == 1 && load.bytes == 512 && load.sectors == (row == 0 ? 8 * 2 : 4 * 2)));
    for (const Counted what : {Counted::mbarrier_arrive, Counted::mbarrier_wait})
      CHECK(of(outcome.report, what).instructions == 1);
  }
  cudaFree(data);
}
