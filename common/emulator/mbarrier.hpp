// The mbarriers of a block: arrivals, bytes still expected, waiting threads. Their state is kept here, by
// their place in shared memory; the 8 bytes there are never looked at, as they are opaque on a GPU too.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/emulator/shadow.hpp"

namespace lab::cpu {

class Block;

struct MBarrierState {
  std::size_t offset = 0;  // in the arena
  std::uint32_t arrivals = 0;
  std::uint32_t pending = 0;  // arrivals that this phase waits for
  std::int64_t bytes = 0;     // the same; below 0: more have arrived than were announced
  std::uint32_t phase = 0;    // the one under way
  int waiting = 0;            // threads, until it is complete

  // For who counts (counting.hpp): the steps of the last to arrive, in this phase and when each before it ended.
  std::uint64_t steps = 0;
  std::vector<std::uint64_t> ended_at;

  // For reports.
  struct Arrival {
    std::uint16_t thread;
    std::uintptr_t pc;
    std::uint8_t peer = 0;  // as a ThreadId's
  };
  struct Load {
    ThreadId thread{};
    std::uintptr_t pc = 0;
    std::uint32_t phase = 0;  // in which its bytes were counted
  };
  std::vector<Arrival> arrived, arrived_before;  // in this phase, and in the one before
  Load last_load;                                // pc 0: no copy was ever issued for this barrier
  Load from_outside;                             // another block's last arrival or st.async; pc 0: none
  bool any_landed = false;

  // For the checker (mbarrier_rules.cpp).
  int timeline = -1;
  ThreadId initialised_by{};
  std::uintptr_t init_pc = 0;
  std::uint32_t init_stamp = 0, fence_stamp = 0;  // fence_stamp 0: no fence.mbarrier_init yet
  std::uint32_t seen = 0;                         // phases before this one were seen complete by a thread
  Knowledge given, completed;                     // by arrivals so far; by those of completed phases
  struct Lanes {                                  // of one warp, that have arrived by one call, one behind the other
    std::uintptr_t pc = 0;
    int warp = -1, lane = -1;
    std::uint32_t count = 0, most = 0;
    RawFinding* finding = nullptr;  // that there are too many
  } lanes;
};

class MBarriers {
 public:
  explicit MBarriers(Block& block) : block_(block) {}
  void reset() { all_.clear(), block_is_over_ = false; }

  // --- what threads call ---------------------------------------------------------------------------------
  void init(const void* barrier, unsigned arrivals, std::uintptr_t pc);
  void arrive(const void* barrier, unsigned bytes, bool expects, std::uintptr_t pc);
  // True if the phase is complete; false if it is not yet, perhaps after a while. cluster: acquires the releases of threads of
  // other blocks.
  bool try_wait(const void* barrier, unsigned parity, bool cluster, std::uintptr_t pc);
  void fence_init();
  // The stamp of the last fence.mbarrier_init behind barriers that this thread initialised; 0: none.
  std::uint32_t fenced_by(ThreadId thread) const;

  // --- what the copy engine and the scheduler call -----------------------------------------------------------
  // The number of the barrier at this address. A launch that uses what is no barrier fails.
  int find(const void* barrier, const char* instruction, std::uintptr_t pc);
  int at(std::size_t offset) const;  // -1: none lies there
  // A thread of another block of the cluster arrives; the barrier is not full.
  void arrive_from(int barrier, ThreadId peer, Shadow& its_shadow, std::uintptr_t pc);
  // A thread has asked for a copy that this barrier counts: of the engine, or an st.async of another block.
  void copy_issued(int barrier, ThreadId thread, std::uintptr_t pc, bool engine = true);
  // The bytes of such a copy have been written. `what` they are, for a finding if their phase was complete before.
  struct IssuedWrite {
    ThreadId thread;
    std::uintptr_t pc;
    std::uint32_t phase, checked_as;  // the barrier's when it was issued, and the write's number in the checker
    unsigned step;                    // the number of its bytes that are counted together
    bool engine = true;               // of a copy; false: of an st.async
  };
  void bytes_landed(int barrier, unsigned bytes, const IssuedWrite& write, const char* what);
  // The block is over, and all copies have landed: each one without a wait is a finding.
  void block_is_over() { block_is_over_ = true; }
  void check_end();
  bool waited_for(int barrier) const { return all_[barrier].waiting > 0; }
  // Lanes in try_wait are told "not yet", since nothing else can run: those that have not been told so before, or all.
  // False if there are none.
  bool answer_polls(bool all);
  std::string name(int barrier) const;       // "full[1]"
  Wait wait_of(int barrier) const;           // for its phase
  std::string full_text(int barrier) const;  // ": ... arrivals of phase 2 ...; it waits for 64 bytes"
  std::string story() const;  // of each barrier with a waiting thread: the arrivals, and the requested copies
  const MBarrierState& state(int barrier) const { return all_[barrier]; }

 private:
  // Parks the calling thread until the phase is complete (true), or its poll is answered (false).
  bool park(int barrier, std::uintptr_t pc);
  // Returns the phase that counted the last of the bytes.
  std::uint32_t complete_bytes(int barrier, std::int64_t bytes, unsigned step, ThreadId thread, std::uintptr_t pc);
  void count_arrival(int barrier, ThreadId thread, std::uintptr_t pc);
  void complete_phase(int barrier, ThreadId thread, std::uintptr_t pc);

  // mbarrier_rules.cpp; called while checking
  void placed(int barrier, std::uintptr_t pc);
  void check_known(int barrier, const char* instruction, ThreadId thread, std::uintptr_t pc);
  void check_for_engine(int barrier, ThreadId thread, std::uintptr_t pc);
  void count_lanes(MBarrierState& state, ThreadId thread, std::uintptr_t pc);
  void tell_too_many(MBarrierState& state);
  void check_seen_before(int barrier, ThreadId thread, std::uintptr_t pc);
  void check_late(int barrier, unsigned parity, std::uintptr_t pc);
  void passed(int barrier, std::uint32_t complete, bool cluster, std::uintptr_t pc);
  template <class... Parts>
  void misuse(int barrier, const RawAccess& first, ThreadId thread, std::uintptr_t pc, const Parts&... what);
  void count_bytes(MBarrierState& barrier, unsigned bytes, std::uintptr_t pc);

  Block& block_;
  std::vector<MBarrierState> all_;
  bool block_is_over_ = false;
};

}  // namespace lab::cpu
