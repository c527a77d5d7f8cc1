#include "common/emulator/shadow.hpp"

#include <algorithm>
#include <cstring>

namespace lab::cpu {

void Shadow::reset(SharedMemory& shared, FindingLog& log, const char* kernel, std::uint32_t block, int threads) {
  shared_ = &shared, log_ = &log, kernel_ = kernel, block_ = block, threads_ = threads;
  if (cells_.empty()) {
    cells_.resize(SharedMemory::ARENA / GRANULE);
  } else if (touched_begin_ < touched_end_) {
    for (auto* cells : {&cells_, &odd_})
      if (cells == &cells_ || any_split_)
        std::memset(static_cast<void*>(&(*cells)[touched_begin_]), 0, (touched_end_ - touched_begin_) * sizeof(Cell));
  }
  touched_begin_ = cells_.size(), touched_end_ = 0;
  any_split_ = false;
  rewritten_.entries.clear();
  stamps_.assign(std::size_t(threads), 1), given_out_.fill(1);
  thread_clocks_.start(threads, threads);
  by_hand.reset(block, threads);
  for (Knowledge& given : given_) given.clear();
  named_used_ = asynchronous_ = false;
  others_.assign(1, Read{}), free_ = 0;
  async_writes_.clear(), async_reads_.clear();
  warp_queues_.assign(32, {}), thread_queues_.assign(std::size_t(threads), {});
  cluster_ = nullptr, rank_ = base_ = 0;
  visits_.clear();
}

void Shadow::allow(std::size_t offset, std::size_t bytes) {
  touched_begin_ = std::min(touched_begin_, offset / GRANULE);
  touched_end_ = std::max(touched_end_, (offset + bytes + 1) / GRANULE);
  each_cell(offset, bytes, [](Cell& cell) { cell.valid = true; });
}

void Shadow::split(std::size_t granule) {
  Cell& even = cells_[granule];
  if (even.split) return;
  any_split_ = even.split = true;
  touched_begin_ = std::min(touched_begin_, granule), touched_end_ = std::max(touched_end_, granule + 1);
  if (odd_.empty()) odd_.resize(cells_.size());
  Cell& odd = odd_[granule];
  odd = even;
  odd.last.lanes = odd.last.next = 0;
  std::vector<Read> readers;
  for (const Read* at = even.last.lanes ? &even.last : nullptr; at; at = behind(*at)) readers.push_back(*at);
  for (auto at = readers.rbegin(); at != readers.rend(); ++at) push_read(odd, *at);
}

void Shadow::begin_stamp(int warp, std::uint32_t lanes) {
  const std::uint32_t stamp = ++given_out_[std::size_t(warp)];
  for (int t = warp * 32; t < warp * 32 + 32 && t < threads_; ++t)
    if (lanes >> t % 32 & 1) stamps_[std::size_t(t)] = stamp, thread_clocks_.begin(t, base_ + t, stamp);
}

void Shadow::block_barrier() {
  for (int warp = 0; warp * 32 < threads_; ++warp) by_hand.settle(warp, 0xFFFFFFFFu);
  by_hand.block_barrier();
  thread_clocks_.block_barrier();
  for (int warp = 0; warp * 32 < threads_; ++warp) begin_stamp(warp);
  for (int t = 0; t < threads_; ++t) thread_clocks_.everybody_sees(base_ + t, stamps_[std::size_t(t)]);
}

void Shadow::sync_warp(int warp, std::uint32_t mask) {
  by_hand.settle(warp, mask);
  begin_stamp(warp, mask);
  thread_clocks_.sync_warp(warp * 32, base_ + warp * 32, mask);
}

void Shadow::named_arrive(int barrier, int warp) {
  named_used_ = true;
  by_hand.settle(warp, 0xFFFFFFFFu);
  begin_stamp(warp);  // what comes now is not given; among the warp's own lanes it orders nothing
  for (int t = warp * 32; t < warp * 32 + 32 && t < threads_; ++t) thread_clocks_.give(t, given_[std::size_t(barrier)]);
}

void Shadow::named_complete(int barrier, std::uint32_t waiting_warps) {
  for (; waiting_warps; waiting_warps &= waiting_warps - 1) {
    const int warp = __builtin_ctz(waiting_warps);
    thread_clocks_.take(warp * 32, given_[std::size_t(barrier)]);
    sync_warp(warp, 0xFFFFFFFFu);
  }
  given_[std::size_t(barrier)].clear();
}

// --- reports ------------------------------------------------------------------------------------------------

void Shadow::race(Finding::Kind kind, const char* hazard, std::size_t offset, const RawAccess& first,
                  const RawAccess& second, bool atomic) {
  const char* const missing = asynchronous_                            ? "no barrier and no mbarrier orders them"
                              : kind != Finding::Kind::race_inter_warp ? "no __syncwarp orders them"
                              : named_used_                            ? "no barrier that both take part in orders them"
                                                                       : "no block barrier orders them";
  RawFinding& entry =
      report(kind, offset, first, second,
             atomic ? std::string("one of them is atomic, the other is not, and ") + missing : missing, hazard);
  if (first.write && second.write && !atomic && !std::ranges::count(rewritten_.entries, &entry))
    rewritten_.entries.push_back(&entry);
}

// Called when the store that was told of last has happened.
void Shadow::compare_rewritten() {
  const std::byte* const now = shared_->base() + rewritten_.offset;
  if (std::equal(rewritten_.before.begin(), rewritten_.before.end(), now))
    for (RawFinding* const entry : rewritten_.entries) ++entry->same;
  rewritten_.entries.clear();
}

RawFinding& Shadow::report(Finding::Kind kind, std::size_t offset, const RawAccess& first, const RawAccess& second,
                           const std::string& what, const char* hazard) {
  return log_->add(
      kind, hazard, first, second, kernel_, block_,
      [&](RawFinding& entry) {
        entry.where = shared_->describe(offset);
        entry.detail = what;
      },
      access_);
}

RawFinding& Shadow::report(Finding::Kind kind, const std::string& where, const RawAccess& first,
                           const RawAccess& second, const std::string& what) {
  return log_->add(
      kind, "", first, second, kernel_, block_, [&](RawFinding& entry) { entry.where = where, entry.detail = what; },
      access_);
}

// False where the access has no business at all; the rest of the checks would only repeat that.
bool Shadow::check_place(Cell& cell, bool write, const ThreadId& thread, std::uintptr_t pc) {
  if (!cell.valid) {
    report(Finding::Kind::out_of_bounds, offset_of(cell), {}, access(thread, pc, write),
           "outside what the block asked for");
    return false;
  }
  if (cell.pending) {
    report(Finding::Kind::before_wait, offset_of(cell), last_write(cell), access(thread, pc, write),
           cell.not_committed ? "a cp.async may still write here: the wait came before its group was committed"
                              : "a cp.async that no thread has waited for may still write here");
    return false;
  }
  // It is kept as a reader all the same: if the write that comes is not ordered after it, this is a race.
  if (!write && !cell.initialised)
    report(Finding::Kind::uninitialised, offset_of(cell), {}, access(thread, pc, false),
           "nothing has written these bytes");
  return true;
}

// --- readers of a cell --------------------------------------------------------------------------------------

void Shadow::push_read(Cell& cell, const Read& read) {
  std::uint32_t behind = 0;
  if (cell.last.lanes) {
    if (!free_) free_ = std::uint32_t(others_.size()), others_.emplace_back();
    behind = free_, free_ = others_[behind].next;
    others_[behind] = cell.last;
  }
  cell.last = read, cell.last.next = behind;
}

void Shadow::forget_reads(Cell& cell) {
  while (const std::uint32_t gone = cell.last.next) {
    cell.last.next = others_[gone].next;
    others_[gone].next = free_, free_ = gone;
  }
  cell.last.lanes = cell.warps = 0;
  cell.atomics = false;
}

std::uint16_t Shadow::reader(const Read& read, int lane) const {
  return line({std::uint16_t(read.warp * 32 + lane), read.warp, std::uint8_t(lane), read.peer});
}

bool Shadow::over(const AsyncRead& read, const ThreadId& thread) const {
  for (int i = 0; i < std::max(read.warps, 1); ++i)
    if (clocks_of(thread).seen(thread.linear, read.timeline[i]) <= read.place[i]) return false;
  return true;
}

// The thread's own warp has waited for the product. Others of its warpgroup may not have.
bool Shadow::waited_alone(const AsyncRead& read, const ThreadId& thread) const {
  const int w = thread.warp - read.thread.warp;
  return !thread.peer && w >= 0 && w < read.warps &&
         thread_clocks_.seen(thread.linear, read.timeline[w]) > read.place[w];
}

// Whether a thread ordered after `thread` now is ordered after the earlier reads too.
bool Shadow::stands_for(const Read& earlier, const ThreadId& thread) const {
  if (earlier.async) return over(async_reads_[earlier.stamp], thread);
  // A block barrier gives all threads of a warp one stamp.
  if (earlier.peer == thread.peer &&
      clocks_of(thread).seen_by_all(reader(earlier, __builtin_ctz(earlier.lanes))) > earlier.stamp)
    return true;
  for (std::uint32_t lanes = earlier.lanes; lanes; lanes &= lanes - 1)
    if (!ordered(thread, reader(earlier, __builtin_ctz(lanes)), earlier.stamp)) return false;
  return true;
}

bool Shadow::fenced(const Read& read, const ThreadId& thread) const {
  for (std::uint32_t lanes = read.lanes; lanes; lanes &= lanes - 1)
    if (clocks_of(thread).fenced(thread.linear, reader(read, __builtin_ctz(lanes))) <= read.stamp) return false;
  return true;
}

void Shadow::add_read(Cell& cell, const ThreadId& thread, std::uintptr_t pc, std::uint32_t stamp, bool atomic) {
  const std::uint32_t lane = 1u << thread.lane, warp = 1u << thread.warp;
  // Whether one of the same warp goes on as this: more lanes with one stamp, or none that this does not stand for.
  const auto goes_on = [&](Read& r) {
    if (r.warp != thread.warp || !r.lanes || r.async || r.peer != thread.peer || r.atomic != atomic) return false;
    if (r.stamp == stamp) return r.lanes |= lane, true;
    if (!stands_for(r, thread)) return false;
    r.stamp = stamp, r.pc = std::uint32_t(pc), r.lanes = lane;
    return true;
  };
  if (cell.warps & warp) {
    if (goes_on(cell.last)) return;
    for (std::uint32_t* link = &cell.last.next; *link; link = &others_[*link].next)
      if (Read& found = others_[*link]; goes_on(found)) {  // to the front: lanes of a warp come one after the other
        std::swap(found, cell.last), std::swap(found.next, cell.last.next);
        return;
      }
  }
  // Where a block barrier lies behind the last, it lies behind all: they are needed no more.
  if (!asynchronous_ && cell.last.lanes &&
      thread_clocks_.seen_by_all(reader(cell.last, __builtin_ctz(cell.last.lanes))) > cell.last.stamp)
    forget_reads(cell);
  push_read(cell, {stamp, std::uint32_t(pc), lane, 0, thread.warp, false, thread.peer, atomic});
  cell.warps |= warp;
}

// Of the readers that race with the access, the last of another warp and the last of its own. engine: the copy engine
// writes, and comes after plain reads by a fence only.
void Shadow::check_readers(const Cell& cell, const ThreadId& thread, std::uintptr_t pc, Readers which, bool write,
                           bool engine) {
  const Read *other = nullptr, *own = nullptr;
  for (const Read* at = cell.last.lanes ? &cell.last : nullptr; at && !(other && own); at = behind(*at)) {
    if (which != Readers::all && at->atomic != (which == Readers::atomic)) continue;
    const Read*& of_its_warp = at->warp == thread.warp && at->peer == thread.peer ? own : other;
    if (of_its_warp) continue;
    if (!stands_for(*at, thread))
      of_its_warp = at;
    else if (engine && !at->async && !fenced(*at, thread))
      report(Finding::Kind::proxy, offset_of(cell), {at->pc, at->warp, __builtin_ctz(at->lanes), false, at->peer - 1},
             access(thread, pc, true), "no fence.proxy.async by a thread that sees the read comes before", "WAR");
  }
  for (const Read* read : {other, own}) {
    if (!read) continue;
    int lane = __builtin_ctz(read->lanes);
    for (std::uint32_t lanes = read->lanes; !read->async && lanes; lanes &= lanes - 1) {
      lane = __builtin_ctz(lanes);
      if (!ordered(thread, reader(*read, lane), read->stamp)) break;
    }
    const bool others = read->async && waited_alone(async_reads_[read->stamp], thread);
    const Finding::Kind kind = read == own && !others ? Finding::Kind::race_intra_warp : Finding::Kind::race_inter_warp;
    const RawAccess first{read->pc, read->warp, lane, read->atomic, read->peer - 1};
    const RawAccess second = access(thread, pc, write);
    if (read->async)
      report(kind, offset_of(cell), first, second,
             others ? "other warps of the warpgroup may still read here: nothing orders the write after their waits"
                    : "asynchronous work may still read here: nothing orders the write after its wait",
             "WAR");
    else
      race(kind,
           !read->atomic ? "WAR"
           : write       ? "WAW"
                         : "RAW",
           offset_of(cell), first, second, which != Readers::all || read->atomic);
  }
}

// --- plain accesses -----------------------------------------------------------------------------------------

// False where the access has no business, or comes before the copy engine's bytes; then nothing else is checked.
bool Shadow::usable(Cell& cell, bool write, const ThreadId& thread, std::uintptr_t pc) {
  if (cell.is_mbarrier) {
    report(Finding::Kind::mbarrier, offset_of(cell), {}, access(thread, pc, write),
           "an mbarrier lies here: its bytes are opaque, and only mbarrier instructions may touch them");
    return false;
  }
  if (!check_place(cell, write, thread, pc)) return false;
  if (!cell.async_written) return true;
  const AsyncWrite& load = async_writes_[cell.write_stamp];
  if (load.landed && clocks_of(thread).seen(thread.linear, load.timeline) > load.phase) return true;
  report(Finding::Kind::before_phase, offset_of(cell), issuer(load), access(thread, pc, write),
         "the copy engine may still write here: no wait for all of its bytes comes before");
  return false;
}

bool Shadow::check_writer(const Cell& cell, bool write, const ThreadId& thread, std::uintptr_t pc, bool atomic) {
  if (!cell.written || cell.async_written || ordered(thread, cell.writer, cell.write_stamp)) return true;
  const ThreadId writer = thread_on(cell.writer);
  race(writer.warp == thread.warp && writer.peer == thread.peer ? Finding::Kind::race_intra_warp
                                                                : Finding::Kind::race_inter_warp,
       write ? "WAW" : "RAW", offset_of(cell), last_write(cell), access(thread, pc, write), atomic);
  return false;
}

void Shadow::read(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc) {
  settle();
  ++access_;
  const std::uint32_t stamp = stamp_of(thread);
  each_cell(offset, bytes, [&](Cell& cell) {
    const bool plain = cell.valid && cell.initialised && !cell.pending && !cell.async_written && !cell.is_mbarrier;
    if (!plain && !usable(cell, false, thread, pc)) return;
    if (cell.written && !cell.async_written && !ordered(thread, cell.writer, cell.write_stamp)) [[unlikely]]
      check_writer(cell, false, thread, pc);
    if (cell.atomics) [[unlikely]]
      check_readers(cell, thread, pc, Readers::atomic, false);
    // Mostly lanes of one warp read what others of it have read since the last sync.
    if (Read& last = cell.last; last.stamp == stamp && last.warp == thread.warp && last.lanes && !last.async &&
                                last.peer == thread.peer && !last.atomic)
      last.lanes |= 1u << thread.lane;
    else
      add_read(cell, thread, pc, stamp);
  });
}

// An atomic access is a read and a write that lets other atomics be: it is kept among the readers, and whoever reads
// plainly looks for it there.
void Shadow::atomic(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc, bool reads) {
  settle();
  ++access_;
  each_cell(offset, bytes, [&](Cell& cell) {
    if (!usable(cell, !reads, thread, pc)) return;
    if (!check_writer(cell, true, thread, pc, true)) return;
    check_readers(cell, thread, pc, Readers::plain);
    add_read(cell, thread, pc, stamp_of(thread), true);
    cell.atomics = cell.initialised = true;
  });
}

void Shadow::write_cells(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc,
                         bool pending) {
  settle();
  ++access_;
  each_cell(offset, bytes, [&](Cell& cell) {
    if (!usable(cell, true, thread, pc)) return;
    check_writer(cell, true, thread, pc);
    if (cell.last.lanes) check_readers(cell, thread, pc, Readers::all);
    set_writer(cell, thread, pc, stamp_of(thread));
    cell.pending = pending, cell.async_written = false;
  });
  if (pending) rewritten_.entries.clear();  // its bytes come some time
  if (rewritten_.entries.empty()) [[likely]]
    return;
  const std::byte* const now = shared_->base() + offset;
  rewritten_.offset = offset, rewritten_.before.assign(now, now + bytes);
}

void Shadow::set_writer(Cell& cell, const ThreadId& thread, std::uintptr_t pc, std::uint32_t stamp) {
  forget_reads(cell);
  cell.writer = line(thread), cell.writer_pc = std::uint32_t(pc), cell.write_stamp = stamp;
  cell.written = cell.initialised = true, cell.not_committed = false;
}

void Shadow::write(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc) {
  write_cells(offset, bytes, thread, pc, false);
}

void Shadow::copy_issued(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc) {
  write_cells(offset, bytes, thread, pc, true);
}

void Shadow::copy_not_committed(std::size_t offset, std::size_t bytes) {
  each_cell(offset, bytes, [](Cell& cell) { cell.not_committed = cell.pending; });
}

void Shadow::copy_done(std::size_t offset, std::size_t bytes, const ThreadId& thread, std::uintptr_t pc) {
  each_cell(offset, bytes, [&](Cell& cell) {
    if (!cell.pending || cell.writer != line(thread)) return;  // was reported when it was issued
    cell.pending = false;
    cell.writer_pc = std::uint32_t(pc), cell.write_stamp = stamp_of(thread);
  });
}

}  // namespace lab::cpu
