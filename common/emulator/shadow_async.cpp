// The checker's cells under asynchronous work, and how it begins to follow every thread.
#include <algorithm>

#include "common/emulator/shadow.hpp"

namespace lab::cpu {

// --- from warps to threads ------------------------------------------------------------------------------------

void Shadow::track() {
  if (thread_clocks_.active()) return;
  thread_clocks_.start(threads_, threads_ * int(cluster_ ? cluster_->size() : 1));
  for (int t = 0; t < threads_; ++t) {
    thread_clocks_.everybody_sees(base_ + t, barrier_stamp_[t / 32]);
    const WarpClock& clock = clocks_[t / 32];
    for (int u = 0; u < threads_; ++u) {
      if (u / 32 == t / 32)
        thread_clocks_.see(t, base_ + u, std::max(clock.all_before, clock.known[t % 32][u % 32] + 1));
      else
        thread_clocks_.see(t, base_ + u, warp_known_[t / 32][u / 32]);
    }
    thread_clocks_.see(t, base_ + t, clock.stamp[t % 32]);
  }
  for (std::size_t barrier = 0; barrier < given_.size(); ++barrier) {
    Knowledge& given = given_tracked_[barrier];
    given.clear();
    given.seen.resize(std::size_t(base_ + threads_));
    for (int t = 0; t < threads_; ++t) given.seen[std::size_t(base_ + t)] = given_[barrier][t / 32];
  }
  reads_.assign(1, Read{});
  free_reads_ = 0;
  async_writes_.clear(), async_reads_.clear();
  warp_queues_.assign(32, {}), thread_queues_.assign(std::size_t(threads_), {});
  start_tracking_cells();
}

// The readers of this epoch so far. Of warps that read in turns the last two are known.
void Shadow::start_tracking_cells() {
  for (std::size_t i = touched_begin_; i < touched_end_; ++i) {
    Cell& cell = cells_[i];
    cell.reads = 0;
    if (cell.read_epoch != epoch_ || !cell.reader_warps) continue;
    for (std::uint32_t lanes = cell.reader_lanes; lanes; lanes &= lanes - 1) {
      const int lane = __builtin_ctz(lanes);
      const std::uint32_t stamp = cell.mixed ? mixed_.at(i).stamp[std::size_t(lane)] : cell.read_stamp;
      cell.reads = new_read({stamp, cell.reader_pc, 1u << lane, cell.reads, cell.reader_warp, false});
    }
    if (cell.reader_warps & ~(1u << cell.reader_warp)) {
      const auto known = warp_reads_.find(i);
      const std::uint32_t stamp =
          known == warp_reads_.end() ? barrier_stamp_[cell.other_warp] : known->second[cell.other_warp].stamp;
      cell.reads = new_read({stamp, cell.other_pc, 1u << cell.other_lane, cell.reads, cell.other_warp, false});
    }
  }
}

// --- what threads hand on -------------------------------------------------------------------------------------

std::uint32_t Shadow::new_stamp(ThreadId thread) {
  WarpClock& clock = clocks_[thread.warp];
  const std::uint32_t stamp = clock.stamp[thread.lane] = ++clock.syncs;
  thread_clocks_.see(thread.linear, base_ + thread.linear, stamp);
  return stamp;
}

void Shadow::release(ThreadId thread, Knowledge& to) {
  new_stamp(thread);
  thread_clocks_.give(thread.linear, to);
}

void Shadow::acquire(ThreadId thread, const Knowledge& from) { thread_clocks_.take(thread.linear, from); }

void Shadow::fence_proxy_async(ThreadId thread) {
  track();
  new_stamp(thread);
  thread_clocks_.fence(thread.linear);
}

int Shadow::mbarrier_placed(std::size_t offset, ThreadId thread, std::uintptr_t pc) {
  constexpr std::size_t BYTES = 8;
  track();
  write_tracked(offset, BYTES, thread, pc, false);
  for (std::size_t i = offset / GRANULE; i < (offset + BYTES) / GRANULE; ++i) cells_[i].is_mbarrier = true;
  return add_timeline();
}

// --- asynchronous accesses ------------------------------------------------------------------------------------

void Shadow::check_async(Cell& cell, std::size_t index, bool write, ThreadId thread, std::uintptr_t pc) {
  if (!check_plain_writer(cell, index, write, thread, pc)) return;
  if (!cell.written || cell.async_written || clocks_of(thread).fenced(thread.linear, cell.writer) > cell.write_stamp)
    return;
  report(Finding::Kind::proxy, index * GRANULE, last_write(cell), access(thread, pc, write),
         "no fence.proxy.async by a thread that sees the write comes before");
}

Shadow::Queue& Shadow::queue_of(std::vector<Queue>& queues, int which) {
  Queue& queue = queues[std::size_t(which)];
  if (queue.timeline < 0) queue.timeline = add_timeline();
  return queue;
}

std::uint32_t Shadow::read_issued(std::size_t offset, std::size_t bytes, AsyncRead read, std::uintptr_t pc) {
  ++access_;
  const auto id = std::uint32_t(async_reads_.size());
  for (int w = 0; w < std::max(read.warps, 1); ++w) {
    Queue& queue =
        read.warps ? queue_of(warp_queues_, read.thread.warp + w) : queue_of(thread_queues_, read.thread.linear);
    read.timeline[w] = queue.timeline, read.place[w] = queue.issued++;
  }
  async_reads_.push_back(read);
  const auto same_queue = [&](const Read& earlier) {
    if (!earlier.async) return false;
    const AsyncRead& other = async_reads_[earlier.stamp];
    return other.warps == read.warps && other.timeline[0] == read.timeline[0];
  };
  const std::size_t end = (offset + bytes + GRANULE - 1) / GRANULE;
  for (std::size_t i = offset / GRANULE; i < end; ++i) {
    Cell& cell = cells_[i];
    bool good = true;
    for (int w = 0; w < std::max(read.warps, 1) && good; ++w) {
      const ThreadId thread{std::uint16_t(read.thread.linear + 32 * w), std::uint8_t(read.thread.warp + w),
                            read.thread.lane};
      good = usable(cell, i, false, thread, pc);
      if (good) check_async(cell, i, false, thread, pc);
    }
    if (!good) continue;
    // Readings of a queue end in their order: the last stands for those before.
    if (cell.reads && same_queue(reads_[cell.reads]))
      reads_[cell.reads].stamp = id, reads_[cell.reads].pc = std::uint32_t(pc);
    else
      cell.reads = new_read({id, std::uint32_t(pc), 1u << read.thread.lane, cell.reads, read.thread.warp, true});
  }
  return id;
}

std::uint32_t Shadow::async_read_issued(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc,
                                        int warps) {
  track();
  return read_issued(offset, bytes, {thread, std::uint32_t(pc), warps, {}, {}}, pc);
}

void Shadow::async_read_done(std::uint32_t id, int warp) {
  const AsyncRead& read = async_reads_[id];
  for (int w = 0; w < read.warps; ++w) {
    if (warp >= 0 && warp != read.thread.warp + w) continue;
    Queue& queue = warp_queues_[std::size_t(read.thread.warp + w)];
    queue.done = std::max(queue.done, read.place[w] + 1);
    const int first = (read.thread.warp + w) * 32;
    for (int t = first; t < first + 32 && t < threads_; ++t) thread_clocks_.see(t, queue.timeline, queue.done);
  }
}

std::uint32_t Shadow::store_issued(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc) {
  track();
  return read_issued(offset, bytes, {thread, std::uint32_t(pc), 0, {}, {}}, pc);
}

void Shadow::store_done(std::uint32_t id) {
  const AsyncRead& read = async_reads_[id];
  Queue& queue = thread_queues_[read.thread.linear];
  queue.done = std::max(queue.done, read.place[0] + 1);
  thread_clocks_.see(read.thread.linear, queue.timeline, queue.done);
}

void Shadow::check_all_read() {
  if (!thread_clocks_.active()) return;
  for (const AsyncRead& read : async_reads_) {
    if (read.warps || thread_queues_[read.thread.linear].done > read.place[0]) continue;
    ++access_;
    report(Finding::Kind::in_flight, "", {}, {read.pc, read.thread.warp, read.thread.lane, false},
           "the block ended, and no thread had waited until this store had read its shared memory");
  }
}

std::uint32_t Shadow::async_write_issued(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc,
                                         int timeline, bool engine) {
  ++access_;
  const auto id = std::uint32_t(async_writes_.size());
  async_writes_.push_back({timeline, 0, false, thread, std::uint32_t(pc)});
  const std::size_t end = (offset + bytes + GRANULE - 1) / GRANULE;
  for (std::size_t i = offset / GRANULE; i < end; ++i) {
    Cell& cell = cells_[i];
    if (!usable(cell, i, true, thread, pc)) continue;
    if (engine)
      check_async(cell, i, true, thread, pc);
    else
      check_plain_writer(cell, i, true, thread, pc);
    check_tracked_readers(cell, i, thread, pc);
    forget_reads(cell);
    cell.writer = line(thread), cell.writer_pc = std::uint32_t(pc), cell.write_epoch = epoch_;
    cell.write_stamp = id;
    cell.written = cell.initialised = cell.async_written = true;
    cell.pending = cell.not_committed = false;
  }
  return id;
}

void Shadow::async_write_landed(std::uint32_t id, std::uint32_t phase) {
  async_writes_[id].landed = true, async_writes_[id].phase = phase;
}

}  // namespace lab::cpu
