// The checker on asynchronous work: each rule kept and broken, under every schedule and time of copying. The kernels
// are in checks/tests/test_async_kernels.cpp.
#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "checks/tests/instrumented.hpp"
#include "checks/tests/kernel_runs.hpp"
#include "checks/tests/marked_line.hpp"
#include "checks/tests/test_async_kernels.hpp"
#include "checks/tests/test_async_products.hpp"
#include "common/backend.hpp"
#include "common/cpu/exec/block.hpp"
#include "common/launch.cuh"
#include "common/ptx/barrier.cuh"

// --- products without wgmma ---------------------------------------------------------------------------------------

namespace lab::async_tests {

// By the hooks as wgmma uses them: the last lane of all warps issues for all, each warp's wait is its own.
namespace {
struct Products {
  int lanes = 0;
  std::uint32_t id = 0;
  std::vector<std::uint32_t> issued;
  int waits[2] = {}, lanes_waited[2] = {};
} products;
}  // namespace

void product_issue(const void* shared, int bytes, int warps) {
  cpu::Block& block = *cpu::this_block();
  const auto pc = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1;
  if (++products.lanes == 32 * warps) {
    products.lanes = 0;
    products.issued.push_back(
        block.shadow().async_read_issued(block.shared().offset(shared), std::size_t(bytes), {0, 0, 0}, pc, warps));
  }
  cpu::named_barrier(7, 32 * warps, true);  // a warpgroup goes on together
}

void product_wait(int) {
  cpu::Block& block = *cpu::this_block();
  const int warp = block.self().warp;
  if (++products.lanes_waited[warp] % 32 == 0)
    block.shadow().async_read_done(products.issued.at(std::size_t(products.waits[warp]++)), warp);
  cpu::syncwarp(0xFFFFFFFFu);
}

}  // namespace lab::async_tests

namespace {

using namespace lab;
namespace kernels = lab::async_kernels;
using Kind = Finding::Kind;

const std::string KERNELS = "checks/tests/test_async_kernels.cpp";

struct Tensors {
  half *in = nullptr, *out = nullptr;
  kernels::Maps* maps = nullptr;
  Tensors() {
    constexpr std::size_t BYTES = 64 * 64 * sizeof(half);
    REQUIRE(cudaMalloc(&in, BYTES) == cudaSuccess);
    REQUIRE(cudaMalloc(&out, BYTES) == cudaSuccess);
    REQUIRE(cudaMalloc(&maps, sizeof *maps) == cudaSuccess);
    std::memset(in, 1, BYTES);
    TensorShape shape;
    shape.rank = 2, shape.swizzle = Swizzle::none;
    shape.extent[0] = shape.extent[1] = 64, shape.stride[0] = 2, shape.stride[1] = 128;
    shape.box[0] = 64, shape.box[1] = 8;
    REQUIRE(make_tensor_map(maps->in, in, shape) == cudaSuccess);
    REQUIRE(make_tensor_map(maps->out, out, shape) == cudaSuccess);
    shape.swizzle = Swizzle::b128;
    REQUIRE(make_tensor_map(maps->swizzled, in, shape) == cudaSuccess);
    maps->data = in;
  }
  ~Tensors() { cudaFree(in), cudaFree(out), cudaFree(maps); }
};

using Run = KernelRun<kernels::Kernel>;
constexpr std::uint64_t SEEDS = 4;

ExecReport check(const Run& run, ExecOptions options) {
  const Tensors tensors;
  int* out = nullptr;
  REQUIRE(cudaMalloc(&out, 96 * sizeof(int)) == cudaSuccess);
  cudaMemset(out, 0, 96 * sizeof(int));
  take_exec_report();
  async_tests::products = {};
  options.check = true, options.workers = 1;
  set_exec_options(options);
  const cudaError_t launched =
      launch(run.name, run.kernel, 1, 96, 4096, nullptr, static_cast<const kernels::Maps*>(tensors.maps), out);
  cudaDeviceSynchronize();
  set_exec_options({});
  cudaFree(out);
  CHECK(launched == cudaSuccess);
  return take_exec_report();
}

void silent(const Run& run) {
  under_all_options(SEEDS, [&](const ExecOptions& options) {
    const ExecReport report = check(run, options);
    CHECK_MESSAGE(report.findings.empty(), run.name << ":\n" << texts(report.findings));
    CHECK_MESSAGE(report.message.empty(), run.name << ": " << report.message);
  });
}

// Under every option there is a finding of the first of these kinds at one of the marked lines, and none of another
// kind.
void broken(const Run& run, const std::vector<Kind>& kinds, const std::vector<const char*>& marks, const char* text) {
  std::set<int> lines;
  for (const char* mark : marks) lines.insert(line_of(run.name, mark, KERNELS));
  int seen = 0, options_run = 0;
  under_all_options(SEEDS, [&](const ExecOptions& options) {
    const ExecReport report = check(run, options);
    CAPTURE(run.name);
    CAPTURE(texts(report.findings));
    CAPTURE(report.message);
    ++options_run;
    bool found = false;
    for (const Finding& f : report.findings) {
      bool allowed = false;
      for (const Kind kind : kinds) allowed = allowed || f.kind == kind;
      CHECK_MESSAGE(allowed, f.text);
      found = found || (f.kind == kinds[0] && lines.count(f.second.line) &&
                        (!f.first.valid || lines.count(f.first.line)) && f.text.find(text) != f.text.npos);
    }
    CHECK(found);
    seen += found;
  });
  CHECK(seen == options_run);
}

}  // namespace

TEST_CASE("async: who has waited for a load may read it, and who is ordered after one that has") {
  silent(KERNEL(load_waited));
  silent(KERNEL(load_one_waits_then_syncwarp));
  silent(KERNEL(load_one_waits_then_barrier));
  silent(KERNEL(load_one_waits_then_mbarrier));
  silent(KERNEL(load_one_waits_then_named));
  silent(KERNEL(load_polled));
}

TEST_CASE("async: no thread else may, however early the bytes come" * instrumented()) {
  const char* text = "the copy engine may still write here: no wait for its mbarrier comes before";
  broken(KERNEL(load_not_waited), {Kind::before_phase}, {"load", "read"}, text);
  broken(KERNEL(load_wrong_parity), {Kind::before_phase}, {"load", "read"}, text);
  broken(KERNEL(load_written_unwaited), {Kind::before_phase}, {"load", "read"}, text);
  broken(KERNEL(load_one_waits), {Kind::before_phase}, {"load", "read"}, text);
  broken(KERNEL(load_twice_unwaited), {Kind::before_phase}, {"load", "read"}, text);
}

TEST_CASE("async: what threads wrote is for the copy engine after fence.proxy.async and a barrier" * instrumented()) {
  silent(KERNEL(store_fenced));
  silent(KERNEL(store_fenced_by_issuer));
  silent(KERNEL(store_of_cp_async_fenced));
  silent(KERNEL(load_over_written_fenced));
  const char* text = "no fence.proxy.async by a thread that sees the write comes before";
  broken(KERNEL(store_unfenced), {Kind::proxy}, {"write", "work"}, text);
  broken(KERNEL(store_fence_before_write), {Kind::proxy}, {"write", "work"}, text);
  broken(KERNEL(store_fenced_by_stranger), {Kind::proxy}, {"write", "work"}, text);
  broken(KERNEL(store_of_cp_async_unfenced), {Kind::proxy}, {"write", "work"}, text);
  broken(KERNEL(load_over_written_unfenced), {Kind::proxy}, {"write", "work"}, text);
  broken(KERNEL(product_unfenced), {Kind::proxy}, {"write", "work"}, text);
}

TEST_CASE("async: a fence without a barrier orders nothing") {
  // Descending, the store comes first and reads what nothing has written.
  const int write = line_of("store_no_barrier", "write", KERNELS), work = line_of("store_no_barrier", "work", KERNELS);
  under_all_options(SEEDS, [&](const ExecOptions& options) {
    const ExecReport report = check(KERNEL(store_no_barrier), options);
    CAPTURE(texts(report.findings));
    REQUIRE(!report.findings.empty());
    for (const Finding& f : report.findings) {
      const bool race = f.kind == Kind::race_inter_warp, early = f.kind == Kind::uninitialised;
      CHECK((race || early));
      if (race) CHECK(std::set<int>{f.first.line, f.second.line} == std::set<int>{write, work});
      if (early) CHECK(f.second.line == work);
    }
  });
}

TEST_CASE("async: a slot is loaded again after its readers, and a reader of one warp speaks for itself" *
          instrumented()) {
  silent(KERNEL(ring_kept));
  silent(KERNEL(ring_lane_frees_for_warp));
  broken(KERNEL(ring_freed_early), {Kind::race_inter_warp, Kind::before_phase, Kind::mbarrier, Kind::deadlock},
         {"load", "read"}, "");
  broken(KERNEL(ring_lane_frees_unsynced), {Kind::race_inter_warp, Kind::before_phase, Kind::mbarrier, Kind::deadlock},
         {"load", "read"}, "");
}

TEST_CASE("async: a slot that nobody asks about, or that half of its readers free" * instrumented()) {
  // The schedule decides what shows first: the slot overwritten under a reader, a phase that a late warp misses, or
  // a hang. Something does.
  for (const Run& run : {KERNEL(ring_never_freed), KERNEL(ring_one_warp_counted)})
    under_all_options(SEEDS, [&](const ExecOptions& options) {
      const ExecReport report = check(run, options);
      CAPTURE(run.name);
      CAPTURE(report.message);
      CHECK(!report.findings.empty());
      for (const Finding& f : report.findings) {
        const bool known = f.kind == Kind::race_inter_warp || f.kind == Kind::mbarrier ||
                           f.kind == Kind::before_phase || f.kind == Kind::deadlock || f.kind == Kind::in_flight;
        CHECK_MESSAGE(known, f.text);
      }
    });
}

TEST_CASE("async: a store's bytes may change after its wait" * instrumented()) {
  silent(KERNEL(store_overwritten_after_wait));
  silent(KERNEL(store_overwritten_after_barrier));
  const char* text = "asynchronous work may still read here: nothing orders the write after its wait";
  broken(KERNEL(store_overwritten), {Kind::race_intra_warp}, {"store", "write"}, text);
  broken(KERNEL(store_overwritten_by_other), {Kind::race_inter_warp}, {"store", "write"}, text);
}

TEST_CASE("async: products read until every warp has waited" * instrumented()) {
  silent(KERNEL(product_waited));
  broken(KERNEL(product_overwritten), {Kind::race_inter_warp, Kind::race_intra_warp}, {"read", "write"},
         "may still read");
  broken(KERNEL(product_before_load), {Kind::before_phase}, {"load", "read"}, "");
  broken(KERNEL(product_freed_early), {Kind::race_inter_warp}, {"load", "read"}, "may still read");
  broken(KERNEL(product_one_warp_waits), {Kind::race_inter_warp}, {"load", "read"}, "may still read");
  broken(KERNEL(product_one_warp_frees), {Kind::race_inter_warp}, {"load", "read"}, "may still read");
}

TEST_CASE("async: an mbarrier's initialisation is fenced for the engine, and ordered for threads") {
  silent(KERNEL(init_fenced));
  silent(KERNEL(init_proxy_fenced));
  broken(KERNEL(init_not_fenced), {Kind::mbarrier}, {"init", "load"}, "no fence.mbarrier_init lies between");
  broken(KERNEL(init_not_ordered), {Kind::mbarrier}, {"init", "load"}, "no barrier orders after its mbarrier.init");
}

TEST_CASE("async: to arrive gives what the thread knows, to wait takes it" * instrumented()) {
  silent(KERNEL(arrive_orders));
  silent(KERNEL(arrive_after_syncwarp));
  silent(KERNEL(arrive_chain));
  silent(KERNEL(two_groups_in_turns));
  broken(KERNEL(arrive_is_of_one_thread), {Kind::race_inter_warp, Kind::uninitialised}, {"write", "read"}, "");
  // Whether it is read before it was written is the schedule's choice; that it is wrong is not.
  const int write = line_of("arrive_written_after", "write", KERNELS),
            read = line_of("arrive_written_after", "read", KERNELS);
  under_all_options(SEEDS, [&](const ExecOptions& options) {
    const ExecReport report = check(KERNEL(arrive_written_after), options);
    CAPTURE(texts(report.findings));
    CHECK(!report.findings.empty());
    for (const Finding& f : report.findings) {
      if (f.kind == Kind::uninitialised)
        CHECK(f.second.line == read);
      else
        CHECK(std::set<int>{f.first.line, f.second.line} == std::set<int>{write, read});
    }
  });
}

TEST_CASE("async: phases that no thread sees, waits that are late, bytes that nobody announced") {
  broken(KERNEL(phase_unseen), {Kind::mbarrier}, {"again", "wait"},
         "is complete before anybody has seen phase 0 complete");
  broken(KERNEL(wait_late), {Kind::mbarrier}, {"wait"}, "a wait that is late");
  broken(KERNEL(bytes_too_many), {Kind::mbarrier, Kind::in_flight}, {"load", "load2"}, "more");
}

TEST_CASE("async: no other instruction may touch the bytes of an mbarrier" * instrumented()) {
  broken(KERNEL(barrier_bytes_read), {Kind::mbarrier}, {"read"}, "only mbarrier instructions may touch them");
  broken(KERNEL(barrier_bytes_written), {Kind::mbarrier}, {"read"}, "only mbarrier instructions may touch them");
}

TEST_CASE("async: a swizzled box starts where the pattern does") {
  silent(KERNEL(tile_on_pattern));
  broken(KERNEL(tile_off_pattern), {Kind::misaligned}, {"load"}, "repeats every 1024 bytes");
}

TEST_CASE("async: nothing is in flight when the block ends" * instrumented()) {
  broken(KERNEL(load_never_waited), {Kind::in_flight}, {"load"}, "no thread had waited for phase 0");
  broken(KERNEL(store_never_waited), {Kind::in_flight}, {"load"}, "no thread had waited until this store");
  broken(KERNEL(store_never_committed), {Kind::in_flight}, {"load"}, "no thread had waited until this store");
}
