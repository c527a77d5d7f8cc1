// Vector clocks for every thread of a block (shadow.hpp).
//
// A clock has an entry for each timeline: each thread (its entry is a stamp: accesses with a smaller one are ordered
// before), and what is added as it comes up: an mbarrier (phases below the entry are complete) and a queue of
// asynchronous readings (those before the entry are over).
//
// The blocks of a cluster number their timelines alike: first the threads of all blocks, then what any of them adds. So
// what a thread of one block gives a thread of another may take.
#pragma once
#include <cstdint>
#include <vector>

namespace lab::cpu {

// A thread's knowledge that can be passed on: what it has seen, and, of plain writes, what a fence.proxy.async lies
// behind, so that asynchronous work may touch it.
struct Knowledge {
  std::vector<std::uint32_t> seen, fenced;
  void join(const Knowledge& other);
  void clear() { seen.clear(), fenced.clear(); }
};

class ThreadClocks {
 public:
  // Clocks for `threads` threads; the first timelines are those of the cluster's `all_threads`.
  void start(int threads, int all_threads);
  int add_timeline();

  std::uint32_t seen(int thread, int timeline) const {
    return newer(seen_[at(thread) + std::size_t(timeline)], all_.seen[timeline]);
  }
  // All of `of` that are earlier than this stamp have been made visible to asynchronous work that `thread` starts.
  std::uint32_t fenced(int thread, int of) const {
    return newer(fenced_[at(thread) + std::size_t(of)], all_.fenced[of]);
  }
  void see(int thread, int timeline, std::uint32_t stamp);
  void begin(int thread, int own, std::uint32_t stamp) { seen_[at(thread) + std::size_t(own)] = stamp; }  // its own
  void everybody_sees(int timeline, std::uint32_t stamp) { all_.seen[timeline] = stamp; }
  std::uint32_t seen_by_all(int timeline) const { return all_.seen[timeline]; }

  void give(int thread, Knowledge& to) const;
  // The same for a thread that may be of another block: with what the whole block knows.
  void give_outside(int thread, Knowledge& to) const;
  void take(int thread, const Knowledge& from);
  void fence(int thread);  // what it has seen is fenced
  void block_barrier();    // every thread gets the knowledge of all
  // Those of the warp from `first` on, whose timelines begin at `own`, get each other's.
  void sync_warp(int first, int own, std::uint32_t lanes);

 private:
  static std::uint32_t newer(std::uint32_t a, std::uint32_t b) { return a > b ? a : b; }
  std::size_t at(int thread) const { return std::size_t(thread) * stride_; }

  int threads_ = 0, timelines_ = 0;
  int all_threads_ = 0;  // of the cluster
  std::size_t stride_ = 0;
  std::vector<std::uint32_t> seen_, fenced_;  // a row per thread
  std::vector<char> wide_;                    // whether it has more than its own warp's timelines, since all_
  Knowledge all_;                             // of every thread, since the last block barrier
};

}  // namespace lab::cpu
