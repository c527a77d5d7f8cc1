// The race, init and bounds checker: what it remembers of every two bytes of a block's shared memory.
//
// Two accesses by different threads race if neither is ordered before the other. Only barriers order memory:
//   - a block barrier orders everything before it with everything after it: an epoch number settles that;
//   - __syncwarp(mask) orders the lanes it names. Each sync of a warp gets a stamp; known(b, a) is the largest stamp
//     of lane a whose accesses lane b is ordered after. That is a vector clock a lane, over its own warp only.
//   - A named barrier orders its participants. A warp comes and goes as a whole, so here the clock is a warp's:
//     warp_known(w, v) is the stamp before which all accesses of warp v are ordered before warp w. To arrive gives a
//     warp's clock away and starts a new stamp; bar.sync then takes what all who came have given, and is a full
//     __syncwarp besides.
// CUDA promises no ordering from a shuffle or from a WMMA operation, so neither gives any here.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/cpu/exec/findings.hpp"
#include "common/cpu/exec/shared_memory.hpp"

namespace lab::cpu {

struct ThreadId {
  std::uint16_t linear;
  std::uint8_t warp, lane;
};

class Shadow {
 public:
  // fp16 is the smallest element that a stage stores; two lanes that write the two bytes of one granule look like a
  // race, so a stage with 1-byte elements wants 1 here.
  static constexpr std::size_t GRANULE = 2;

  // Forgets the block before; nothing is valid until it is carved.
  void reset(SharedMemory& shared, FindingLog& log, const char* kernel, std::uint32_t block);
  // These bytes may be accessed from now on.
  void allow(std::size_t offset, std::size_t bytes);

  void read(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc);
  void write(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc);
  // A cp.async: it may write at any time between its issue and the wait.
  void copy_issued(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc);
  void copy_done(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc);
  // Its thread has waited, but not for this copy, since its group was still open.
  void copy_not_committed(std::size_t offset, std::size_t bytes);

  // The asynchronous proxy (wgmma, a TMA store) reads these bytes from now on, on behalf of `warps` warps from
  // thread.warp on. Each of those must see the bytes, fenced if threads wrote them. Returns a number for the reading.
  std::uint32_t async_read_issued(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc,
                                  int warps = 1);
  // All lanes of `warp` have waited for this reading and all of its warp's before it (-1: so have all its warps).
  // Nothing may write there before every warp has, and what writes must be ordered after that.
  void async_read_done(std::uint32_t id, int warp = -1);

  void block_barrier() { ++epoch_; }
  void sync_warp(int warp, std::uint32_t mask);
  void named_arrive(int barrier, int warp);
  void named_complete(int barrier, std::uint32_t waiting_warps);

 private:
  struct Cell {
    std::uint32_t writer_pc, write_epoch, write_stamp;
    std::uint16_t writer;
    bool valid : 1, initialised : 1, pending : 1, written : 1, mixed : 1, not_committed : 1;
    std::uint8_t other_warp, other_lane;  // a reader of another warp than reader_warp, same epoch
    std::uint8_t reader_warp;
    std::uint32_t reader_pc, read_epoch, read_stamp;
    std::uint32_t reader_lanes;  // of reader_warp; all with read_stamp unless mixed
    std::uint32_t reader_warps;  // every warp that read in read_epoch
    std::uint32_t other_pc;
  };
  struct WarpClock {
    std::uint32_t syncs = 1;                // stamps given out
    std::uint32_t all_before = 1;           // accesses with a smaller stamp are ordered for every lane: a full sync
    std::array<std::uint32_t, 32> stamp{};  // of each lane's next access
    std::array<std::array<std::uint32_t, 32>, 32> known{};  // known[b][a], beyond all_before
  };
  struct LaneStamps {
    std::array<std::uint32_t, 32> stamp;
  };
  struct WarpRead {  // the last reads of a warp that is not a cell's reader_warp any more
    std::uint32_t stamp = 0, pc = 0;
    std::uint8_t lane = 0;
  };
  using Clock = std::array<std::uint32_t, 32>;  // a stamp for each warp

  bool ordered(const WarpClock& clock, int lane, int earlier_lane, std::uint32_t stamp) const {
    return lane == earlier_lane || stamp < clock.all_before || clock.known[lane][earlier_lane] >= stamp;
  }
  std::uint32_t latest_read(const Cell& cell, std::size_t index) const;
  bool check_place(Cell& cell, std::size_t offset, bool write, ThreadId thread, std::uintptr_t pc);
  void check_writer(const Cell& cell, std::size_t offset, bool write, ThreadId thread, std::uintptr_t pc);
  void check_readers(const Cell& cell, std::size_t index, ThreadId thread, std::uintptr_t pc);
  void remember_reader(Cell& cell, std::size_t index, ThreadId thread, std::uintptr_t pc);
  void write_cells(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc, bool pending);
  // True if a race with a reader of another warp was reported.
  bool check_other_warps(const Cell& cell, std::size_t index, ThreadId thread, std::uintptr_t pc);
  void race(Finding::Kind kind, const char* hazard, std::size_t offset, const RawAccess& first,
            const RawAccess& second);
  void report(Finding::Kind kind, std::size_t offset, const RawAccess& first, const RawAccess& second,
              const char* what);
  RawAccess last_write(const Cell& cell) const;
  static RawAccess access(ThreadId thread, std::uintptr_t pc, bool write) {
    return {pc, thread.warp, thread.lane, write};
  }

  SharedMemory* shared_ = nullptr;
  FindingLog* log_ = nullptr;
  const char* kernel_ = "";
  std::uint32_t block_ = 0;
  std::uint32_t epoch_ = 1;
  std::uint64_t access_ = 0;  // a number for each access
  std::vector<Cell> cells_;
  std::size_t touched_begin_ = 0, touched_end_ = 0;
  std::array<WarpClock, 32> clocks_;
  std::unordered_map<std::size_t, LaneStamps> mixed_;
  // Named barriers. Until the block has used one, warps are ordered by block barriers alone, and nothing is kept for
  // it.
  bool named_used_ = false;
  std::array<Clock, 32> warp_known_;
  std::array<Clock, 16> given_;  // to the use of a barrier that is under way
  std::unordered_map<std::size_t, std::array<WarpRead, 32>> warp_reads_;
};

}  // namespace lab::cpu
