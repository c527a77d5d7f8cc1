// Uses of instructions that CUDA and PTX forbid: the launch fails with an error, a finding of a kind at the line of the
// instruction, and words.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <source_location>

#include "checks/tests/async_fixtures.hpp"
#include "checks/tests/test_exec.hpp"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mma.cuh"
#include "common/ptx/wgmma.cuh"

using namespace lab;
using namespace lab::ptx;

namespace {

using Kind = Finding::Kind;
constexpr std::size_t SMEM = 17 * 1024;

struct As {
  Kind kind;
  cudaError_t error = cudaErrorLaunchFailure;
  Schedule schedule = Schedule::ascending;
};
constexpr As COLLECTIVE{Kind::collective}, BARRIER{Kind::barrier}, MBARRIER{Kind::mbarrier},
    LAST_FIRST{Kind::collective, cudaErrorLaunchFailure, Schedule::descending},
    MISALIGNED{Kind::misaligned, cudaErrorMisalignedAddress}, INVALID{Kind::misaligned, cudaErrorInvalidValue},
    OUTSIDE{Kind::out_of_bounds, cudaErrorIllegalAddress};

// The lambda is on the lines that begin here.
void refused(const As& as, unsigned threads, const std::string& words, const std::function<void()>& thread,
             std::source_location here = std::source_location::current()) {
  CAPTURE(words);
  const Outcome outcome = run({1, threads, SMEM, in_order(as.schedule)}, thread);
  CHECK_MESSAGE(outcome.finished == as.error, cudaGetErrorName(outcome.finished));
  REQUIRE_MESSAGE(outcome.report.findings.size() == 1, outcome.message());
  const Finding& f = outcome.report.findings[0];
  CHECK(f.kind == as.kind);
  CHECK_CONTAINS(outcome.message(), words);
  if (f.second.file == here.file_name()) CHECK(std::abs(f.second.line - int(here.line())) <= 12);
}

half* shared_halves() { return SmemCursor().array<half>("s", 32, 24); }
MBarrier* fresh(int count, unsigned arrivals) {
  SmemCursor cursor;
  return barriers(cursor, count, arrivals);
}

}  // namespace

TEST_CASE("misuse: collectives of a warp") {
  int out[32];
  int line = 0;
  const Outcome exact = run({dim3(4, 2), 64}, [&] {
    if (blockIdx.x == 2 && blockIdx.y == 1 && threadIdx.x == 37) HERE(line, __syncwarp(0x00000F00u));
  });
  check_failed(exact, cudaErrorLaunchFailure, Kind::collective);
  CHECK(exact.message() == "probe: block (2,1,0) warp 1 lane 5" + at_line(line) +
                               "__syncwarp with mask 0xf00, which does not name the calling lane");
  const Finding& f = exact.report.findings[0];
  CHECK((f.second.warp == 1 && f.second.lane == 5 && f.second.line == line && f.block == 6u && f.count == 1u));

  refused(LAST_FIRST, 32, "lane 15 at ", [&] { out[0] = threadIdx.x < 16 ? __shfl_down_sync(0xFFFFu, 1, 1) : 0; });
  refused(COLLECTIVE, 32, "__shfl_sync reads lane 20, which its mask does not name",
          [&] { out[0] = threadIdx.x < 16 ? int(__shfl_sync(0x0000FFFFu, 1.0, 20)) : 0; });
  for (const int width : {0, 3, 33, 64, -8})
    refused(COLLECTIVE, 32, "with width " + std::to_string(width),
            [&] { out[lane_id()] = __shfl_sync(FULL, 1, 0, width); });
  refused(COLLECTIVE, 32, "__all_sync with mask 0xffffffff meets lanes 0..15 in __any_sync",
          [&] { out[0] = threadIdx.x < 16 ? __any_sync(FULL, 1) : __all_sync(FULL, 1); });
  // Lanes 8..30 are not in the mask of the waiting lanes: it is lane 31 that both sides need.
  refused(COLLECTIVE, 32, "lane 31 at ", [] {
    if (threadIdx.x < 8) __syncwarp(0x000000FFu | 0x80000000u);
    __syncwarp();
  });
  refused(LAST_FIRST, 32, "__shfl_down_sync with mask 0xffffffff meets lanes 31 in __shfl_up_sync",
          [&] { out[0] = threadIdx.x % 2 ? __shfl_up_sync(FULL, 1, 1) : __shfl_down_sync(FULL, 1, 1); });
  refused(COLLECTIVE, 32, "warp_max with mask 0xffffffff meets lanes 0..30 in warp_sum with mask 0xffffffff",
          [&] { out[0] = int(threadIdx.x < 31 ? warp_sum(1) : warp_max(1)); });
  refused(COLLECTIVE, 64, "lane 31: returned while lanes 0..30 wait for it in warp_sum with mask 0xffffffff",
          [] { threadIdx.x != 63 ? void(warp_sum(1)) : void(); });
}

TEST_CASE("misuse: ldmatrix, mma") {
  const Global global(512);
  unsigned r[4];
  refused(MISALIGNED, 32,
          "ldmatrix.x4.trans: the row that lane 13 points to, s[13][4], is 8 bytes past a multiple of 16",
          [&] { ldmatrix_x4_trans(r, shared_halves() + lane_id() * 24 + (lane_id() == 13 ? 4 : 0)); });
  refused(OUTSIDE, 32, "ldmatrix.x1: the row that lane 5 points to does not lie in shared memory", [&] {
    half* s = shared_halves();
    ldmatrix_x1(reinterpret_cast<unsigned(&)[1]>(r), lane_id() == 5 ? reinterpret_cast<const half*>(global.bytes) : s);
  });
  refused(COLLECTIVE, 32, "__syncwarp with mask 0xffffffff meets lanes 0..7 in ldmatrix",
          [&] { lane_id() < 8 ? ldmatrix_x4(r, shared_halves()) : __syncwarp(); });
  refused(COLLECTIVE, 32, "ldmatrix.x4.trans meets lane 0 in ldmatrix.x4",
          [&] { lane_id() < 8 ? ldmatrix_x4(r, shared_halves()) : ldmatrix_x4_trans(r, shared_halves()); });
  // x2 reads the addresses of lanes 0..15 alone.
  runs({1, 32, SMEM}, [&] {
    half* s = shared_halves();
    ldmatrix_x2(reinterpret_cast<unsigned(&)[2]>(r), lane_id() < 16 ? s + lane_id() * 24 : s + 1);
  });

  const auto multiply = [] {
    float c[4] = {};
    const unsigned a[4] = {}, b[2] = {};
    mma_m16n8k16(c, a, b);
  };
  refused(COLLECTIVE, 64, "__syncwarp with mask 0xffffffff meets lanes 0..19 in mma.sync",
          [&] { lane_id() < 20 ? multiply() : __syncwarp(); });
  refused(COLLECTIVE, 20, "mma.sync with mask 0xffffffff, which names lanes that have returned or do not exist",
          multiply);
}

TEST_CASE("misuse: cp.async") {
  const Global global(4096);
  const auto go = [&](const As& as, const std::string& words, std::size_t to, std::size_t from, std::size_t bytes,
                      std::size_t zeros = 0) {
    refused(as, 64, words, [&, to, from, bytes, zeros] {
      auto* s = SmemCursor().array<unsigned char>("s", 16, 16);
      if (threadIdx.x == 50)
        __pipeline_memcpy_async(to < 4096 ? s + to : global.bytes, global.bytes + from, bytes, zeros);
    });
  };
  go(MISALIGNED, "cp.async of 16 bytes to s[1][8], 8 past a multiple of 16", 24, 0, 16);
  go(MISALIGNED, "cp.async of 8 bytes from global memory, 4 past a multiple of 8", 0, 4, 8);
  go(MISALIGNED, "cp.async of 4 bytes to", 2, 0, 4);
  for (const std::size_t bytes : {0, 1, 2, 12, 32})
    go(INVALID, "cp.async of " + std::to_string(bytes) + " bytes", 0, 0, bytes);
  go(INVALID, "cp.async zero-fills more than it copies", 0, 0, 8, 9);
  go(OUTSIDE, "cp.async to an address outside shared memory", 4096, 0, 16);
}

TEST_CASE("misuse: named barriers") {
  const struct {
    int id, threads;
    const char* text;
  } cases[] = {
      {0, 64, "bar.arrive 0, 64: barrier 0 is that of __syncthreads; take one of 1 to 15"},
      {16, 64, "bar.arrive 16, 64: a block has the barriers 1 to 15"},
      {-1, 64, "bar.arrive -1, 64: a block has the barriers 1 to 15"},
      {1, 48, "bar.arrive 1, 48: a barrier counts whole warps; the threads must be a multiple of 32, at least 32"},
      {1, 0, "bar.arrive 1, 0: a barrier counts whole warps"},
      {1, 96, "bar.arrive 1, 96: the block has 64 threads"},
  };
  for (const auto& c : cases) refused(BARRIER, 64, c.text, [&] { barrier_arrive(c.id, c.threads); });
  refused(BARRIER, 96, "bar.sync 2, 96: warp 0 came to this barrier for 64 threads (",
          [] { barrier_sync(2, warp_id() == 0 ? 64 : 96); });
  refused(BARRIER, 96, "bar.arrive 2, 96: the warp comes to this barrier twice; 32 of 96 threads have arrived so far",
          [] {
            for (int i = 0; i < 2 && warp_id() == 0; ++i) barrier_arrive(2, 96);
          });
  refused(COLLECTIVE, 64, "bar.arrive with mask 0xffffffff meets lanes 0..15 in bar.sync",
          [] { lane_id() < 16 ? barrier_sync(1, 64) : barrier_arrive(1, 64); });
  refused(BARRIER, 64, "bar.sync 2, 64 meets lane 0 of its warp in bar.sync 1, 64",
          [] { barrier_sync(lane_id() < 16 ? 1 : 2, 64); });
}

TEST_CASE("misuse: mbarriers") {
  refused(MBARRIER, 32, "mbarrier.arrive on full[1], which no thread has initialised yet",
          [] { mbarrier_arrive(SmemCursor().array<MBarrier>("full", 2, 1) + 1); });
  refused({Kind::mbarrier}, 32, "mbarrier.try_wait on an address outside shared memory", [] {
    MBarrier elsewhere;
    mbarrier_wait(&elsewhere, 0);
  });
  refused(MBARRIER, 32, "mbarrier.init on full[0], which is a barrier already", [] { mbarrier_init(fresh(1, 3), 3); });
  refused(MBARRIER, 1, "mbarrier.init for 0 arrivals; 1 to 1048575 are allowed", [] { fresh(1, 0); });
  refused(MBARRIER, 1, "mbarrier.init for 1048576 arrivals", [] { fresh(1, 1u << 20); });
  refused({Kind::mbarrier, cudaErrorMisalignedAddress}, 1, "no multiple of 8",
          [] { mbarrier_init(reinterpret_cast<MBarrier*>(SmemCursor().array<unsigned char>("bytes", 64, 1) + 4), 1); });
  refused(MBARRIER, 1, "mbarrier.arrive on full[0]: all 1 arrivals of phase 0 have been made; it waits for 16 bytes",
          [] {
            MBarrier* full = fresh(1, 1);
            mbarrier_arrive_expect_tx(full, 16), mbarrier_arrive(full);
          });
  refused(MBARRIER, 1, "is to wait for 1048576 bytes; 1048575 are allowed",
          [] { mbarrier_arrive_expect_tx(fresh(1, 1), 1u << 20); });
  // As many as there may be; and of bytes no more than that in all.
  runs({1, 1, SMEM}, [] { fresh(1, (1u << 20) - 1); });
  refused(MBARRIER, 1, "is to wait for 1200000 bytes; 1048575 are allowed", [] {
    MBarrier* full = fresh(1, 2);
    for (int i = 0; i < 2; ++i) mbarrier_arrive_expect_tx(full, 600'000);
  });
}

TEST_CASE("misuse: the copy engine") {
  Global global(16 * 128);
  half* const data = reinterpret_cast<half*>(global.bytes);
  TensorShape shape;
  shape.rank = 2, shape.extent[0] = 64, shape.extent[1] = 16, shape.stride[0] = 2, shape.stride[1] = 128;
  shape.box[0] = 64, shape.box[1] = 8;
  TensorMap map;
  const TensorMap none{};
  REQUIRE(make_tensor_map(map, data, shape) == cudaSuccess);
  const auto go = [&](const As& as, const std::string& words, auto thread,
                      std::source_location here = std::source_location::current()) {
    const auto body = [&] {
      AlignedSmemCursor cursor;
      auto* tile = cursor.array<unsigned char, SWIZZLE_ALIGN>("tile", 2048, 1);
      thread(tile, barriers(cursor));
    };
    refused(as, 1, words, body, here);
  };
  constexpr As ILLEGAL{Kind::out_of_bounds, cudaErrorIllegalInstruction};
  go(MISALIGNED, "cp.async.bulk.tensor.2d to tile[64], 64 bytes past a multiple of 128",
     [&](unsigned char* tile, MBarrier* full) { tma_load_2d(tile + 64, &map, 0, 0, full); });
  go(ILLEGAL, "cp.async.bulk.tensor.3d with the map of a 2-D tensor",
     [&](unsigned char* tile, MBarrier* full) { tma_load_3d(tile, &map, 0, 0, 0, full); });
  go(ILLEGAL, "with a map that make_tensor_map has not made",
     [&](unsigned char* tile, MBarrier* full) { tma_load_2d(tile, &none, 0, 0, full); });
  go(MBARRIER, "cp.async.bulk.tensor.2d on tile[0], which no thread has initialised yet",
     [&](unsigned char* tile, MBarrier*) { tma_load_2d(tile, &map, 0, 0, reinterpret_cast<MBarrier*>(tile)); });
  go(MISALIGNED, "cp.async.bulk of 24 bytes; a multiple of 16 is allowed",
     [&](unsigned char* tile, MBarrier* full) { bulk_load(tile, data, 24, full); });
  go(MISALIGNED, "a global address 8 bytes past a multiple of 16",
     [&](unsigned char* tile, MBarrier* full) { bulk_load(tile, data + 4, 32, full); });
  go(MISALIGNED, "cp.async.bulk.tensor.2d from tile[16], 16 bytes past a multiple of 128",
     [&](unsigned char* tile, MBarrier*) { tma_store_2d(&map, tile + 16, 0, 0); });
  half outside[8];
  go(OUTSIDE, "cp.async.bulk.tensor.2d to an address outside shared memory",
     [&](unsigned char*, MBarrier* full) { tma_load_2d(outside, &map, 0, 0, full); });
}

TEST_CASE("misuse: wgmma") {
  const auto go = [](unsigned threads, const std::string& words, auto body,
                     std::source_location here = std::source_location::current()) {
    const auto whole = [&] {
      const Tiles t = tiles();
      float d[32];
      body(t, d);
    };
    refused(COLLECTIVE, threads, words, whole, here);
  };
  go(96, "by a warpgroup that is not whole: it is warps 4i to 4i + 3, and the block has 3",
     [](const Tiles& t, auto& d) { wgmma<64>(d, t.of_a, t.of_b, false); });
  go(128, "of a warpgroup ask for different products: B by descriptor",
     [](const Tiles& t, auto& d) { wgmma<64>(d, t.of_a, advance(t.of_b, threadIdx.x / 32 == 2 ? 32 : 0), false); });
  go(128, "of a warp ask for different products: scale-D 0 and 1",
     [](const Tiles& t, auto& d) { wgmma<64>(d, t.of_a, t.of_b, threadIdx.x == 17); });
  go(128, "has committed 1 groups", [](const Tiles& t, auto& d) {
    if (threadIdx.x < 32) wgmma_commit();
    wgmma<64>(d, t.of_a, t.of_b, false);
  });
  go(128, "wgmma.mma_async",
     [](const Tiles& t, auto& d) { threadIdx.x % 32 < 5 ? __syncwarp() : wgmma<64>(d, t.of_a, t.of_b, false); });
  refused(OUTSIDE, 128,
          "B, by descriptor 0x4000008000000240 (address 0x2400, leading 0, stride 2048, base "
          "offset 0, swizzle 128), reads shared address 0x4c00",
          [] {
            const Tiles t = tiles();
            float d[32];
            wgmma_fence();
            wgmma<64>(d, t.of_a, wgmma_descriptor(t.b, 0, 2048), false);
            wgmma_commit();
            wgmma_wait<0>();
          });
}

TEST_CASE("misuse: setmaxnreg") {
  refused(COLLECTIVE, 384, "setmaxnreg.dec 176: the thread has 168; .dec gives registers back",
          [] { registers_release<176>(); });
  refused(COLLECTIVE, 384, "setmaxnreg.inc 160: the thread has 168; .inc takes more", [] { registers_take<160>(); });
  refused(COLLECTIVE, 96, "it is for whole warpgroups; the block has 96 threads", [] { registers_release<24>(); });
  refused(COLLECTIVE, 256, "setmaxnreg.dec 24: warp 1 of this warpgroup has not come to the one before",
          [] { threadIdx.x < 32 ? registers_release<24>(), registers_release<24>() : void(); });
  refused(COLLECTIVE, 128, "setmaxnreg.dec 32: warp 0 of this warpgroup asked for 24",
          [] { threadIdx.x < 32 ? registers_release<24>() : registers_release<32>(); });
  refused(COLLECTIVE, 32 * 4, "setmaxnreg.dec 32 meets lane 0 of its warp in setmaxnreg.dec 24", [] {
    threadIdx.x < 16 ? registers_release<24>() : threadIdx.x < 32 ? registers_release<32>() : void();
  });
}
