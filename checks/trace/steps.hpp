// One block's execution on a clock of steps, made from a watcher's events (common/backend.hpp).
//
// Every lane has a clock. An access to shared memory, a request for a copy, the begin of a product, a call of a barrier
// or a wait: each takes a lane one step. A collective first brings the lanes of its warp to the latest of their clocks.
// Who waits goes on at the step after the one at which the last of those whom it waited for had come. Copies and
// products take no steps themselves: what is asked for may be there one step later. So steps say what can only come
// after what, and how much a warp has to do between; not how long anything takes. They do not depend on the order in
// which the CPU runs the warps.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/backend.hpp"

namespace lab::trace {

// Counts of a slice: names as in `make counters`, and a few more.
enum Count : unsigned {
  reads,
  read_bytes,
  writes,
  written_bytes,
  copies,
  warp_barriers,
  tma_loads,
  tma_bytes,
  wgmma,
  products,
  waited,  // steps that a wait took beyond its own
  COUNTS
};
inline constexpr const char* COUNT_NAMES[COUNTS] = {"reads",  "read-bytes",    "writes",    "written-bytes",
                                                    "copies", "warp-barriers", "tma-loads", "tma-bytes",
                                                    "wgmma",  "products",      "waited"};
using Counts = std::array<std::uint64_t, COUNTS>;

struct Slice {
  std::uint32_t block = 0;
  int track = 0;  // a warp; of barriers: an index into Picture::barriers
  long begin = 0, end = 0;
  std::string kind, name;  // kind: work, copy, wait, barrier, phase
  Counts counts{};
  bool for_ever = false;  // the launch ended before it did
};

// Asynchronous work, from its issue to the wait after which a thread may rely on it.
struct Flight {
  std::uint32_t block = 0;
  long begin = 0, end = 0;
  std::string kind, name;  // kind: copy or product
  std::string place;       // "sK[64..127]", "warps 0..3"
  std::uint64_t issued = 0, landed = 0, bytes = 0;
};

struct Picture {
  std::vector<std::uint32_t> blocks;  // in the order of their first event
  std::map<std::uint32_t, int> warps;
  std::vector<std::pair<std::uint32_t, std::string>> barriers;  // block and name of each barrier's track
  std::vector<Slice> work, phases;                              // of warps; of barriers
  std::vector<Flight> flights;
  long steps = 0;
};

class Steps final : public ExecWatcher {
 public:
  void see(const ExecEvent& e) override;
  // `failed`: the launch did not end well, so whoever waits does so for ever. Call once.
  Picture picture(bool failed);

 private:
  static constexpr int LANES = 32;
  using Place = std::tuple<std::uint32_t, std::string, int>;  // block, array, row

  struct Cell {
    int what = -1;     // index into names_
    int lane = LANES;  // whose step named it; -1: the warp's
    Counts counts{};
  };
  struct Name {
    std::string kind, name;
    std::uint64_t turn;  // tells two calls of one barrier apart
    auto operator<=>(const Name&) const = default;
  };
  struct Warp {
    std::array<long, LANES> clock{};
    std::array<long, LANES> waits_since{};  // -1: the lane does not wait
    std::array<int, LANES> waits_for{};     // index into names_
    std::vector<Cell> cells;
    std::uint64_t turns = 0;
    int bar = -1;  // the named barrier at which it waits
    long bar_since = 0;
    std::uint64_t groups = 0;  // of products, committed
    Warp() { waits_since.fill(-1); }
  };
  struct Use {  // of a barrier: the steps of the first and of the last arrival
    long first = -1, last = 0;
  };
  struct CopyGroups {  // of a lane's cp.async
    std::uint64_t committed = 0, waits = 0;
    std::vector<std::pair<std::uint64_t, std::size_t>> open;  // group, flight
  };
  struct Phases {  // of an mbarrier
    Use now;
    std::vector<long> complete;                     // when
    std::vector<std::vector<std::size_t>> flights;  // that count in each, the one under way included
  };

  Warp& warp(std::uint32_t block, int index);
  long latest(const Warp& w) const;
  long meet(Warp& w);  // all lanes to the latest clock, which it returns
  int name(const std::string& kind, const std::string& text, std::uint64_t turn = 0);
  Cell& cell(Warp& w, long step, int what, int lane = -1);
  void fill(Warp& w, long from, long to, int what, int lane = -1);
  void step(Warp& w, int lane, int what, Count count, std::uint64_t by, Count bytes, std::uint64_t how_many);
  int track(std::uint32_t block, const std::string& text);
  void phase(std::uint32_t block, const std::string& text, const std::string& slice, long begin, long end);
  void block_barrier(const ExecEvent& e);
  void named_barrier(const ExecEvent& e);
  void cluster_barrier(const ExecEvent& e);
  void mbarrier(const ExecEvent& e);
  void cp_async(const ExecEvent& e);
  void tma(const ExecEvent& e);
  void warpgroup(const ExecEvent& e);
  void wait_for_ever();
  void in_order();
  void merge(std::uint32_t block, int index, const Warp& w, Picture& out) const;

  Picture out_;
  std::map<std::pair<std::uint32_t, int>, Warp> warps_;
  std::map<Name, int> index_;
  std::vector<Name> names_;
  std::map<std::uint32_t, Use> block_barrier_;
  std::map<std::uint32_t, std::uint64_t> periods_;
  std::map<std::pair<std::uint32_t, int>, std::vector<Use>> named_;  // block, number: its uses
  std::vector<Use> cluster_;                                         // its phases
  std::map<std::tuple<std::uint32_t, int, int>, std::pair<std::size_t, std::size_t>> at_cluster_;  // arrived, passed
  std::map<Place, Phases> mbarriers_;
  std::map<std::tuple<std::uint32_t, int, int>, CopyGroups> lanes_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::string>, std::size_t> copy_flights_;
  std::map<std::pair<std::size_t, bool>, int> rows_;  // of a flight: first and last row
  std::map<std::tuple<std::uint32_t, int, std::uint64_t, std::string>, std::size_t> product_flights_;
  std::map<std::pair<std::uint32_t, int>, std::vector<std::pair<std::uint64_t, std::size_t>>> open_products_;
  std::optional<std::size_t> landed_;  // the flight that has, and is yet to be counted at its mbarrier
};

}  // namespace lab::trace
