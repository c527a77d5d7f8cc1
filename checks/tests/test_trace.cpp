// Traces of steps: clocks and waits of small kernels.
#include <algorithm>

#include "checks/tests/test_exec.hpp"
#include "checks/trace/steps.hpp"

namespace {
using namespace lab;

struct Traced {
  Outcome outcome;
  trace::Picture picture;
  const trace::Slice* find(int warp, const std::string& name) const {
    for (const trace::Slice& s : picture.slices)
      if (s.warp == warp && s.name == name) return &s;
    return nullptr;
  }
};

Traced traced(unsigned threads, std::size_t smem, const std::function<void()>& kernel,
              Schedule schedule = Schedule::ascending) {
  trace::Steps steps;
  ExecOptions options = in_order(schedule);
  options.watcher = &steps, options.copies = options.products = Copies::at_issue;
  Traced t{run({1, threads, smem, options}, kernel), {}};
  t.picture = steps.picture(!t.outcome.ok());
  return t;
}

// Warp 1 asks for a load and makes ten more requests; warp 0 asks for the first at once, and needs nothing else.
void load_and_wait() {
  alignas(16) static unsigned char from[4096];  // the copy engine asks for it
  SHARED(unsigned char, tile, [16][256], 1024);
  SHARED(std::uint64_t, full, [2], 8);
  initialised(full);
  if (threadIdx.x == 32) {
    cpu::mbarrier_arrive(full, 256, true);
    cpu::bulk_load(tile, from, 256, full);
    cpu::mbarrier_arrive(full + 1, 10 * 256, true);
    for (int i = 1; i <= 10; ++i) cpu::bulk_load(tile[i], from + 256 * i, 256, full + 1);
  }
  if (threadIdx.x < 32) AWAIT(full, 0);
  __syncthreads();
  if (threadIdx.x < 32) AWAIT(full + 1, 0);
}

}  // namespace

TEST_CASE("trace: who waits goes on one step after what it waited for, under every schedule the same") {
  const Traced first = traced(64, 8192, load_and_wait);
  REQUIRE_MESSAGE(first.outcome.ok(), first.outcome.message());
  // Step 0: the barrier. Step 1: arrive; step 2: the load, which may be there at step 3. Warp 0 asks at step 1.
  const trace::Slice* wait = first.find(0, "wait full[0]");
  REQUIRE(wait);
  CHECK(wait->begin == 1);
  CHECK(wait->end == 4);
  // Warp 1: two steps, then eleven; warp 0 has to wait for it at the second barrier, from step 4 to 14 and one more.
  const auto barrier = std::ranges::find_if(first.picture.slices, [](const trace::Slice& s) {
    return s.warp == 0 && s.name == "__syncthreads" && s.begin > 0;
  });
  REQUIRE(barrier != first.picture.slices.end());
  CHECK(barrier->begin == 4);
  CHECK(barrier->end == 15);
  // Warp 0 asks for the second at step 15, when it has long landed.
  const trace::Slice* second = first.find(0, "wait full[1]");
  REQUIRE(second);
  CHECK((second->begin == 15 && second->end == 16));
  for (const Schedule schedule : {Schedule::descending, Schedule::round_robin, Schedule::random})
    CHECK(traced(64, 8192, load_and_wait, schedule).picture.slices == first.picture.slices);
}

TEST_CASE("trace: of a launch that hangs, who waits does so for ever") {
  const Traced t = traced(64, 0, [] { threadIdx.x < 32 ? cpu::named_barrier(3, 64, true) : __syncwarp(); });
  CHECK(!t.outcome.ok());
  const trace::Slice* sync = t.find(0, "bar.sync 3");
  REQUIRE(sync);
  CHECK(sync->for_ever);
  CHECK(sync->end == t.picture.steps);
}
