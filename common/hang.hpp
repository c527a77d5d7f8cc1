// Where the threads of a launch stand that cannot go on, or took too long: as data, and in words for a report.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace lab {

// Lanes that wait for the same. Warps that stand alike share one.
struct Wait {
  enum class At { mbarrier, named_barrier, cluster_barrier, block_barrier, stores, products, registers, lanes, spin };
  At at{};
  std::string barrier = {};  // an mbarrier, "full[0]"; the number of a named barrier
  unsigned phase = 0;        // of the mbarrier
  int missing = 0, of = 0;   // arrivals of an mbarrier's phase; threads, where a barrier counts them
  std::int64_t bytes = 0;    // that the mbarrier waits for; negative: more than were announced
  std::string words = {};    // what is no barrier: "warps 2,3 of the warpgroup", "shfl for lanes 3"
  bool no_arrival = false;   // nothing has arrived in the mbarrier's phase
  bool no_copy = false;      // none was ever issued for it
  int rank = -1;             // of the block in its cluster
  int first_warp = 0, last_warp = 0;
  std::uint32_t lanes = 0;
  std::string file = {};
  int line = 0;
  std::string text = {};  // of that line, "" where the file is not at hand
  bool operator==(const Wait&) const = default;
};

struct Hang {
  bool deadlock = false;  // no thread can go on; else the block's time is up
  std::vector<Wait> waits;
  std::vector<std::uint32_t>
      returned;  // a block's warps of which all lanes have returned; a cluster has several blocks
};

std::string lanes_text(std::uint32_t mask);  // "0..3,7"
// "phase 1 of full[0] (parity 1): 1 of 1 arrivals missing", "barrier 2, at which 128 of 256 threads have arrived"
std::string awaited(const Wait& wait);
// "Warps 0..3 lanes 0..31 wait for phase 1 of full[0] (parity 1): 1 of 1 arrivals missing (FILE:LINE)."
std::string sentence(const Wait& wait);
// The same as data: "at=mbarrier barrier=full[0] phase=1 parity=1 missing=1 of=1 bytes=0 warps=0..3 place=FILE:LINE".
std::string data_of(const Wait& wait);

}  // namespace lab
