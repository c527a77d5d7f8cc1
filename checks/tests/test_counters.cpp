// The CPU execution's counts against counts by hand: cycles at the banks for all pitches and widths, sectors, lanes that go
// together, steps waited, the copy engine, wgmma; and the least time that follows from counts.
#include <algorithm>
#include <cstdint>
#include <random>
#include <set>

#include "checks/counters/floor.hpp"
#include "checks/tests/instrumented.hpp"
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
Tally of(kernels::Kernel* kernel, Counted what, unsigned threads = 32) { return of(counted(kernel, threads), what); }

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

TEST_CASE("counters: a column of rows, as kernels read it" * instrumented()) {
  const auto turns = [](kernels::Kernel* kernel, int pitch) {
    kernels::pitch = pitch;
    const Tally t = of(kernel, Counted::shared_load);
    CHECK(t.instructions == 1);
    CHECK(t.lanes == 32);
    return t.wavefronts;
  };
  CHECK((turns(kernels::down_a_column_4, 8) == 2 && turns(kernels::down_a_column_4, 132) == 1));
  CHECK((turns(kernels::down_a_column_8, 128) == 32 && turns(kernels::down_a_column_8, 136) == 2));
  CHECK((turns(kernels::down_a_column_16, 128) == 32 && turns(kernels::down_a_column_16, 144) == 4));
  CHECK(of(kernels::one_word_for_all, Counted::shared_load).wavefronts == 1);
  // Neighbours of 4 bytes may be joined, then they are no column of words any more; those of 16 can not.
  kernels::pitch = 128;
  CHECK(of(kernels::down_a_column_4, Counted::shared_load).unavoidable == 1);
  CHECK(of(kernels::down_a_column_16, Counted::shared_load).unavoidable == 32);
}

TEST_CASE("counters: which lanes make an instruction" * instrumented()) {
  const Tally half = of(kernels::half_of_the_lanes, Counted::shared_store);
  CHECK((half.instructions == 1 && half.lanes == 16 && half.bytes == 64));
  const Tally loop = of(kernels::twice_as_often_in_odd_lanes, Counted::shared_store);
  CHECK((loop.instructions == 4 && loop.lanes == 2 * 32 + 2 * 16));
  const Tally partial = of(kernels::half_of_the_lanes, Counted::shared_store, 40);  // a warp of eight lanes
  CHECK((partial.instructions == 2 && partial.lanes == 20));
}

TEST_CASE("counters: a place in the source is worked out anew where its addresses lie otherwise" * instrumented()) {
  const ExecReport report = counted(kernels::other_places_each_time);
  CHECK(of(report, Counted::shared_store).instructions == 5);
  CHECK(of(report, Counted::shared_store).wavefronts == 1 + 32 + 1 + 16 + 1);
  CHECK(of(report, Counted::global_store).sectors == 4 + 4 + 5 + 9 + 9);
}

TEST_CASE("counters: a vector is one access, however its words are used" * instrumented()) {
  const ExecReport report = counted(kernels::whole_vectors);
  for (const Counted what : {Counted::shared_load, Counted::shared_store}) {
    const Tally t = of(report, what);
    CHECK((t.instructions == 1 && t.bytes == 512 && t.wavefronts == 4));
  }
}

TEST_CASE("counters: global sectors" * instrumented()) {
  CHECK(of(kernels::global_every_word, Counted::global_store).sectors == 4);
  CHECK(of(kernels::global_every_other, Counted::global_store).sectors == 8);
  CHECK(of(kernels::global_scattered, Counted::global_store).sectors == 32);
  const Tally copies = of(kernels::copies_16, Counted::cp_async);
  CHECK((copies.instructions == 1 && copies.sectors == 16 && copies.wavefronts == 4));
}

TEST_CASE("counters: an ldmatrix takes a turn per eight rows, and more where rows collide") {
  const auto turns = [](int pitch) {
    kernels::pitch = pitch;
    return of(kernels::ldmatrix_rows, Counted::ldmatrix).wavefronts;
  };
  CHECK((turns(16) == 4 && turns(144) == 4 && turns(32) == 8 && turns(64) == 16 && turns(128) == 32));
  CHECK(of(kernels::ldmatrix_swizzled, Counted::ldmatrix).wavefronts == 4);
  CHECK(of(kernels::ldmatrix_swizzled, Counted::ldmatrix).least == 4);
}

TEST_CASE("counters: exponentials, shuffles, lanes of theirs" * instrumented()) {
  const Tally exponentials = of(kernels::exponentials_of_some, Counted::exponential);
  CHECK((exponentials.instructions == 2 && exponentials.lanes == 40));
  CHECK(of(kernels::reductions, Counted::shuffle).instructions == 7);  // five of the warp's, two of the quad's
}

TEST_CASE("counters: who waits for whom, in steps" * instrumented()) {
  const Tally block = of(kernels::waits_for_the_slowest, Counted::barrier, 96);
  CHECK(block.instructions == 3);
  CHECK(block.waited == 20 + 10);  // warp 2 stores 20 times, warp 1 ten times, warp 0 not at all
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

TEST_CASE("floor: what each kind keeps busy") {
  const auto clocks_of = [](Counted what, Tally tally, Unit unit) { return clocks(what, tally)[std::size_t(unit)]; };
  Tally t;
  t.instructions = 8, t.lanes = 256, t.wavefronts = 5, t.sectors = 6, t.multiplies = 4096, t.bytes = 1280;
  CHECK(clocks_of(Counted::shared_load, t, Unit::issue) == 2);
  CHECK(clocks_of(Counted::shared_load, t, Unit::shared) == 5);
  CHECK(clocks_of(Counted::global_load, t, Unit::l2) == 3);
  CHECK(clocks_of(Counted::exponential, t, Unit::special) == 16);
  CHECK(clocks_of(Counted::wgmma, t, Unit::tensor) == 2);
  CHECK(clocks_of(Counted::mma, t, Unit::tensor) == doctest::Approx(12));
  CHECK(clocks_of(Counted::tma_load, t, Unit::shared) == 5 + 10);
  CHECK(clocks_of(Counted::shared_load, t, Unit::tensor) == 0);
}

namespace {

Tallies counted(unsigned threads, const std::function<void()>& kernel) {
  ExecOptions options;
  options.count = true;
  const Outcome outcome = runs({1, threads, SMEM, options}, kernel);
  REQUIRE(outcome.report.counted_blocks.size() == 1);
  return outcome.report.counted_blocks[0].tallies;
}
const Tally& of(const Tallies& tallies, Counted what) { return tallies[std::size_t(what)]; }

}  // namespace

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
    const Tallies t = counted(32, [&] {
      SHARED(half, tile, [8][64], 1024);  // a swizzled row spans 128 bytes
      SHARED(std::uint64_t, full, [1], 8);
      initialised(full);
      if (threadIdx.x == 0) {
        cpu::mbarrier_arrive(full, 512, true);
        cpu::tma_load(tile, {&map, {32, row}, 2}, full);
        AWAIT(full, 0);
      }
    });
    const Tally& load = of(t, Counted::tma_load);
    CHECK((load.instructions == 1 && load.bytes == 512 && load.sectors == (row == 0 ? 8 * 2 : 4 * 2)));
    CHECK((of(t, Counted::mbarrier_arrive).instructions == 1 && of(t, Counted::mbarrier_wait).instructions == 1));
  }
  cudaFree(data);
}

TEST_CASE("counters: what a wgmma multiplies, and reads from shared memory") {
  const auto product = [](bool from_registers) {
    return counted(128, [&] {
      SHARED(half, ones, [64][64], 1024);
      for (unsigned i = threadIdx.x; i < 64 * 64; i += 128) ones[i / 64][i % 64] = half(1.0f);
      cpu::fence_proxy_async();
      __syncthreads();
      float d[32] = {};
      const unsigned fragment[4] = {};
      // Rows of 128 bytes, swizzled: 1024 bytes from 8 rows to the next.
      const std::uint64_t tile =
          plain::shared_address(ones) >> 4 | std::uint64_t(1024 >> 4) << 32 | std::uint64_t(1) << 62;
      cpu::wgmma_fence();
      cpu::wgmma(d, 64, tile, from_registers ? fragment : nullptr, tile, false, false, true);
      cpu::wgmma_commit();
      cpu::wgmma_wait(0);
    });
  };
  for (const bool from_registers : {false, true}) {
    CAPTURE(from_registers);
    const Tally t = of(product(from_registers), Counted::wgmma);
    CHECK(t.instructions == 4);  // of a warpgroup's warps
    CHECK(t.multiplies == 64 * 64 * 16);
    CHECK(t.bytes == (from_registers ? 0 : 64 * 16 * 2) + 64 * 16 * 2);
    CHECK(t.wavefronts == t.bytes / 128);
  }
}

TEST_CASE("counters: a wait at an mbarrier lasts until the last to arrive has come, in steps") {
  const auto waited = [](int late) {
    return of(counted(64,
                      [late] {
                        SHARED(std::uint64_t, full, [1], 8);
                        initialised(full);
                        if (threadIdx.x >= 32) {
                          for (int i = 0; i < late; ++i) __syncwarp();
                          if (threadIdx.x == 32) cpu::mbarrier_arrive(full, 0, false);
                        } else {
                          AWAIT(full, 0);
                        }
                      }),
              Counted::mbarrier_wait);
  };
  CHECK((waited(0).instructions == 1 && waited(0).lanes == 32 && waited(0).waited == 0 && waited(7).waited == 7));
}
