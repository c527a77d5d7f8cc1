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
//
// A block that uses mbarriers, the copy engine or wgmma is followed thread by thread from then on (track(),
// thread_clocks.hpp): the same cells, but what orders them are clocks of every thread, and a cell remembers all its
// readers. There, two kinds of work touch memory. Plain accesses (cp.async among them), and asynchronous ones: a TMA
// load writes, a TMA store and wgmma read. The rules between them (PTX ISA, "Async proxy"):
//   - what a thread wrote plainly, asynchronous work may touch after a fence.proxy.async by a thread that sees the
//     write, ordered before the thread that starts the work;
//   - the destination of a TMA load may be touched by a thread that has seen the phase of its mbarrier complete, or is
//     ordered after one that has;
//   - the source of asynchronous work may be written by a thread that is ordered after its wait, and bytes that threads
//     have read by one that is ordered after them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/emulator/findings.hpp"
#include "common/emulator/shared_memory.hpp"
#include "common/emulator/thread_clocks.hpp"
#include "common/emulator/zero_pages.hpp"

namespace lab::cpu {

struct ThreadId {
  std::uint16_t linear;
  std::uint8_t warp, lane;
  std::uint8_t peer = 0;  // 0: a thread of the block at hand; else of block peer - 1 of its cluster
};

class Shadow {
 public:
  // fp16 is the smallest element that a stage stores; two lanes that write the two bytes of one granule look like a
  // race, so a stage with 1-byte elements wants 1 here.
  static constexpr std::size_t GRANULE = 2;

  // Forgets the block before; nothing is valid until it is carved.
  void reset(SharedMemory& shared, FindingLog& log, const char* kernel, std::uint32_t block, int threads);
  // This shadow is that of block `rank` of a cluster, all of which have been reset. Follows every thread from now on.
  void join_cluster(const std::vector<Shadow*>& all, int rank);
  // These bytes may be accessed from now on.
  void allow(std::size_t offset, std::size_t bytes);

  void read(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc);
  void write(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc);
  // A cp.async: it may write at any time between its issue and the wait.
  void copy_issued(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc);
  void copy_done(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc);
  // Its thread has waited, but not for this copy, since its group was still open.
  void copy_not_committed(std::size_t offset, std::size_t bytes);

  void block_barrier();
  void sync_warp(int warp, std::uint32_t mask);
  void named_arrive(int barrier, int warp);
  void named_complete(int barrier, std::uint32_t waiting_warps);

  // --- asynchronous work (shadow_async.cpp) ------------------------------------------------------------------
  // Follows every thread from now on. All below do it by themselves.
  void track();

  // The asynchronous proxy (wgmma, a TMA store) reads these bytes from now on, on behalf of `warps` warps from
  // thread.warp on. Each of those must see the bytes, fenced if threads wrote them. Returns a number for the reading.
  std::uint32_t async_read_issued(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc,
                                  int warps = 1);
  // All lanes of `warp` have waited for this reading and all of its warp's before it (-1: so have all its warps).
  // Nothing may write there before every warp has, and what writes must be ordered after that.
  void async_read_done(std::uint32_t id, int warp = -1);
  // The same for a reading that a single thread starts and waits for: a TMA store.
  std::uint32_t store_issued(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc);
  void store_done(std::uint32_t id);
  // The block is over: stores without a wait are findings (products are wgmma's own to report).
  void check_all_read();

  // A TMA load: it writes from now on, until phase `phase` of the mbarrier whose timeline this is has been seen.
  // `engine`: by the asynchronous proxy, which a plain store of another block (st.async) does not use.
  std::uint32_t async_write_issued(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc,
                                   int timeline, bool engine = true);
  void async_write_landed(std::uint32_t id, std::uint32_t phase);
  void fence_proxy_async(ThreadId thread);

  // An mbarrier lies here from now on; returns its timeline.
  int mbarrier_placed(std::size_t offset, ThreadId thread, std::uintptr_t pc);
  std::uint32_t new_stamp(ThreadId thread);      // what the thread does from now on is later than what it did
  void release(ThreadId thread, Knowledge& to);  // all it has done, and what it is ordered after
  void acquire(ThreadId thread, const Knowledge& from);
  bool after(ThreadId thread, ThreadId earlier, std::uint32_t stamp) const {
    return line(thread) == line(earlier) || clocks_of(thread).seen(thread.linear, line(earlier)) > stamp;
  }
  // Of the thread's own block, whichever that is.
  const ThreadClocks& clocks_of(ThreadId thread) const { return of(thread).thread_clocks_; }
  // The timeline of a thread: among those of all threads of the cluster.
  std::uint16_t line(ThreadId thread) const {
    return std::uint16_t((thread.peer ? (thread.peer - 1) * threads_ : base_) + thread.linear);
  }
  static RawAccess access(ThreadId thread, std::uintptr_t pc, bool write) {
    return {pc, thread.warp, thread.lane, write, thread.peer - 1};
  }

  // --- accesses by other blocks of the cluster (shadow_cluster.cpp) -------------------------------------------
  // As release(), to whoever may be of another block.
  void release_outside(ThreadId thread, Knowledge& to);
  // A relaxed arrival: the block has started, and of what the thread did, what is older than this stamp: its
  // mbarriers' initialisation (and, as there is but one stamp, what it did before).
  void say_started(ThreadId thread, std::uint32_t stamp, Knowledge& to);
  // A thread of another block is about to touch this one's memory, or a barrier in it: it must know that the block has
  // started ...
  void check_started(ThreadId peer, std::uintptr_t pc, bool write);
  // ... and, of what no mbarrier counts, the block must not end before.
  void visited(ThreadId peer, std::uintptr_t pc, bool write);
  void check_visits();  // the block is over
  void report(Finding::Kind kind, const std::string& where, const RawAccess& first, const RawAccess& second,
              const std::string& what);

 private:
  struct Cell {
    std::uint32_t writer_pc, write_epoch, write_stamp;
    std::uint16_t writer;
    bool valid : 1, initialised : 1, pending : 1, written : 1, mixed : 1, not_committed : 1;
    bool async_written : 1;  // by a TMA load; write_stamp is its number
    bool is_mbarrier : 1;
    std::uint8_t other_warp, other_lane;  // a reader of another warp than reader_warp, same epoch
    std::uint8_t reader_warp;
    std::uint32_t reader_pc, read_epoch, read_stamp;
    std::uint32_t reader_lanes;  // of reader_warp; all with read_stamp unless mixed
    std::uint32_t reader_warps;  // every warp that read in read_epoch
    std::uint32_t other_pc;
    std::uint32_t reads;  // tracking: the first of its readers in reads_, 0: none
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
  struct Read {  // of a cell, by lanes of one warp with one stamp, or by asynchronous work
    std::uint32_t stamp, pc, lanes, next;
    std::uint8_t warp;
    bool async;             // stamp is its number
    std::uint8_t peer = 0;  // as a ThreadId's
  };
  struct AsyncWrite {
    int timeline;
    std::uint32_t phase;
    bool landed;
    ThreadId thread;
    std::uint32_t pc;
  };
  struct AsyncRead {  // its place in the queue of each of its warps, or of its thread
    ThreadId thread;
    std::uint32_t pc;
    int warps;  // 0: a thread's
    int timeline[4];
    std::uint32_t place[4];
  };
  struct Queue {  // of asynchronous readings, which end in their order
    int timeline = -1;
    std::uint32_t issued = 0, done = 0;
  };

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

  // --- shadow_tracked.cpp ---
  void read_tracked(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc);
  void write_tracked(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc, bool pending);
  bool usable(Cell& cell, std::size_t index, bool write, ThreadId thread, std::uintptr_t pc);
  // `before`: what orders the two, if not a barrier
  bool ordered(ThreadId thread, std::uint16_t earlier, std::uint32_t stamp) const {
    return line(thread) == earlier || clocks_of(thread).seen(thread.linear, earlier) > stamp;
  }
  const Shadow& of(ThreadId thread) const { return thread.peer ? *(*cluster_)[std::size_t(thread.peer - 1)] : *this; }
  std::uint32_t stamp_of(ThreadId thread) const { return of(thread).clocks_[thread.warp].stamp[thread.lane]; }
  ThreadId thread_on(std::uint16_t line) const;
  int add_timeline();  // in the clocks of all blocks of the cluster
  int started_line(int rank) const { return int(cluster_->size()) * threads_ + rank; }
  std::uint16_t reader(const Read& read, int lane) const;  // its timeline
  bool over(const AsyncRead& read, ThreadId thread) const;
  bool stands_for(const Read& earlier, ThreadId thread) const;
  bool check_plain_writer(const Cell& cell, std::size_t index, bool write, ThreadId thread, std::uintptr_t pc);
  void check_tracked_readers(const Cell& cell, std::size_t index, ThreadId thread, std::uintptr_t pc);
  void add_read(Cell& cell, ThreadId thread, std::uintptr_t pc);
  void forget_reads(Cell& cell);
  std::uint32_t new_read(const Read& read);
  void start_tracking_cells();
  // --- shadow_async.cpp ---
  std::uint32_t read_issued(std::size_t offset, std::size_t bytes, AsyncRead read, std::uintptr_t pc);
  void check_async(Cell& cell, std::size_t index, bool write, ThreadId thread, std::uintptr_t pc);
  Queue& queue_of(std::vector<Queue>& queues, int which);
  RawAccess issuer(const AsyncWrite& write) const { return access(write.thread, write.pc, true); }

  SharedMemory* shared_ = nullptr;
  FindingLog* log_ = nullptr;
  const char* kernel_ = "";
  std::uint32_t block_ = 0;
  std::uint32_t epoch_ = 1;
  std::uint64_t access_ = 0;  // a number for each access
  std::vector<Cell, ZeroPages<Cell>> cells_;
  std::size_t touched_begin_ = 0, touched_end_ = 0;
  std::array<WarpClock, 32> clocks_;
  std::unordered_map<std::size_t, LaneStamps> mixed_;
  // Named barriers. Until the block has used one, warps are ordered by block barriers alone, and nothing is kept for
  // it.
  bool named_used_ = false;
  std::array<Clock, 32> warp_known_;
  std::array<Clock, 16> given_;  // to the use of a barrier that is under way
  std::unordered_map<std::size_t, std::array<WarpRead, 32>> warp_reads_;

  int threads_ = 0;
  const std::vector<Shadow*>* cluster_ = nullptr;  // null: the block is its own
  int rank_ = 0, base_ = 0;                        // in it, and its first thread's timeline
  struct Visit {
    ThreadId thread;
    std::uint32_t stamp;
    std::uintptr_t pc;
    bool write;
  };
  std::map<std::uint16_t, Visit> visits_;          // by the thread's timeline: the last
  std::array<std::uint32_t, 32> barrier_stamp_{};  // of each warp's lanes, after the last block barrier
  ThreadClocks thread_clocks_;                     // active while tracking
  std::array<Knowledge, 16> given_tracked_;        // as given_
  std::vector<Read> reads_;                        // [0] is not used
  std::uint32_t free_reads_ = 0;
  std::vector<AsyncWrite> async_writes_;
  std::vector<AsyncRead> async_reads_;
  std::vector<Queue> warp_queues_, thread_queues_;
};

}  // namespace lab::cpu
