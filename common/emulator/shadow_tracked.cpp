// The checker's cells while every thread is followed: plain accesses.
#include "common/emulator/shadow.hpp"

namespace lab::cpu {

void Shadow::report(Finding::Kind kind, const std::string& where, const RawAccess& first, const RawAccess& second,
                    const std::string& what) {
  log_->add(
      kind, "", first, second, kernel_, block_, [&](RawFinding& entry) { entry.where = where, entry.detail = what; },
      access_);
}

// --- readers of a cell --------------------------------------------------------------------------------------

std::uint32_t Shadow::new_read(const Read& read) {
  if (!free_reads_) {
    reads_.push_back(read);
    return std::uint32_t(reads_.size() - 1);
  }
  const std::uint32_t at = free_reads_;
  free_reads_ = reads_[at].next;
  reads_[at] = read;
  return at;
}

void Shadow::forget_reads(Cell& cell) {
  if (!cell.reads) return;
  std::uint32_t last = cell.reads;
  while (reads_[last].next) last = reads_[last].next;
  reads_[last].next = free_reads_;
  free_reads_ = cell.reads;
  cell.reads = 0;
}

std::uint16_t Shadow::reader(const Read& read, int lane) const {
  return line({std::uint16_t(read.warp * 32 + lane), read.warp, std::uint8_t(lane), read.peer});
}

bool Shadow::over(const AsyncRead& read, ThreadId thread) const {
  for (int i = 0; i < std::max(read.warps, 1); ++i)
    if (clocks_of(thread).seen(thread.linear, read.timeline[i]) <= read.place[i]) return false;
  return true;
}

// Whether a thread ordered after `thread` now is ordered after the earlier reads too.
bool Shadow::stands_for(const Read& earlier, ThreadId thread) const {
  if (earlier.async) return over(async_reads_[earlier.stamp], thread);
  for (std::uint32_t lanes = earlier.lanes; lanes; lanes &= lanes - 1)
    if (!ordered(thread, reader(earlier, __builtin_ctz(lanes)), earlier.stamp)) return false;
  return true;
}

void Shadow::add_read(Cell& cell, ThreadId thread, std::uintptr_t pc) {
  const std::uint32_t stamp = stamp_of(thread);
  std::uint32_t* link = &cell.reads;
  while (*link) {
    Read& earlier = reads_[*link];
    if (!earlier.async && earlier.warp == thread.warp && earlier.peer == thread.peer && earlier.stamp == stamp) {
      earlier.lanes |= 1u << thread.lane;
      return;
    }
    if (stands_for(earlier, thread)) {  // needed no more
      const std::uint32_t gone = *link;
      *link = earlier.next;
      earlier.next = free_reads_, free_reads_ = gone;
    } else {
      link = &earlier.next;
    }
  }
  const std::uint32_t first = cell.reads;
  cell.reads = new_read({stamp, std::uint32_t(pc), 1u << thread.lane, first, thread.warp, false, thread.peer});
}

void Shadow::check_tracked_readers(const Cell& cell, std::size_t index, ThreadId thread, std::uintptr_t pc) {
  for (std::uint32_t at = cell.reads; at; at = reads_[at].next) {
    const Read& read = reads_[at];
    if (stands_for(read, thread)) continue;
    int lane = __builtin_ctz(read.lanes);
    for (std::uint32_t lanes = read.lanes; !read.async && lanes; lanes &= lanes - 1) {
      lane = __builtin_ctz(lanes);
      if (!ordered(thread, reader(read, lane), read.stamp)) break;
    }
    const Finding::Kind kind = read.warp == thread.warp && read.peer == thread.peer ? Finding::Kind::race_intra_warp
                                                                                    : Finding::Kind::race_inter_warp;
    const RawAccess first{read.pc, read.warp, lane, false, read.peer - 1}, second = access(thread, pc, true);
    if (!read.async) return race(kind, "WAR", index * GRANULE, first, second);
    log_->add(
        kind, "WAR", first, second, kernel_, block_,
        [&](RawFinding& entry) {
          entry.where = shared_->describe(index * GRANULE);
          entry.detail = "asynchronous work may still read here: nothing orders the write after its wait";
        },
        access_);
    return;
  }
}

// --- plain accesses -----------------------------------------------------------------------------------------

// False where the access has no business, or comes before the copy engine's bytes; then nothing else is checked.
bool Shadow::usable(Cell& cell, std::size_t index, bool write, ThreadId thread, std::uintptr_t pc) {
  const std::size_t offset = index * GRANULE;
  if (cell.is_mbarrier) {
    report(Finding::Kind::mbarrier, offset, {}, access(thread, pc, write),
           "an mbarrier lies here: its bytes are opaque, and only mbarrier instructions may touch them");
    return false;
  }
  if (!check_place(cell, offset, write, thread, pc)) return false;
  if (!cell.async_written) return true;
  const AsyncWrite& load = async_writes_[cell.write_stamp];
  if (load.landed && clocks_of(thread).seen(thread.linear, load.timeline) > load.phase) return true;
  report(Finding::Kind::before_phase, offset, issuer(load), access(thread, pc, write),
         "the copy engine may still write here: no wait for its mbarrier comes before");
  return false;
}

bool Shadow::check_plain_writer(const Cell& cell, std::size_t index, bool write, ThreadId thread, std::uintptr_t pc) {
  if (!cell.written || cell.async_written || ordered(thread, cell.writer, cell.write_stamp)) return true;
  const ThreadId writer = thread_on(cell.writer);
  race(writer.warp == thread.warp && writer.peer == thread.peer ? Finding::Kind::race_intra_warp
                                                                : Finding::Kind::race_inter_warp,
       write ? "WAW" : "RAW", index * GRANULE, last_write(cell), access(thread, pc, write));
  return false;
}

void Shadow::read_tracked(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc) {
  ++access_;
  const std::size_t end = (offset + bytes + GRANULE - 1) / GRANULE;
  for (std::size_t i = offset / GRANULE; i < end; ++i) {
    Cell& cell = cells_[i];
    if (!usable(cell, i, false, thread, pc)) continue;
    check_plain_writer(cell, i, false, thread, pc);
    add_read(cell, thread, pc);
  }
}

void Shadow::write_tracked(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc, bool pending) {
  ++access_;
  const std::size_t end = (offset + bytes + GRANULE - 1) / GRANULE;
  for (std::size_t i = offset / GRANULE; i < end; ++i) {
    Cell& cell = cells_[i];
    if (!usable(cell, i, true, thread, pc)) continue;
    check_plain_writer(cell, i, true, thread, pc);
    check_tracked_readers(cell, i, thread, pc);
    forget_reads(cell);
    cell.writer = line(thread), cell.writer_pc = std::uint32_t(pc), cell.write_epoch = epoch_;
    cell.write_stamp = stamp_of(thread);
    cell.written = true, cell.initialised = true, cell.pending = pending, cell.not_committed = false;
    cell.async_written = false;
  }
}

}  // namespace lab::cpu
