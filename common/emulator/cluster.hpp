// A thread block cluster: blocks that run together and reach each other's shared memory; of a launch without clusters a
// block is one of its own. They share one OS thread; each keeps fibers, memory, mbarriers and copies of its own, and the
// cluster says which block goes on when one cannot, or at calls that could switch under the schedules that interleave:
//   ascending, descending  the first block that can go on, from below or above, until it cannot;
//   round_robin            each in turn, after some calls;
//   random                 as the seed says.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/emulator/block.hpp"

namespace lab::cpu {

class Cluster {
 public:
  Cluster(const ExecOptions& options, int size);

  // Runs the blocks with these numbers of the launch, in the order of their ranks. Returns the code of the error that
  // stopped one of them, if any; message() says more.
  cudaError_t run(const LaunchConfig& config, const std::function<void()>& thread,
                  const std::vector<std::uint32_t>& linear);
  const std::string& message() const { return message_; }
  const Hang& hang() const { return hang_; }

  int size() const { return int(blocks_.size()); }
  Block& block(int rank) { return *blocks_[rank]; }
  template <class Each>
  void each_block(Each each) {
    for (const auto& block : blocks_) each(*block);
  }

  // --- what a block's threads call -------------------------------------------------------------------------
  void arrive(Block& block, bool release, std::uintptr_t pc);
  void wait(Block& block, std::uintptr_t pc);
  void thread_left(const Fiber& fiber);  // it counts as arrived from now on

  // --- what blocks call --------------------------------------------------------------------------------------
  bool interleaves() const;
  bool lets_another_go_on();                // at a call that could switch
  int arrived() const { return arrived_; }  // threads, at its barrier
  int live() const;                         // and of how many
  std::string standing(Hang& hang) const;   // where the threads of every block stand

 private:
  Block* next();  // null: no block can go on
  void complete();

  ExecOptions options_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Shadow*> shadows_;
  std::string message_;
  Hang hang_;
  std::uint64_t random_ = 1;
  int turn_ = 0;   // the rank of the block that ran last
  int calls_ = 0;  // that could have switched, since a block gave way

  // The cluster's barrier.
  int arrived_ = 0;  // threads, in the phase under way
  std::uint32_t phase_ = 0;
  Knowledge given_, completed_;  // by arrivals so far; by those of the last phase
};

// Sizes and places: %cluster_ctarank counts x first, as threads in a block do.
// The cluster's blocks, as numbers in the launch, by rank. `cluster` counts clusters, x first.
std::vector<std::uint32_t> blocks_of_cluster(const LaunchConfig& config, std::uint32_t cluster);
// The cluster that a block is part of.
std::uint32_t cluster_of_block(const LaunchConfig& config, std::uint32_t linear);

}  // namespace lab::cpu
