// The watcher's events of asynchronous work: copies, arrivals, phases and waits, with the arrays' names.
#include <vector>

#include "checks/tests/async_fixtures.hpp"
#include "checks/tests/test_exec.hpp"

using namespace lab;
using namespace lab::ptx;
using Event = ExecEvent::Kind;

namespace {

struct Log final : ExecWatcher {
  std::vector<ExecEvent> events;
  void see(const ExecEvent& e) override {
    if (e.kind >= Event::tma_issue) events.push_back(e);
  }
};

}  // namespace

TEST_CASE("async watcher: a load, its barrier and who waits, in order") {
  Global from(1024), to(1024);
  for (const bool late : {true, false}) {
    Log log;
    ExecOptions options;
    options.watcher = &log, options.workers = 1, options.copies = late ? Copies::at_wait : Copies::at_issue;
    int expect = 0, load = 0, wait = 0, store = 0;
    runs({1, 33, 2048, options}, [&] {
      AlignedSmemCursor cursor;
      auto* tile = cursor.array<unsigned char, SWIZZLE_ALIGN>("tile", 4, 256);
      auto* full = barriers(cursor, 3);
      if (threadIdx.x == 32) {
        HERE(expect, mbarrier_arrive_expect_tx(full + 2, 512));
        HERE(load, bulk_load(tile + 256, from.bytes, 512, full + 2));
      }
      __syncthreads();
      if (threadIdx.x != 9) return;
      HERE(wait, mbarrier_wait(full + 2, 0));
      HERE(store, bulk_store(to.bytes, tile + 256, 512));
      bulk_commit();
      bulk_wait<0>();
    });
    struct Expected {
      Event kind;
      int warp, lane;
      const char* array;
      int row, bytes, line;
    };
    std::vector<Expected> expected{
        {Event::mbarrier_arrive, 1, 0, "full", 2, 512, expect}, {Event::tma_issue, 1, 0, "tile", 1, 512, load},
        {Event::tma_land, 1, 0, "tile", 1, 512, load},          {Event::mbarrier_land, 1, 0, "full", 2, 512, load},
        {Event::mbarrier_complete, 1, 0, "full", 2, 0, load},   {Event::mbarrier_pass, 0, 9, "full", 2, 0, wait},
        {Event::tma_issue, 0, 9, "tile", 1, 512, store},        {Event::tma_land, 0, 9, "tile", 1, 512, store}};
    if (late) expected.insert(expected.begin() + 2, {Event::mbarrier_wait, 0, 9, "full", 2, 0, wait});
    REQUIRE(log.events.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      const ExecEvent& e = log.events[i];
      CHECK(int(e.kind) == int(expected[i].kind));
      CHECK(e.warp == expected[i].warp);
      CHECK(e.lane == expected[i].lane);
      CHECK(std::string(e.array) == expected[i].array);
      CHECK(e.row == expected[i].row);
      CHECK(e.bytes == expected[i].bytes);
      CHECK(e.line == expected[i].line);
    }
  }
}

TEST_CASE("async watcher: a warpgroup's products, their group and its wait, once per warp, whenever they happen") {
  for (const Copies products : {Copies::at_wait, Copies::at_issue}) {
    Log log;
    ExecOptions options;
    options.watcher = &log, options.workers = 1, options.products = products;
    int issue = 0;
    runs({1, 128, 26 * 1024, options}, [&] {
      const Tiles t = tiles();
      float d[32];
      wgmma_fence();
      HERE(issue, wgmma<64>(d, t.of_a, wgmma_descriptor(t.b + 8 * 64, 0, 0), false));
      wgmma_commit();
      wgmma_wait<1>();
      wgmma_wait<0>();
    });
    for (int warp = 0; warp < 4; ++warp) {
      CAPTURE(warp);
      std::vector<ExecEvent> own;
      for (const ExecEvent& e : log.events)
        if (e.warp == warp) own.push_back(e);
      REQUIRE(own.size() == 4);
      CHECK(own[0].kind == Event::wgmma_issue);
      CHECK(std::string(own[0].array) == "b");
      CHECK(own[0].row == 8);
      CHECK(own[0].bytes == 64);
      CHECK(own[0].line == issue);
      CHECK(own[1].kind == Event::wgmma_commit);
      CHECK((own[2].kind == Event::wgmma_wait && own[2].bytes == 1));
      CHECK((own[3].kind == Event::wgmma_wait && own[3].bytes == 0));
    }
  }
}
