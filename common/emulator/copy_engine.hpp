// Requests on a block's shared memory that happen some time later: the copy engine's loads and stores
// (TMA), and st.async by threads of the cluster. When, is the
// schedule's choice (ExecOptions::copies), within what the waits allow:
//   at_issue  at once;
//   at_wait   when a thread waits for it and nothing else can run;
//   random    at any call that could switch, from the issue on, as the seed says.
// An mbarrier counts a load's bytes at_issue in one step, else in the smallest steps that a GPU was seen to take. That
// makes a difference where fewer bytes were announced than come: the count passes zero by, or stops there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "common/cpu/cuda.h"
#include "common/emulator/shadow.hpp"

namespace lab::cpu {

class Block;

// One copy between global and shared memory: a box of a tensor, or, with no tensor, `bytes` contiguous bytes; or
// `value` of an st.async, which comes to shared memory.
struct BulkCopy {
  bool store = false;
  bool tensor = false;
  bool st_async = false;
  std::byte* shared = nullptr;
  std::byte* global = nullptr;  // contiguous copies
  std::uint32_t bytes = 0;      // that are moved
  std::uint32_t footprint = 0;  // bytes of shared memory from the first to the last: more where a swizzle spreads rows
  CUtensorMap map = {};         // as it was when the copy was issued
  int at[MAX_TENSOR_RANK] = {};
  alignas(16) std::byte value[16] = {};
  int mbarrier = -1;        // loads, st.async: who counts the bytes
  std::uint32_t group = 0;  // stores: the issuing thread's
  ThreadId thread{};
  std::uintptr_t pc = 0;
  std::uint32_t phase = 0;       // of the mbarrier, when it was issued
  std::uint32_t checked_as = 0;  // its number in the checker
};

// Moves the bytes. Outside the tensor a load writes zeros and a store nothing.
void move_box(const BulkCopy& copy, std::size_t window_address);

class CopyEngine {
 public:
  explicit CopyEngine(Block& block) : block_(block) {}
  void reset(std::uint64_t seed);

  // --- what threads call ---------------------------------------------------------------------------------
  void issue(const BulkCopy& asked);
  // A load into this block's shared memory (multicast), or an st.async, that a thread of its cluster has asked for.
  void issue_from(ThreadId thread, const BulkCopy& asked);
  void commit();
  void wait(std::uint32_t groups_left, std::uintptr_t pc);

  // --- what the scheduler calls ----------------------------------------------------------------------------
  bool in_flight() const { return !in_flight_.empty(); }
  bool has_awaited() const;  // land_awaited() would find one
  // At a call that could switch: each copy in flight may happen now.
  void maybe_land();
  // Nothing can run: the oldest copy that a thread waits for happens, or all such st.async. False if there is none.
  bool land_awaited();
  void land_all();            // the block is over
  bool dice(unsigned sides);  // true once in `sides` times, by the seed

 private:
  void start(const BulkCopy& copy);
  void land(const BulkCopy& copy);
  template <class Choose>
  bool land_those(Choose choose);  // false if none was chosen
  void check_issue(BulkCopy& copy);
  bool awaited(const BulkCopy& copy) const;
  bool has_open_stores(std::uint16_t thread, std::uint32_t before_group) const;

  Block& block_;
  std::list<BulkCopy> in_flight_;  // in the order of their issue
  struct Store {
    std::uint16_t thread;
    std::uint32_t group, checked_as;
  };
  std::vector<Store> unread_;  // while checking: stores that their thread has not waited for
  std::uint64_t dice_ = 1;
};

}  // namespace lab::cpu
