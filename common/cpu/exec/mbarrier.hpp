// The mbarriers of a block: who has arrived, how many bytes are still to come, who waits. Their state is kept here, by
// their place in shared memory; the 8 bytes there are never looked at, as they are opaque on a GPU too.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lab::ptx {
struct MBarrier;
}

namespace lab::cpu {

class Block;

struct MBarrierState {
  std::size_t offset = 0;  // in the arena
  std::uint32_t arrivals = 0;
  std::uint32_t pending = 0;           // arrivals that this phase waits for
  std::int64_t bytes = 0;              // as many; below 0: more have come than were announced
  std::uint32_t phase = 0;             // the one under way
  std::vector<std::uint16_t> waiting;  // threads parked until it is complete
};

class MBarriers {
 public:
  explicit MBarriers(Block& block) : block_(block) {}
  void reset() { all_.clear(); }

  // --- what threads call ---------------------------------------------------------------------------------
  void init(const ptx::MBarrier* barrier, unsigned arrivals, std::uintptr_t pc);
  void arrive(const ptx::MBarrier* barrier, unsigned bytes, bool expects, std::uintptr_t pc);
  void expect_tx(const ptx::MBarrier* barrier, unsigned bytes, std::uintptr_t pc);
  void wait(const ptx::MBarrier* barrier, unsigned parity, std::uintptr_t pc);
  bool try_wait(const ptx::MBarrier* barrier, unsigned parity, std::uintptr_t pc);

  // --- what the copy engine and the scheduler call -----------------------------------------------------------
  // The number of the barrier at this address. A launch that uses what is no barrier fails.
  int find(const ptx::MBarrier* barrier, const char* instruction, std::uintptr_t pc);
  // The engine has written `bytes` more for this barrier.
  void complete_bytes(int barrier, std::int64_t bytes);
  bool waited_for(int barrier) const { return !all_[barrier].waiting.empty(); }
  // Lanes in try_wait are told "not yet", since nothing else can run: those that have not been told so before, or all.
  // False if there are none.
  bool answer_polls(bool all);
  std::string name(int barrier) const;        // "full[1]"
  std::string phase_text(int barrier) const;  // "phase 2 of full[1] (parity 0): 1 of 2 arrivals missing"
  const std::vector<MBarrierState>& all() const { return all_; }

 private:
  // Parks the calling thread until phase is complete (true), or a poll is answered (false).
  bool park(int barrier, bool polls, std::uintptr_t pc);
  void complete_phase(int barrier);
  void count_bytes(MBarrierState& barrier, unsigned bytes, std::uintptr_t pc);

  Block& block_;
  std::vector<MBarrierState> all_;
};

}  // namespace lab::cpu
