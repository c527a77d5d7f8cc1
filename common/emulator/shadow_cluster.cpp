// The checker across the blocks of a cluster. Each block has its own cells and its own threads' clocks; the timelines
// in them are the cluster's, so what is given in one block can be taken in another.
#include <algorithm>

#include "common/emulator/shadow.hpp"

namespace lab::cpu {

void Shadow::join_cluster(const std::vector<Shadow*>& all, int rank) {
  cluster_ = &all, rank_ = rank, base_ = rank * threads_;
  if (all.size() > 1) asynchronous_ = true, thread_clocks_.start(threads_, threads_ * int(all.size()));
  // One timeline per block says that it has started: its own threads know.
  for (std::size_t i = 0; i < all.size(); ++i) thread_clocks_.add_timeline();
  thread_clocks_.everybody_sees(started_line(rank), 1);
}

int Shadow::add_timeline() {
  int timeline = 0;
  for (Shadow* peer : *cluster_) timeline = peer->thread_clocks_.add_timeline();
  return timeline;
}

ThreadId Shadow::thread_on(std::uint16_t line) const {
  const int rank = line / threads_, linear = line % threads_;
  return {std::uint16_t(linear), std::uint8_t(linear / 32), std::uint8_t(linear % 32),
          std::uint8_t(rank == rank_ ? 0 : rank + 1)};
}

void Shadow::release_outside(const ThreadId& thread, Knowledge& to) {
  by_hand.settle(thread.warp, 1u << thread.lane);
  new_stamp(thread);
  thread_clocks_.give_outside(thread.linear, to);
}

void Shadow::say_started(const ThreadId& thread, std::uint32_t stamp, Knowledge& to) {
  const auto raise = [&](std::size_t timeline, std::uint32_t value) {
    if (to.seen.size() <= timeline) to.seen.resize(timeline + 1, 0);
    to.seen[timeline] = std::max(to.seen[timeline], value);
  };
  raise(std::size_t(started_line(rank_)), 1);
  raise(line(thread), stamp);
}

void Shadow::check_started(const ThreadId& peer, std::uintptr_t pc, bool write) {
  if (clocks_of(peer).seen(peer.linear, started_line(rank_))) return;
  ++access_;
  report(Finding::Kind::before_start, "", {}, access(peer, pc, write),
         "no cluster barrier, and no mbarrier, tells this thread that the block has started");
}

void Shadow::visited(const ThreadId& peer, std::uintptr_t pc, bool write) {
  visits_[line(peer)] = {peer, stamp_of(peer), pc, write};
}

void Shadow::check_visits() {
  if (visits_.empty()) return;
  Knowledge end;
  for (int t = 0; t < threads_; ++t) thread_clocks_.give_outside(t, end);
  for (const auto& [line, visit] : visits_) {
    if (end.seen[line] > visit.stamp) continue;
    ++access_;
    report(Finding::Kind::early_exit, "", {}, access(visit.thread, visit.pc, visit.write),
           "the block ended, and no thread of it had waited until this access was over: its shared memory may be gone "
           "by then");
  }
}

}  // namespace lab::cpu
