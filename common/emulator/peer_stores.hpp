// st.async: stores into a block's shared memory by threads of its cluster, which happen some time later and are counted
// by an mbarrier of that block. They are kept by the block that is written; when they happen is the schedule's choice,
// as it is for the copy engine (copy_engine.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/emulator/shadow.hpp"

namespace lab::cpu {

class Block;

struct PeerStore {
  std::size_t offset = 0;  // in the arena of the block that is written
  std::uint32_t bytes = 0;
  alignas(16) std::byte value[16] = {};
  int mbarrier = -1;  // of that block
  ThreadId thread{};  // who stores
  std::uintptr_t pc = 0;
  std::uint32_t phase = 0;       // of the mbarrier, when it was issued
  std::uint32_t checked_as = 0;  // its number in the checker
};

class PeerStores {
 public:
  explicit PeerStores(Block& block) : block_(block) {}
  void reset(std::uint64_t seed);

  void issue(const PeerStore& asked);
  bool in_flight() const { return !in_flight_.empty(); }
  bool has_awaited() const;  // land_awaited() would find one
  // At a call that could switch: each store in flight may happen now.
  void maybe_land();
  // Nothing can run: what a thread of the block waits for happens. False if there is nothing.
  bool land_awaited();
  void land_all();  // the block is over

 private:
  void land(const PeerStore& store);
  template <class Choose>
  bool land_those(Choose choose);  // false if none was chosen

  Block& block_;
  std::vector<PeerStore> in_flight_;  // in the order of their issue
  std::uint64_t dice_ = 1;
};

}  // namespace lab::cpu
