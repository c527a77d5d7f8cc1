#include "common/emulator/shadow.hpp"

#include <algorithm>
#include <cstring>

namespace lab::cpu {

void Shadow::reset(SharedMemory& shared, FindingLog& log, const char* kernel, std::uint32_t block, int threads) {
  shared_ = &shared, log_ = &log, kernel_ = kernel, block_ = block, threads_ = threads;
  epoch_ = 1;
  if (cells_.empty()) {
    cells_.resize(SharedMemory::ARENA / GRANULE);
  } else if (touched_begin_ < touched_end_) {
    std::memset(static_cast<void*>(&cells_[touched_begin_]), 0, (touched_end_ - touched_begin_) * sizeof(Cell));
  }
  touched_begin_ = cells_.size(), touched_end_ = 0;
  for (WarpClock& clock : clocks_) {
    clock = WarpClock{};
    clock.stamp.fill(1);
  }
  mixed_.clear();
  named_used_ = false;
  for (Clock& clock : warp_known_) clock.fill(0);
  for (Clock& clock : given_) clock.fill(0);
  warp_reads_.clear();
  barrier_stamp_.fill(1);
  thread_clocks_.stop();
  cluster_ = nullptr, rank_ = base_ = 0;
  visits_.clear();
}

void Shadow::allow(std::size_t offset, std::size_t bytes) {
  const std::size_t begin = offset / GRANULE, end = (offset + bytes) / GRANULE;
  for (std::size_t i = begin; i < end; ++i) cells_[i].valid = true;
  touched_begin_ = std::min(touched_begin_, begin);
  touched_end_ = std::max(touched_end_, end);
}

void Shadow::block_barrier() {
  ++epoch_;
  const int warps = (threads_ + 31) / 32;
  for (int warp = 0; warp < warps; ++warp) {
    WarpClock& clock = clocks_[warp];
    clock.all_before = barrier_stamp_[warp] = ++clock.syncs;
    clock.stamp.fill(clock.syncs);
  }
  if (!thread_clocks_.active()) return;
  thread_clocks_.block_barrier();
  for (int t = 0; t < threads_; ++t) thread_clocks_.everybody_sees(base_ + t, barrier_stamp_[t / 32]);
}

void Shadow::sync_warp(int warp, std::uint32_t mask) {
  WarpClock& clock = clocks_[warp];
  const std::uint32_t stamp = ++clock.syncs;
  if (thread_clocks_.active()) {
    Knowledge joined;
    for (int lane = 0; lane < 32 && warp * 32 + lane < threads_; ++lane)
      if (mask >> lane & 1) {
        clock.stamp[lane] = stamp;
        thread_clocks_.see(warp * 32 + lane, base_ + warp * 32 + lane, stamp);
        thread_clocks_.give(warp * 32 + lane, joined);
      }
    for (int lane = 0; lane < 32 && warp * 32 + lane < threads_; ++lane)
      if (mask >> lane & 1) thread_clocks_.take(warp * 32 + lane, joined);
    return;
  }
  if (mask == 0xFFFFFFFFu) {
    clock.all_before = stamp;
    clock.stamp.fill(stamp);
    return;
  }
  std::array<std::uint32_t, 32> joined{};
  for (int lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1) {
      for (int other = 0; other < 32; ++other) joined[other] = std::max(joined[other], clock.known[lane][other]);
      joined[lane] = std::max(joined[lane], clock.stamp[lane]);
    }
  for (int lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1) {
      clock.known[lane] = joined;
      clock.stamp[lane] = stamp;
    }
}

void Shadow::named_arrive(int barrier, int warp) {
  named_used_ = true;
  WarpClock& clock = clocks_[warp];
  const std::uint32_t stamp = ++clock.syncs;
  clock.stamp.fill(stamp);  // what comes now is not given; among the warp's own lanes it orders nothing
  if (thread_clocks_.active()) {
    for (int t = warp * 32; t < warp * 32 + 32 && t < threads_; ++t) {
      thread_clocks_.see(t, base_ + t, stamp);
      thread_clocks_.give(t, given_tracked_[barrier]);
    }
    return;
  }
  Clock& given = given_[barrier];
  for (int other = 0; other < 32; ++other) given[other] = std::max(given[other], warp_known_[warp][other]);
  given[warp] = stamp;
}

void Shadow::named_complete(int barrier, std::uint32_t waiting_warps) {
  if (thread_clocks_.active()) {
    for (; waiting_warps; waiting_warps &= waiting_warps - 1) {
      const int warp = __builtin_ctz(waiting_warps);
      for (int t = warp * 32; t < warp * 32 + 32 && t < threads_; ++t) thread_clocks_.take(t, given_tracked_[barrier]);
      sync_warp(warp, 0xFFFFFFFFu);
    }
    given_tracked_[barrier].clear();
    return;
  }
  Clock& given = given_[barrier];
  for (; waiting_warps; waiting_warps &= waiting_warps - 1) {
    const int warp = __builtin_ctz(waiting_warps);
    for (int other = 0; other < 32; ++other)
      warp_known_[warp][other] = std::max(warp_known_[warp][other], given[other]);
    sync_warp(warp, 0xFFFFFFFFu);
  }
  given.fill(0);
}

RawAccess Shadow::last_write(const Cell& cell) const { return access(thread_on(cell.writer), cell.writer_pc, true); }

void Shadow::race(Finding::Kind kind, const char* hazard, std::size_t offset, const RawAccess& first,
                  const RawAccess& second) {
  log_->add(
      kind, hazard, first, second, kernel_, block_,
      [&](RawFinding& entry) {
        entry.where = shared_->describe(offset);
        entry.detail = thread_clocks_.active()                  ? "no barrier and no mbarrier orders them"
                       : kind != Finding::Kind::race_inter_warp ? "no __syncwarp orders them"
                       : named_used_                            ? "no barrier that both take part in orders them"
                                                                : "no block barrier orders them";
      },
      access_);
}

void Shadow::report(Finding::Kind kind, std::size_t offset, const RawAccess& first, const RawAccess& second,
                    const char* what) {
  log_->add(
      kind, "", first, second, kernel_, block_,
      [&](RawFinding& entry) {
        entry.where = shared_->describe(offset);
        entry.detail = what;
      },
      access_);
}

// False where the access has no business at all; the rest of the checks would only repeat that.
bool Shadow::check_place(Cell& cell, std::size_t offset, bool write, ThreadId thread, std::uintptr_t pc) {
  if (!cell.valid) {
    report(Finding::Kind::out_of_bounds, offset, {}, access(thread, pc, write), "outside what the block asked for");
    return false;
  }
  if (cell.pending) {
    report(Finding::Kind::before_wait, offset, last_write(cell), access(thread, pc, write),
           cell.not_committed ? "a cp.async may still write here: the wait came before its group was committed"
                              : "a cp.async that no thread has waited for may still write here");
    return false;
  }
  if (!write && !cell.initialised) {
    report(Finding::Kind::uninitialised, offset, {}, access(thread, pc, false), "nothing has written these bytes");
    return false;
  }
  return true;
}

void Shadow::check_writer(const Cell& cell, std::size_t offset, bool write, ThreadId thread, std::uintptr_t pc) {
  if (!cell.written || cell.write_epoch != epoch_ || cell.writer == thread.linear) return;
  const char* hazard = write ? "WAW" : "RAW";
  const int warp = cell.writer / 32;
  if (warp != thread.warp) {
    if (cell.write_stamp >= warp_known_[thread.warp][warp])
      race(Finding::Kind::race_inter_warp, hazard, offset, last_write(cell), access(thread, pc, write));
  } else if (!ordered(clocks_[thread.warp], thread.lane, cell.writer % 32, cell.write_stamp)) {
    race(Finding::Kind::race_intra_warp, hazard, offset, last_write(cell), access(thread, pc, write));
  }
}

std::uint32_t Shadow::latest_read(const Cell& cell, std::size_t index) const {
  if (!cell.mixed) return cell.read_stamp;
  const LaneStamps& stamps = mixed_.at(index);
  std::uint32_t latest = 0;
  for (std::uint32_t lanes = cell.reader_lanes; lanes; lanes &= lanes - 1)
    latest = std::max(latest, stamps.stamp[__builtin_ctz(lanes)]);
  return latest;
}

bool Shadow::check_other_warps(const Cell& cell, std::size_t index, ThreadId thread, std::uintptr_t pc) {
  const auto known = warp_reads_.find(index);
  for (std::uint32_t warps = cell.reader_warps & ~(1u << thread.warp); warps; warps &= warps - 1) {
    const int warp = __builtin_ctz(warps);
    WarpRead read;  // not kept: it was before the block's first named barrier, so anything given since covers it
    if (warp == cell.reader_warp)
      read = {latest_read(cell, index), cell.reader_pc, std::uint8_t(__builtin_ctz(cell.reader_lanes))};
    else if (known != warp_reads_.end() && known->second[warp].stamp)
      read = known->second[warp];
    else if (warp == cell.other_warp)
      read = {0, cell.other_pc, cell.other_lane};
    if (read.stamp < warp_known_[thread.warp][warp]) continue;
    race(Finding::Kind::race_inter_warp, "WAR", index * GRANULE, {read.pc, warp, read.lane, false},
         access(thread, pc, true));
    return true;
  }
  return false;
}

void Shadow::check_readers(const Cell& cell, std::size_t index, ThreadId thread, std::uintptr_t pc) {
  if (cell.read_epoch != epoch_) return;
  const std::size_t offset = index * GRANULE;
  const RawAccess second = access(thread, pc, true);
  if (named_used_) {
    if (check_other_warps(cell, index, thread, pc)) return;
    // Another warp has read since this one did, and is ordered before it: by a bar.sync, so those reads are too.
    if (cell.reader_warp != thread.warp) return;
  } else if (cell.reader_warps & ~(1u << thread.warp)) {
    const bool last_is_other = cell.reader_warp != thread.warp;
    const int lane = last_is_other ? __builtin_ctz(cell.reader_lanes) : cell.other_lane;
    race(Finding::Kind::race_inter_warp, "WAR", offset,
         {last_is_other ? cell.reader_pc : cell.other_pc, last_is_other ? cell.reader_warp : cell.other_warp, lane,
          false},
         second);
    return;
  }
  const WarpClock& clock = clocks_[thread.warp];
  for (std::uint32_t lanes = cell.reader_lanes; lanes; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    const std::uint32_t stamp = cell.mixed ? mixed_.at(index).stamp[lane] : cell.read_stamp;
    if (ordered(clock, thread.lane, lane, stamp)) continue;
    race(Finding::Kind::race_intra_warp, "WAR", offset, {cell.reader_pc, thread.warp, lane, false}, second);
    return;
  }
}

void Shadow::remember_reader(Cell& cell, std::size_t index, ThreadId thread, std::uintptr_t pc) {
  const std::uint32_t lane = 1u << thread.lane, warp = 1u << thread.warp;
  const WarpClock& clock = clocks_[thread.warp];
  const std::uint32_t stamp = clock.stamp[thread.lane];
  const auto start_over = [&](std::uint32_t warps) {
    cell.read_epoch = epoch_, cell.read_stamp = stamp, cell.reader_warp = thread.warp;
    cell.reader_lanes = lane, cell.reader_warps = warps | warp, cell.reader_pc = std::uint32_t(pc);
    if (cell.mixed) mixed_.erase(index);
    cell.mixed = false;
  };
  if (cell.read_epoch != epoch_ || cell.reader_warps == 0) return start_over(0);
  if (cell.reader_warp != thread.warp) {
    if (named_used_)
      warp_reads_[index][cell.reader_warp] = {latest_read(cell, index), cell.reader_pc,
                                              std::uint8_t(__builtin_ctz(cell.reader_lanes))};
    cell.other_warp = cell.reader_warp, cell.other_lane = std::uint8_t(__builtin_ctz(cell.reader_lanes));
    cell.other_pc = cell.reader_pc;
    return start_over(cell.reader_warps);
  }
  if (!cell.mixed && cell.read_stamp == stamp) {
    cell.reader_lanes |= lane;
    return;
  }
  // A read that is ordered after all the earlier ones stands for them: a thread after it is after them too.
  bool stands_for_all = true;
  for (std::uint32_t lanes = cell.reader_lanes; lanes && stands_for_all; lanes &= lanes - 1) {
    const int earlier = __builtin_ctz(lanes);
    stands_for_all =
        ordered(clock, thread.lane, earlier, cell.mixed ? mixed_.at(index).stamp[earlier] : cell.read_stamp);
  }
  if (stands_for_all) return start_over(cell.reader_warps);
  LaneStamps& stamps = mixed_[index];
  if (!cell.mixed) stamps.stamp.fill(cell.read_stamp);
  stamps.stamp[thread.lane] = stamp;
  cell.mixed = true;
  cell.reader_lanes |= lane;
}

void Shadow::read(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc) {
  if (thread_clocks_.active()) return read_tracked(offset, bytes, thread, pc);
  ++access_;
  const std::size_t end = (offset + bytes + GRANULE - 1) / GRANULE;
  for (std::size_t i = offset / GRANULE; i < end; ++i) {
    Cell& cell = cells_[i];
    if (!cell.valid || cell.pending || !cell.initialised) {
      check_place(cell, i * GRANULE, false, thread, pc);
      continue;
    }
    if (cell.write_epoch == epoch_) check_writer(cell, i * GRANULE, false, thread, pc);
    // The common case: lanes of one warp read what others of it have read since the last sync.
    if (cell.read_epoch == epoch_ && cell.reader_warp == thread.warp && !cell.mixed &&
        cell.read_stamp == clocks_[thread.warp].stamp[thread.lane]) {
      cell.reader_lanes |= 1u << thread.lane;
      continue;
    }
    remember_reader(cell, i, thread, pc);
  }
}

void Shadow::write_cells(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc, bool pending) {
  if (thread_clocks_.active()) return write_tracked(offset, bytes, thread, pc, pending);
  ++access_;
  const std::size_t end = (offset + bytes + GRANULE - 1) / GRANULE;
  for (std::size_t i = offset / GRANULE; i < end; ++i) {
    Cell& cell = cells_[i];
    if (!check_place(cell, i * GRANULE, true, thread, pc)) continue;
    check_writer(cell, i * GRANULE, true, thread, pc);
    check_readers(cell, i, thread, pc);
    if (cell.mixed) mixed_.erase(i);
    cell.mixed = false;
    cell.reader_warps = 0, cell.reader_lanes = 0, cell.read_epoch = 0;
    cell.writer = thread.linear, cell.writer_pc = std::uint32_t(pc), cell.write_epoch = epoch_;
    cell.write_stamp = clocks_[thread.warp].stamp[thread.lane];
    cell.written = true, cell.initialised = true, cell.pending = pending, cell.not_committed = false;
  }
}

void Shadow::write(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc) {
  write_cells(offset, bytes, thread, pc, false);
}

void Shadow::copy_issued(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc) {
  write_cells(offset, bytes, thread, pc, true);
}

void Shadow::copy_not_committed(std::size_t offset, std::size_t bytes) {
  for (std::size_t i = offset / GRANULE; i < (offset + bytes + GRANULE - 1) / GRANULE; ++i)
    cells_[i].not_committed = cells_[i].pending;
}

void Shadow::copy_done(std::size_t offset, std::size_t bytes, ThreadId thread, std::uintptr_t pc) {
  const std::size_t end = (offset + bytes + GRANULE - 1) / GRANULE;
  for (std::size_t i = offset / GRANULE; i < end; ++i) {
    Cell& cell = cells_[i];
    if (!cell.pending || cell.writer != line(thread)) continue;  // was reported when it was issued
    cell.pending = false;
    cell.writer_pc = std::uint32_t(pc), cell.write_epoch = epoch_;
    cell.write_stamp = clocks_[thread.warp].stamp[thread.lane];
  }
}

}  // namespace lab::cpu
