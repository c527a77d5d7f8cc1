// One block's execution on a clock of steps, made from a watcher's events (common/backend.hpp).
//
// Every lane has a clock. An access to shared memory, a request for a copy, the begin of a product, a call of a barrier
// or a wait: each takes a lane one step. A collective first brings the lanes of its warp to the latest of their clocks.
// A lane that waits goes on at the step after the last arrival that it waited for. Copies and products take no steps
// themselves: what is asked for may be there one step later. So steps say what can only come after what, and how much a
// warp has to do between; not how long anything takes. They do not depend on the order in which the CPU runs the warps.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/backend.hpp"

namespace lab::trace {

// One activity of a warp, over some steps.
struct Slice {
  std::uint32_t block = 0;
  int warp = 0;
  long begin = 0, end = 0;
  std::string kind, name;  // kind: work, copy, wait, barrier
  bool for_ever = false;   // the launch ended before it did
  bool operator==(const Slice&) const = default;
};

struct Picture {
  std::map<std::uint32_t, int> warps;  // of each block
  std::vector<Slice> slices;
  long steps = 0;
};

class Steps final : public ExecWatcher {
 public:
  void see(const ExecEvent& e) override;
  // `failed`: the launch did not end well, so whoever waits does so for ever. Call once.
  Picture picture(bool failed);

 private:
  static constexpr int LANES = 32;

  struct Name {
    std::string kind, name;
    std::uint64_t turn;  // tells two calls of one barrier apart
    auto operator<=>(const Name&) const = default;
  };
  struct Cell {
    const Name* what = nullptr;
    int lane = LANES;      // whose step named it; -1: the warp's
    bool product = false;  // an mma.sync or WMMA product
  };
  struct Lane {
    long clock = 0, waits_since = -1;  // -1: it does not wait
    const Name* waits_for = nullptr;
    std::uint64_t copy_waits = 0;
    std::size_t at_cluster = 0, past_cluster = 0;  // phases of the cluster's barrier
  };
  struct Warp {
    std::array<Lane, LANES> lanes;
    std::vector<Cell> cells;
    std::uint64_t turns = 0;
    int bar = -1;  // the named barrier at which it waits
    long bar_since = 0;
  };
  struct Barrier {  // of a block, by __syncthreads
    long last = 0;  // arrival
    std::uint64_t uses = 0;
  };
  struct Phases {                // of an mbarrier
    long last = 0;               // arrival, of the phase under way
    std::vector<long> complete;  // when
  };

  static long latest(const Warp& w);
  static long meet(Warp& w, long onward = 0);  // all lanes to the latest clock, which it returns, and `onward` more
  const Name* name(const std::string& kind, const std::string& text, std::uint64_t turn = 0);
  Cell& cell(Warp& w, long step, const Name* what, int lane = -1);
  void fill(Warp& w, long from, long to, const Name* what, int lane = -1);
  void step(Warp& w, int lane, const Name* what);
  void block_barrier(const ExecEvent& e);
  void named_barrier(const ExecEvent& e);
  void cluster_barrier(const ExecEvent& e);
  void mbarrier(const ExecEvent& e);
  void asynchronous(const ExecEvent& e);
  void wait_for_ever();
  void merge(std::uint32_t block, int index, const Warp& w);

  Picture out_;
  std::map<std::pair<std::uint32_t, int>, Warp> warps_;
  std::set<Name> names_;
  std::map<std::uint32_t, Barrier> block_barriers_;
  std::map<std::pair<std::uint32_t, int>, long> named_;  // the last arrival
  std::vector<long> cluster_;                            // the last arrival of each phase of the cluster's barrier
  std::map<std::tuple<std::uint32_t, std::string, int>, Phases> mbarriers_;  // block, array, row
  std::map<std::tuple<std::uint32_t, std::string, int>, long> tma_;          // when a copy to there was requested
  std::optional<long> landed_;  // when the copy that has landed was requested; it is yet to be counted at its mbarrier
};

}  // namespace lab::trace
