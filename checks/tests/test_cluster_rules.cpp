// The checker on clusters: each rule kept and broken, under every schedule and time of copying. The kernels are in
// checks/tests/test_cluster_kernels.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "checks/tests/instrumented.hpp"
#include "checks/tests/kernel_runs.hpp"
#include "checks/tests/marked_line.hpp"
#include "checks/tests/test_cluster_kernels.hpp"
#include "common/backend.hpp"
#include "common/launch.cuh"

namespace {

using namespace lab;
namespace kernels = lab::cluster_kernels;
using Kind = Finding::Kind;

const std::string KERNELS = "checks/tests/test_cluster_kernels.cpp";

using Run = KernelRun<kernels::Kernel>;
constexpr std::uint64_t SEEDS = 2;

struct Done {
  cudaError_t error{};
  ExecReport report;
  std::vector<float> out;
};

constexpr int CLUSTERS = 2;

Done launched(const Run& run, unsigned blocks, ExecOptions options, bool overlaps_previous = false) {
  half* data = nullptr;
  TensorMap* map = nullptr;
  float* out = nullptr;
  const std::size_t places = CLUSTERS * blocks * kernels::THREADS;
  REQUIRE(cudaMalloc(&data, 64 * 64 * sizeof(half)) == cudaSuccess);
  REQUIRE(cudaMalloc(&map, sizeof *map) == cudaSuccess);
  REQUIRE(cudaMalloc(&out, places * sizeof(float)) == cudaSuccess);
  for (int i = 0; i < 64 * 64; ++i) data[i] = __float2half(float(i % 37));
  std::fill_n(out, places, 0.f);
  TensorShape shape;
  shape.rank = 2, shape.swizzle = Swizzle::none;
  shape.extent[0] = shape.extent[1] = 64, shape.stride[0] = 2, shape.stride[1] = 128;
  shape.box[0] = 64, shape.box[1] = 4;
  REQUIRE(make_tensor_map(*map, data, shape) == cudaSuccess);
  take_exec_report();
  set_exec_options(options);
  LaunchExtras extras;
  extras.cluster = dim3(blocks), extras.overlaps_previous = overlaps_previous;
  const cudaError_t refused = launch_with(extras, run.name, run.kernel, dim3(CLUSTERS * blocks), kernels::THREADS, 8192,
                                          nullptr, static_cast<const TensorMap*>(map), out);
  CHECK(refused == cudaSuccess);
  Done done;
  done.error = cudaDeviceSynchronize();
  done.report = take_exec_report();
  done.out.assign(out, out + places);
  set_exec_options({});
  cudaFree(out), cudaFree(map), cudaFree(data);
  return done;
}

// Silent, and out[block * 64 + thread] == expected(rank, thread) whatever the schedule.
template <class Expected>
void kept(const Run& run, unsigned blocks, Expected expected, bool overlaps_previous = false) {
  under_all_options(SEEDS, [&](ExecOptions options) {
    for (const bool check : {false, true}) {
      options.check = check, options.gaps = check;
      const Done done = launched(run, blocks, options, overlaps_previous);
      CAPTURE(check);
      CHECK_MESSAGE(done.error == cudaSuccess, run.name << ": " << done.report.message);
      CHECK_MESSAGE(done.report.findings.empty(), run.name << ":\n" << texts(done.report.findings));
      int wrong = 0;
      for (int i = 0; i < int(done.out.size()); ++i) {
        const int rank = i / kernels::THREADS % int(blocks), thread = i % kernels::THREADS;
        wrong += done.out[std::size_t(i)] != float(expected(rank, thread));
      }
      CHECK_MESSAGE(wrong == 0, run.name << " with " << blocks << " blocks: " << wrong << " wrong");
    }
  });
}

// Under every option something of these kinds is found at a marked line and nothing else; kinds[0] under some option,
// with this text.
void broken(const Run& run, const std::vector<Kind>& kinds, const std::vector<const char*>& marks, const char* text,
            bool overlaps_previous = false) {
  std::set<int> lines;
  for (const char* mark : marks) lines.insert(line_of(run.name, mark, KERNELS));
  int first_kind = 0;
  under_all_options(SEEDS, [&](ExecOptions options) {
    options.check = true;
    const Done done = launched(run, 2, options, overlaps_previous);
    CAPTURE(run.name);
    CAPTURE(texts(done.report.findings));
    CAPTURE(done.report.message);
    bool found = false;
    for (const Finding& f : done.report.findings) {
      CHECK_MESSAGE(std::find(kinds.begin(), kinds.end(), f.kind) != kinds.end(), f.text);
      found = found || (lines.count(f.second.line) && (!f.first.valid || !f.first.line || lines.count(f.first.line)));
      first_kind += f.kind == kinds[0] && f.text.find(text) != f.text.npos;
    }
    CHECK(found);
  });
  CHECK_MESSAGE(first_kind > 0, run.name << ": never '" << text << "'");
}

// Stopped, under every option, with this error and text at the marked line.
void stopped(const Run& run, Kind kind, const char* mark, const std::string& text) {
  const int line = mark ? line_of(run.name, mark, KERNELS) : 0;
  under_all_options(SEEDS, [&](ExecOptions options) {
    for (const bool check : {false, true}) {
      options.check = check;
      const Done done = launched(run, 2, options);
      CAPTURE(run.name);
      CAPTURE(done.report.message);
      CHECK(done.error != cudaSuccess);
      CHECK(done.report.message.find(text) != std::string::npos);
      bool found = false;
      for (const Finding& f : done.report.findings)
        found = found || (f.kind == kind && (!line || f.second.line == line));
      CHECK_MESSAGE(found, texts(done.report.findings));
    }
  });
}

}  // namespace

TEST_CASE("cluster rules: sums that are split over 2 and 4 blocks meet by st.async") {
  for (const int size : {2, 4})
    kept(KERNEL(merge_by_st_async), unsigned(size), [size](int rank, int thread) {
      float total = 0;
      for (int d = 0; d < size; ++d) total = total * 2 + float(d + 1) + float(rank) + float(thread) + 0.25f;
      return total;
    });
}

TEST_CASE("cluster rules: a relaxed arrival is enough for a barrier and an inbox that nobody has written to") {
  for (const int size : {2, 4})
    kept(KERNEL(merge_after_relaxed), unsigned(size), [size](int, int thread) {
      float total = 0;
      for (int d = 0; d < size; ++d) total = total * 2 + float(d + 1) + 0.5f + float(thread) + 0.25f;
      return total;
    });
}

TEST_CASE("cluster rules: plain stores and loads between cluster barriers" * instrumented()) {
  for (const int size : {2, 4}) {
    kept(KERNEL(store_then_barrier), unsigned(size),
         [size](int rank, int thread) { return 3 * float((rank + size - 1) % size * 100 + thread) + 0.5f; });
    kept(KERNEL(load_between_barriers), unsigned(size), [size](int, int) {
      float total = 0;
      for (int peer = 0; peer < size; ++peer) total = total * 2 + 5 * float(peer * 10);
      return total;
    });
    kept(KERNEL(loads_in_turns), unsigned(size), [size](int rank, int) {
      float total = 0;
      for (int turn = 0; turn < 3; ++turn) total = total * 2 + float((rank + 1) % size) + float(turn);
      return total;
    });
    kept(KERNEL(arrive_early_wait_late), unsigned(size), [size](int rank, int) {
      float total = 0;
      for (int turn = 0; turn < 4; ++turn) total = total * 2 + 4 * float(turn * 10 + (rank + size - 1) % size);
      return total;
    });
  }
  kept(KERNEL(store_before_carving), 2, [](int rank, int) { return rank == 1 ? 12 : 0; });
}

TEST_CASE("cluster rules: plain stores and remote arrivals") {
  for (const int size : {2, 4}) {
    const auto from_before = [size](int rank, int) { return 4 * float((rank + size - 1) % size); };
    kept(KERNEL(store_then_arrive), unsigned(size), from_before);
    kept(KERNEL(store_then_one_arrives), unsigned(size), from_before);
    kept(KERNEL(token_ring), unsigned(size), [size](int rank, int thread) {
      float token = 1, seen = 0;
      for (int hop = 0; hop <= 3 * size; ++hop) {
        if (hop) token = token * 2 + float(hop % size);
        if (hop % size == rank) seen = token;
      }
      return thread == 0 ? seen : 0;
    });
  }
  kept(KERNEL(queue_kept), 2, [](int rank, int) {
    float total = 0;
    for (int item = 0; item < 6; ++item) total = total * 2 + 4 * float(item * item);
    return rank == 1 ? total : 0;
  });
}

TEST_CASE("cluster rules: a load by one block arrives in all") {
  for (const unsigned size : {1u, 2u, 4u})
    kept(KERNEL(multicast_halves), size, [](int, int thread) {
      float total = 0;
      for (int row = 0; row < 8; ++row) total += float((row * 64 + thread) % 37);
      return total;
    });
}

TEST_CASE("cluster rules: no access before the other block is known to run") {
  broken(KERNEL(store_before_start), {Kind::before_start, Kind::race_inter_warp, Kind::race_intra_warp}, {"store"},
         "tells this thread that the block has started");
}

TEST_CASE("cluster rules: no block ends while another may reach it" * instrumented()) {
  const char* text = "its shared memory may be gone";
  broken(KERNEL(exit_before_store), {Kind::early_exit}, {"store"}, text);
  broken(KERNEL(exit_before_load), {Kind::early_exit}, {"load"}, text);
  broken(KERNEL(exit_before_arrive), {Kind::early_exit}, {"arrive"}, text);
  broken(KERNEL(exit_before_st_async), {Kind::early_exit}, {"store"}, "no thread had waited for phase 0");
}

TEST_CASE("cluster rules: what another block stores is read after a barrier, or after its bytes were waited for" *
          instrumented()) {
  broken(KERNEL(read_before_barrier), {Kind::race_inter_warp, Kind::race_intra_warp}, {"store", "read"},
         "no barrier and no mbarrier orders them");
  broken(KERNEL(relaxed_hands_on_nothing), {Kind::race_inter_warp, Kind::race_intra_warp}, {"store", "read"},
         "no barrier and no mbarrier orders them");
  broken(KERNEL(read_before_bytes), {Kind::before_phase, Kind::race_inter_warp, Kind::race_intra_warp},
         {"store", "read"}, "may still write here");
}

TEST_CASE("cluster rules: what a block's threads read is written by others after them" * instrumented()) {
  broken(KERNEL(written_under_readers), {Kind::race_inter_warp, Kind::race_intra_warp}, {"store", "read"}, "(WAR)");
  broken(KERNEL(written_under_both_blocks), {Kind::race_inter_warp}, {"load", "write"}, "(WAR)");
  broken(KERNEL(st_async_over_write), {Kind::race_inter_warp, Kind::before_phase}, {"write", "store"}, "(WAW)");
  broken(KERNEL(queue_overrun),
         {Kind::race_inter_warp, Kind::race_intra_warp, Kind::before_phase, Kind::mbarrier, Kind::deadlock},
         {"store", "read"}, "(WAR)");
  broken(KERNEL(fifth_write_unordered), {Kind::race_inter_warp}, {"store"}, "of block 0 of the cluster");
}

TEST_CASE(
    "cluster rules: a remote arrival comes after the barrier's initialisation, and no more bytes than announced") {
  broken(KERNEL(init_not_ordered), {Kind::mbarrier}, {"init", "arrive"}, "mbarrier.init");
  broken(KERNEL(relaxed_without_fence), {Kind::mbarrier}, {"init", "arrive"}, "mbarrier.init");
  broken(KERNEL(bytes_too_many), {Kind::mbarrier, Kind::early_exit}, {"store"},
         "was complete before the bytes of this st.async had come");
}

TEST_CASE("cluster rules: a launch that may overlap the one before touches global memory after its wait") {
  const auto of_the_tile = [](int, int thread) { return thread % 37; };
  for (const bool overlaps : {false, true}) kept(KERNEL(one_waits_for_the_launch_before), 2, of_the_tile, overlaps);
  kept(KERNEL(load_before_dependency), 2, [](int, int) { return 1; });  // its launch does not overlap
  const char* const may_write = "the launch before may still write it: no thread of the block has passed";
  broken(KERNEL(load_before_dependency), {Kind::before_dependency}, {"load"}, may_write, true);
  broken(KERNEL(copy_before_dependency), {Kind::before_dependency}, {"copy"}, may_write, true);
  broken(KERNEL(tma_before_dependency), {Kind::before_dependency}, {"request"}, may_write, true);
  broken(KERNEL(store_before_dependency), {Kind::before_dependency}, {"store"}, "may still read it", true);
}

TEST_CASE("cluster rules: misuse stops the launch") {
  stopped(KERNEL(wait_without_arrive), Kind::cluster, "wait",
          "barrier.cluster.wait by a thread that has not arrived (barrier.cluster.arrive)");
  stopped(KERNEL(arrive_twice), Kind::cluster, "arrive",
          "barrier.cluster.arrive by a thread that has arrived and not waited (barrier.cluster.wait) yet");
  stopped(KERNEL(rank_outside), Kind::cluster, "mapa", "mapa for block 2 of a cluster of 2 blocks");
  stopped(KERNEL(barrier_elsewhere), Kind::cluster, "store",
          "st.async to block 1 of the cluster with an mbarrier of block 0 of the cluster");
}

TEST_CASE("cluster rules: a deadlock tells of every block") {
  const int stuck = line_of("one_warp_never_arrives", "stuck", KERNELS);
  const int barrier = line_of("one_warp_never_arrives", "barrier", KERNELS);
  const std::string at = "(" + KERNELS + ":";
  stopped(KERNEL(one_warp_never_arrives), Kind::deadlock, nullptr, "deadlock: no thread of the cluster can go on.");
  stopped(KERNEL(one_lane_never_arrives), Kind::deadlock, nullptr,
          "Warp 0 lanes 0..6,8..31 wait in barrier.cluster.arrive for lanes 7");
  const Done done = launched(KERNEL(one_warp_never_arrives), 2, {});
  CHECK(done.error == cudaErrorLaunchTimeout);
  const std::string come = "the cluster's barrier, at which 96 of 128 threads have arrived " + at;
  for (const std::string& piece :
       {"Block 0 of the cluster: Warps 0..1 lanes 0..31 wait at " + come + std::to_string(barrier) + ").",
        "Block 1 of the cluster: Warp 0 lanes 0..31 wait at " + come + std::to_string(barrier) + ").",
        "Warp 1 lanes 0..31 wait for phase 0 of full[0] (parity 0): 1 of 1 arrivals missing " + at +
            std::to_string(stuck) + ")."})
    CHECK_MESSAGE(done.report.message.find(piece) != std::string::npos, done.report.message << " lacks " << piece);
}
