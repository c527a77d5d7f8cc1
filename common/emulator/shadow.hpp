// The race, init and bounds checker: what it remembers of every two bytes of a block's shared memory, and of each byte
// where single bytes are accessed.
//
// Two accesses by different threads race if neither is ordered before the other. Each thread has a clock
// (thread_clocks.hpp) and a stamp that grows with what it takes part in; a cell remembers its last writer and all
// readers since, by thread and stamp. Memory is ordered by:
//   - a block barrier, everything before it with everything after it;
//   - __syncwarp(mask), the lanes it names;
//   - a named barrier, its warps as a whole: to arrive gives what the warp's threads know; bar.sync then takes what all
//     who came have given, and is a full __syncwarp besides;
//   - mbarriers and cluster barriers, the threads that arrive with those that wait.
// CUDA promises no ordering from a shuffle or from a WMMA operation, so neither gives any here. Atomics do not race with
// each other, and order nothing.
//
// Two kinds of work touch memory. Plain accesses (cp.async among them), and asynchronous ones: a TMA load writes, a TMA
// store and wgmma read. The rules between them (PTX ISA, "Async proxy"):
//   - what a thread wrote plainly, asynchronous work may touch after a fence.proxy.async by a thread that sees the
//     write, ordered before the thread that starts the work; and what it read plainly, a TMA load may overwrite after
//     the same. ("Accessing the same memory location across multiple proxies needs a cross-proxy fence", whoever of the
//     two writes.);
//   - the destination of a TMA load may be touched by a thread that has seen the phase of its mbarrier complete, or is
//     ordered after one that has;
//   - the source of asynchronous work may be written by a thread that is ordered after its wait, and bytes that threads
//     have read by one that is ordered after them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/emulator/findings.hpp"
#include "common/emulator/hand_order.hpp"
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
  // fp16 is the smallest element that stages store. A granule of which an access touches one byte is split into two
  // cells for the rest of the block: cells of one byte everywhere would cost half as much time again.
  static constexpr std::size_t GRANULE = 2;

  // Forgets the block before; nothing is valid until it is carved.
  void reset(SharedMemory& shared, FindingLog& log, const char* kernel, std::uint32_t block, int threads);
  // This shadow is that of block `rank` of a cluster, all of which have been reset.
  void join_cluster(const std::vector<Shadow*>& all, int rank);
  // These bytes may be accessed from now on.
  void allow(std::size_t offset, std::size_t bytes);

  void read(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc);
  void write(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc);
  // An atomic read-modify-write, or, with reads = false, an exchange whose result nobody needs to be defined.
  void atomic(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc, bool reads = true);
  // A cp.async: it may write at any time between its issue and the wait.
  void copy_issued(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc);
  void copy_done(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc);
  // Its thread has waited, but not for this copy, since its group was still open.
  void copy_not_committed(std::size_t offset, std::size_t bytes);

  HandOrder by_hand{*this};
  void block_barrier();
  void sync_warp(int warp, std::uint32_t mask);
  void named_arrive(int barrier, int warp);
  void named_complete(int barrier, std::uint32_t waiting_warps);

  // --- asynchronous work (shadow_async.cpp) ------------------------------------------------------------------
  // The asynchronous proxy (wgmma, a TMA store) reads these bytes from now on, on behalf of `warps` warps from
  // thread.warp on. Each of those must see the bytes, fenced if threads wrote them. Returns a number for the reading.
  std::uint32_t async_read_issued(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc,
                                  int warps);
  // All lanes of `warp` have waited for this reading and all of its warp's before it. Nothing may write there before
  // every warp has, and what writes must be ordered after that.
  void async_read_done(std::uint32_t id, int warp);
  // The same for a reading that a single thread starts and waits for: a TMA store.
  std::uint32_t store_issued(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc);
  void store_done(std::uint32_t id);
  // The block is over: stores without a wait are findings (products are wgmma's own to report).
  void check_all_read();
  // Reads the value that the last racing write has left: called before anything else is checked, and when the block is over.
  void settle() {
    if (!rewritten_.entries.empty()) [[unlikely]]
      compare_rewritten();
  }

  // A TMA load: it writes from now on, until phase `phase` of the mbarrier whose timeline this is has been seen.
  // `engine`: by the asynchronous proxy, which a plain store of another block (st.async) does not use.
  std::uint32_t async_write_issued(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc,
                                   int timeline, bool engine = true);
  void async_write_landed(std::uint32_t id, std::uint32_t phase);
  void fence_proxy_async(const ThreadId& thread);

  // An mbarrier lies here from now on; returns its timeline.
  int mbarrier_placed(std::size_t offset, const ThreadId& thread, std::uintptr_t pc);
  std::uint32_t new_stamp(const ThreadId& thread);      // what the thread does from now on is later than what it did
  void release(const ThreadId& thread, Knowledge& to);  // all it has done, and what it is ordered after
  void acquire(const ThreadId& thread, const Knowledge& from);
  bool after(const ThreadId& thread, const ThreadId& earlier, std::uint32_t stamp) const {
    return ordered(thread, line(earlier), stamp);
  }
  std::uint32_t stamp_of(const ThreadId& thread) const { return of(thread).stamps_[thread.linear]; }
  // Accesses of `thread` with a smaller stamp are before those that `of` of the same block makes now.
  std::uint32_t seen(const ThreadId& by, const ThreadId& thread) const {
    return clocks_of(by).seen(by.linear, line(thread));
  }
  // Of the thread's own block, whichever that is.
  const ThreadClocks& clocks_of(const ThreadId& thread) const { return of(thread).thread_clocks_; }
  // The timeline of a thread: among those of all threads of the cluster.
  std::uint16_t line(const ThreadId& thread) const {
    return std::uint16_t((thread.peer ? (thread.peer - 1) * threads_ : base_) + thread.linear);
  }
  static RawAccess access(const ThreadId& thread, std::uintptr_t pc, bool write) {
    return {pc, thread.warp, thread.lane, write, thread.peer - 1};
  }

  // --- accesses by other blocks of the cluster (shadow_cluster.cpp) -------------------------------------------
  // As release(), to whoever may be of another block.
  void release_outside(const ThreadId& thread, Knowledge& to);
  // A relaxed arrival: the block has started, and of what the thread did, what is older than this stamp: its
  // mbarriers' initialisation (and, as there is but one stamp, what it did before).
  void say_started(const ThreadId& thread, std::uint32_t stamp, Knowledge& to);
  // A thread of another block is about to touch this one's memory, or a barrier in it: it must know that the block has
  // started ...
  void check_started(const ThreadId& peer, std::uintptr_t pc, bool write);
  // ... and, of what no mbarrier counts, the block must not end before.
  void visited(const ThreadId& peer, std::uintptr_t pc, bool write);
  void check_visits();  // the block is over
  RawFinding& report(Finding::Kind kind, const std::string& where, const RawAccess& first, const RawAccess& second,
                     const std::string& what);

 private:
  struct Read {                      // of a cell, by lanes of one warp with one stamp, or by asynchronous work
    std::uint32_t stamp, pc, lanes;  // lanes 0: none
    std::uint32_t next;              // in others_, 0: none
    std::uint8_t warp;
    bool async;             // stamp is its number
    std::uint8_t peer = 0;  // as a ThreadId's
    bool atomic = false;    // a read-modify-write
  };
  struct Cell {
    std::uint32_t writer_pc, write_stamp;  // of a TMA load the stamp is its number
    std::uint16_t writer;                  // its timeline
    bool valid : 1, initialised : 1, pending : 1, written : 1, not_committed : 1, async_written : 1, is_mbarrier : 1;
    bool split : 1;       // this is the even byte's, the other is in odd_
    bool atomics : 1;     // among the readers
    Read last;            // of its readers since; those before are in others_
    std::uint32_t warps;  // of all of them, where they are threads
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

  template <class Each>
  void each_cell(std::size_t offset, std::size_t bytes, Each each) {
    const std::size_t begin = offset / GRANULE, end = (offset + bytes + GRANULE - 1) / GRANULE;
    if (any_split_ || (offset | bytes) % GRANULE) [[unlikely]]
      return each_byte(begin, end, offset, offset + bytes, each);
    for (std::size_t i = begin; i < end; ++i) each(cells_[i]);
  }
  template <class Each>
  [[gnu::noinline]] void each_byte(std::size_t begin, std::size_t end, std::size_t from, std::size_t to, Each& each) {
    for (std::size_t i = begin; i < end; ++i) {
      const bool even = i * GRANULE >= from, odd = i * GRANULE + 1 < to;
      if (!even || !odd) split(i);
      if (even) each(cells_[i]);
      if (odd && cells_[i].split) each(odd_[i]);
    }
  }
  void split(std::size_t granule);
  std::size_t offset_of(const Cell& cell) const {
    const bool is_odd = !odd_.empty() && &cell >= odd_.data() && &cell < odd_.data() + odd_.size();
    return is_odd ? std::size_t(&cell - odd_.data()) * GRANULE + 1 : std::size_t(&cell - cells_.data()) * GRANULE;
  }
  bool check_place(Cell& cell, bool write, const ThreadId& thread, std::uintptr_t pc);
  bool usable(Cell& cell, bool write, const ThreadId& thread, std::uintptr_t pc);
  bool check_writer(const Cell& cell, bool write, const ThreadId& thread, std::uintptr_t pc, bool atomic = false);
  enum class Readers { all, plain, atomic };
  void check_readers(const Cell& cell, const ThreadId& thread, std::uintptr_t pc, Readers which, bool write = true,
                     bool engine = false);
  void set_writer(Cell& cell, const ThreadId& thread, std::uintptr_t pc, std::uint32_t stamp);
  void write_cells(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc, bool pending);
  void race(Finding::Kind kind, const char* hazard, std::size_t offset, const RawAccess& first, const RawAccess& second,
            bool atomic = false);
  RawFinding& report(Finding::Kind kind, std::size_t offset, const RawAccess& first, const RawAccess& second,
                     const std::string& what, const char* hazard = "");
  void compare_rewritten();
  RawAccess last_write(const Cell& cell) const { return access(thread_on(cell.writer), cell.writer_pc, true); }
  // `warp`'s threads begin a new stamp; those of `lanes` that the block has.
  void begin_stamp(int warp, std::uint32_t lanes = 0xFFFFFFFFu);

  bool ordered(const ThreadId& thread, std::uint16_t earlier, std::uint32_t stamp) const {
    const ThreadClocks& clocks = clocks_of(thread);
    return clocks.seen_by_all(earlier) > stamp || line(thread) == earlier ||
           clocks.seen(thread.linear, earlier) > stamp;
  }
  const Shadow& of(const ThreadId& thread) const {
    return thread.peer ? *(*cluster_)[std::size_t(thread.peer - 1)] : *this;
  }
  ThreadId thread_on(std::uint16_t line) const;
  int add_timeline();  // in the clocks of all blocks of the cluster
  int started_line(int rank) const { return int(cluster_->size()) * threads_ + rank; }
  std::uint16_t reader(const Read& read, int lane) const;  // its timeline
  bool over(const AsyncRead& read, const ThreadId& thread) const;
  bool waited_alone(const AsyncRead& read, const ThreadId& thread) const;
  bool stands_for(const Read& earlier, const ThreadId& thread) const;
  bool fenced(const Read& read, const ThreadId& thread) const;  // of a plain one: asynchronous work may follow
  const Read* behind(const Read& read) const { return read.next ? &others_[read.next] : nullptr; }
  void add_read(Cell& cell, const ThreadId& thread, std::uintptr_t pc, std::uint32_t stamp, bool atomic = false);
  void push_read(Cell& cell, const Read& read);
  void forget_reads(Cell& cell);
  // --- shadow_async.cpp ---
  std::uint32_t read_issued(std::size_t offset, std::size_t bytes, AsyncRead read, std::uintptr_t pc);
  void check_async(Cell& cell, bool write, const ThreadId& thread, std::uintptr_t pc);
  Queue& queue_of(std::vector<Queue>& queues, int which);
  RawAccess issuer(const AsyncWrite& write) const { return access(write.thread, write.pc, true); }

  SharedMemory* shared_ = nullptr;
  FindingLog* log_ = nullptr;
  const char* kernel_ = "";
  std::uint32_t block_ = 0;
  std::uint64_t access_ = 0;                        // a number for each access
  std::vector<Cell, ZeroPages<Cell>> cells_, odd_;  // odd_: of granules that are split, their second bytes
  std::size_t touched_begin_ = 0, touched_end_ = 0;
  bool any_split_ = false;
  // A write that races with one before it: an instrumented store comes after the call that tells of it, so whether the
  // value is the same shows later.
  struct Rewritten {
    std::size_t offset = 0;
    std::vector<std::byte> before;
    std::vector<RawFinding*> entries;
  };
  Rewritten rewritten_;
  std::vector<std::uint32_t> stamps_;          // of each thread's next access
  std::array<std::uint32_t, 32> given_out_{};  // stamps, of each warp
  ThreadClocks thread_clocks_;
  std::array<Knowledge, 16> given_;                 // to the use of a named barrier that is under way
  bool named_used_ = false, asynchronous_ = false;  // what a race's words may name

  int threads_ = 0;
  const std::vector<Shadow*>* cluster_ = nullptr;
  int rank_ = 0, base_ = 0;  // in it, and its first thread's timeline
  struct Visit {
    ThreadId thread;
    std::uint32_t stamp;
    std::uintptr_t pc;
    bool write;
  };
  std::map<std::uint16_t, Visit> visits_;  // by the thread's timeline: the last
  std::vector<Read> others_;               // [0] is not used
  std::uint32_t free_ = 0;
  std::vector<AsyncWrite> async_writes_;
  std::vector<AsyncRead> async_reads_;
  std::vector<Queue> warp_queues_, thread_queues_;
};

}  // namespace lab::cpu
