// The checker's cells under asynchronous work.
#include <algorithm>

#include "common/emulator/shadow.hpp"

namespace lab::cpu {

// --- what threads hand on -------------------------------------------------------------------------------------

std::uint32_t Shadow::new_stamp(const ThreadId& thread) {
  begin_stamp(thread.warp, 1u << thread.lane);
  return stamps_[thread.linear];
}

void Shadow::release(const ThreadId& thread, Knowledge& to) {
  by_hand.settle(thread.warp, 1u << thread.lane);
  new_stamp(thread);
  thread_clocks_.give(thread.linear, to);
}

void Shadow::acquire(const ThreadId& thread, const Knowledge& from) {
  thread_clocks_.take(thread.linear, from);
  by_hand.learns(thread);
}

void Shadow::fence_proxy_async(const ThreadId& thread) {
  asynchronous_ = true;
  new_stamp(thread);
  thread_clocks_.fence(thread.linear);
}

int Shadow::mbarrier_placed(std::size_t offset, const ThreadId& thread, std::uintptr_t pc) {
  constexpr std::size_t BYTES = 8;
  asynchronous_ = true;
  write_cells(offset, BYTES, thread, pc, false);
  each_cell(offset, BYTES, [](Cell& cell) { cell.is_mbarrier = true; });
  return add_timeline();
}

// --- asynchronous accesses ------------------------------------------------------------------------------------

void Shadow::check_async(Cell& cell, bool write, const ThreadId& thread, std::uintptr_t pc) {
  if (!check_writer(cell, write, thread, pc)) return;
  if (cell.atomics && !write) check_readers(cell, thread, pc, Readers::atomic, false);
  if (!cell.written || cell.async_written || clocks_of(thread).fenced(thread.linear, cell.writer) > cell.write_stamp)
    return;
  report(Finding::Kind::proxy, offset_of(cell), last_write(cell), access(thread, pc, write),
         "no fence.proxy.async by a thread that sees the write comes before");
}

Shadow::Queue& Shadow::queue_of(std::vector<Queue>& queues, int which) {
  Queue& queue = queues[std::size_t(which)];
  if (queue.timeline < 0) queue.timeline = add_timeline();
  return queue;
}

std::uint32_t Shadow::read_issued(std::size_t offset, std::size_t bytes, AsyncRead read, std::uintptr_t pc) {
  settle();
  ++access_, asynchronous_ = true;
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
  const Cell* checked = nullptr;  // the last one that was good: many in a row have one writer
  const auto like = [&](const Cell& cell) {
    return checked && cell.writer == checked->writer && cell.write_stamp == checked->write_stamp &&
           cell.writer_pc == checked->writer_pc && cell.async_written == checked->async_written &&
           cell.written == checked->written && cell.initialised && cell.valid && !cell.pending && !cell.is_mbarrier;
  };
  each_cell(offset, bytes, [&](Cell& cell) {
    bool good = true;
    for (int w = 0; w < std::max(read.warps, 1) && good && !like(cell); ++w) {
      const ThreadId thread{std::uint16_t(read.thread.linear + 32 * w), std::uint8_t(read.thread.warp + w),
                            read.thread.lane};
      good = usable(cell, false, thread, pc);
      if (good) check_async(cell, false, thread, pc);
    }
    if (!good) return;
    checked = &cell;
    // Readings of a queue end in their order: the last stands for those before.
    if (cell.last.lanes && same_queue(cell.last))
      cell.last.stamp = id, cell.last.pc = std::uint32_t(pc);
    else
      push_read(cell, {id, std::uint32_t(pc), 1u << read.thread.lane, 0, read.thread.warp, true});
  });
  return id;
}

std::uint32_t Shadow::async_read_issued(std::size_t offset, std::size_t bytes, const ThreadId& thread,
                                        std::uintptr_t pc, int warps) {
  return read_issued(offset, bytes, {thread, std::uint32_t(pc), warps, {}, {}}, pc);
}

void Shadow::async_read_done(std::uint32_t id, int warp) {
  const AsyncRead& read = async_reads_[id];
  Queue& queue = warp_queues_[std::size_t(warp)];
  queue.done = std::max(queue.done, read.place[warp - read.thread.warp] + 1);
  for (int t = warp * 32; t < warp * 32 + 32; ++t) thread_clocks_.see(t, queue.timeline, queue.done);
}

std::uint32_t Shadow::store_issued(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc) {
  return read_issued(offset, bytes, {thread, std::uint32_t(pc), 0, {}, {}}, pc);
}

void Shadow::store_done(std::uint32_t id) {
  const AsyncRead& read = async_reads_[id];
  Queue& queue = thread_queues_[read.thread.linear];
  queue.done = std::max(queue.done, read.place[0] + 1);
  thread_clocks_.see(read.thread.linear, queue.timeline, queue.done);
}

void Shadow::check_all_read() {
  settle();
  for (const AsyncRead& read : async_reads_) {
    if (read.warps || thread_queues_[read.thread.linear].done > read.place[0]) continue;
    ++access_;
    report(Finding::Kind::in_flight, "", {}, {read.pc, read.thread.warp, read.thread.lane, false},
           "the block ended, and no thread had waited until this store had read its shared memory");
  }
}

std::uint32_t Shadow::async_write_issued(std::size_t offset, std::size_t bytes, const ThreadId& thread,
                                         std::uintptr_t pc, int timeline, bool engine) {
  settle();
  ++access_, asynchronous_ = true;
  const auto id = std::uint32_t(async_writes_.size());
  async_writes_.push_back({timeline, 0, false, thread, std::uint32_t(pc)});
  each_cell(offset, bytes, [&](Cell& cell) {
    if (!usable(cell, true, thread, pc)) return;
    if (engine)
      check_async(cell, true, thread, pc);
    else
      check_writer(cell, true, thread, pc);
    check_readers(cell, thread, pc, Readers::all, true, engine);
    set_writer(cell, thread, pc, id);
    cell.async_written = true, cell.pending = false;
  });
  rewritten_.entries.clear();  // its bytes come some time
  return id;
}

void Shadow::async_write_landed(std::uint32_t id, std::uint32_t phase) {
  async_writes_[id].landed = true, async_writes_[id].phase = phase;
}

}  // namespace lab::cpu
