#include "common/emulator/global_shadow.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/emulator/block.hpp"
#include "common/emulator/cluster.hpp"
#include "common/emulator/device_variables.hpp"
#include "common/emulator/memory.hpp"

namespace lab::cpu {
namespace {

using Entry = GlobalCell::Entry;

constexpr std::uint32_t LAUNCHES = 1u << 21;
std::atomic<std::uint32_t> launches_begun{0};

// Blocks run on several OS threads. Held for some dozens of instructions.
class CellLock {
 public:
  explicit CellLock(const GlobalCell* cell) : lock_(locks[std::uintptr_t(cell) / 4096 % std::size(locks)]) {
    while (lock_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  ~CellLock() { lock_.clear(std::memory_order_release); }
  CellLock(const CellLock&) = delete;
  CellLock& operator=(const CellLock&) = delete;

 private:
  inline static std::atomic_flag locks[64];
  std::atomic_flag& lock_;
};

// A write that races with another and is not yet done.
struct Undecided {
  Block* block;
  Finding::Kind kind;
  RawAccess first, second;
  const void* address;
  std::size_t bytes;
  std::array<std::byte, 16> before;
  std::string detail;
};
thread_local std::optional<Undecided> undecided;

// One access, at the words that it touches one after the other.
class Watch {
 public:
  Watch(Block& block, const GlobalAccess& access)
      : block_(block), shadow_(block.shadow()), access_(access), thread_(block.thread_id()), touch_(access.touch) {
    now_.pc_low = std::uint32_t(access.pc), now_.pc_high = std::uint16_t(access.pc >> 32);
    now_.warp = thread_.warp, now_.lanes = 1u << thread_.lane;
    now_.strong = access.is_volatile, now_.block_scope = access.scope == Scope::block;
    now_.block = block.linear(), now_.stamp = shadow_.stamp_of(thread_);
  }

  // `bytes`: of the word at `word`, a bit for each.
  void at(GlobalCell& cell, const std::byte* word, std::uint8_t bytes, bool first_word) {
    now_.bytes = bytes;
    if (block_.unwritten()) check_written(cell, word);
    if (first_word) by_hand(cell);
    if (touch_ == Touch::write && cell.released) cell.released = 0;
    check(cell);
    const int slot = touch_ == Touch::read    ? GlobalCell::READ
                     : touch_ == Touch::write ? GlobalCell::WRITE
                                              : GlobalCell::ATOMIC;
    const int other = slot == GlobalCell::ATOMIC ? GlobalCell::OTHER_ATOMIC : slot + 2;
    const bool in_other = keep(cell, slot, other);
    if (touch_ == Touch::atomic) cell.last_atomic = in_other;
  }

 private:
  void check_written(GlobalCell& cell, const std::byte* word) {
    const bool reads = touch_ == Touch::read || (touch_ == Touch::atomic && access_.reads);
    if (reads && now_.bytes & ~cell.written) {
      cell.written |= written_by_host(word);
      if (now_.bytes & ~cell.written && !unwritten_reported_) {
        unwritten_reported_ = true;  // an access of several words is one
        block_.report(
            Finding::Kind::uninitialised, {}, {access_.pc, thread_.warp, thread_.lane, false},
            [] { return "neither a kernel nor a copy has written these bytes"; },
            [&] { return name_of_global(access_.address, access_.bytes); });
      }
    }
    cell.written |= now_.bytes;
  }

  void by_hand(GlobalCell& cell) {
    HandOrder& order = shadow_.by_hand;
    if (touch_ == Touch::atomic || (access_.is_volatile && touch_ == Touch::read))
      order.load(thread_, access_.address, cell.released);
    if (touch_ == Touch::read || (touch_ == Touch::write && !access_.is_volatile)) return;
    const bool released = order.release(thread_, cell.released, touch_ == Touch::atomic, access_.scope);
    if (touch_ == Touch::write && released) touch_ = Touch::atomic;
  }

  void check(const GlobalCell& cell) {
    const std::uint32_t used = cell.used;
    const auto against = [&](int slot, Touch touch) {
      if (used >> slot & 1) collide(cell.at[std::size_t(slot)], touch);
    };
    against(GlobalCell::WRITE, Touch::write), against(GlobalCell::OTHER_WRITE, Touch::write);
    if (touch_ != Touch::read) against(GlobalCell::READ, Touch::read), against(GlobalCell::OTHER_READ, Touch::read);
    if (touch_ != Touch::write) {
      against(GlobalCell::ATOMIC, Touch::atomic), against(GlobalCell::OTHER_ATOMIC, Touch::atomic);
    } else {
      against(cell.last_atomic ? GlobalCell::OTHER_ATOMIC : GlobalCell::ATOMIC, Touch::atomic);
    }
  }

  // Two volatile stores after fences of their own: each may be meant to release, but both cannot be the last. Unless this
  // thread has looked at the word that it overwrites.
  bool two_stores(const Entry& earlier, Touch kind) const {
    return kind == Touch::atomic && earlier.strong && touch_ == Touch::atomic && now_.strong &&
           !shadow_.by_hand.has_loaded(thread_, access_.address);
  }

  // Whether neither is a plain access.
  bool both_strong(const Entry& earlier, Touch kind) const {
    if (two_stores(earlier, kind)) return false;
    const bool one = kind == Touch::atomic || (kind == Touch::read && earlier.strong);
    const bool other = touch_ == Touch::atomic || (touch_ == Touch::read && now_.strong);
    return one && other && (earlier.block == now_.block || !(earlier.block_scope || now_.block_scope));
  }

  // The first of the entry's lanes that is not ordered before this access; -1: all are.
  int unordered(const Entry& e) const {
    std::uint32_t lanes = e.lanes;
    std::uint8_t peer = 0;
    if (e.block == now_.block) {
      if (e.warp == now_.warp) lanes &= ~now_.lanes;
    } else {
      peer = peer_of(e.block);
    }
    for (; lanes; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes), linear = e.warp * 32 + lane;
      if ((e.block == now_.block || peer) &&
          shadow_.after(thread_, {std::uint16_t(linear), e.warp, std::uint8_t(lane), peer}, e.stamp))
        continue;
      if (!shadow_.by_hand.ordered(thread_, e.block, linear, e.stamp)) return lane;
    }
    return -1;
  }

  // Of a block of the same cluster its rank + 1, else 0.
  std::uint8_t peer_of(std::uint32_t block) const {
    Cluster& cluster = block_.cluster();
    for (int rank = 0; rank < cluster.size(); ++rank)
      if (cluster.block(rank).linear() == block) return std::uint8_t(rank + 1);
    return 0;
  }

  void collide(const Entry& e, Touch kind) {
    if (reported_ || !(e.bytes & now_.bytes) || both_strong(e, kind)) return;
    if (e.block == now_.block && e.warp == now_.warp && e.lanes == now_.lanes) return;
    const int lane = unordered(e);
    if (lane < 0) return;
    reported_ = true;  // an access of several words is one
    const bool same_block = e.block == now_.block;
    const Finding::Kind found = !same_block           ? Finding::Kind::race_inter_block
                                : e.warp == now_.warp ? Finding::Kind::race_intra_warp
                                                      : Finding::Kind::race_inter_warp;
    const RawAccess first{e.pc(), e.warp, lane, kind != Touch::read};
    const RawAccess second{access_.pc, thread_.warp, thread_.lane, touch_ != Touch::read};
    const auto detail = [&] {
      const std::string between = !same_block ? "the earlier access is block " + std::to_string(e.block) + "'s, and " +
                                                    (peer_of(e.block) ? "no barrier of the cluster orders them"
                                                                      : "nothing orders the blocks of a launch")
                                  : e.warp == now_.warp ? "no __syncwarp orders them"
                                                        : "no barrier orders them";
      return between + shadow_.by_hand.missing_fence(access_.address, e.block, e.warp * 32 + lane, e.stamp) +
             (two_stores(e, kind)       ? ""
              : kind == touch_          ? kind == Touch::atomic ? "; the atomics are of block scope" : ""
              : kind == Touch::atomic   ? "; it is atomic, this one is not"
              : touch_ == Touch::atomic ? "; this one is atomic, it is not"
                                        : "");
    };
    const bool stores = (kind == Touch::write && touch_ == Touch::write) || two_stores(e, kind);
    if (stores && access_.bytes <= sizeof(Undecided::before)) {
      undecided = Undecided{&block_, found, first, second, access_.address, access_.bytes, {}, detail()};
      std::memcpy(undecided->before.data(), access_.address, access_.bytes);
      return;
    }
    const char* const hazard = touch_ == Touch::read ? "RAW" : kind == Touch::read ? "WAR" : "WAW";
    block_.report(
        found, first, second, detail, [&] { return name_of_global(access_.address, access_.bytes); }, hazard);
  }

  // The slots are those of one kind of access. Returns whether the second took it.
  bool keep(GlobalCell& cell, int slot, int other) const {
    for (const int s : {slot, other}) {
      Entry& e = cell.at[std::size_t(s)];
      if (!(cell.used >> s & 1) || e.block != now_.block || e.warp != now_.warp || e.stamp != now_.stamp ||
          e.bytes != now_.bytes || e.strong != now_.strong || e.block_scope != now_.block_scope)
        continue;
      e.lanes |= now_.lanes;
      return s == other;
    }
    // The first is kept, unless whatever is ordered after this access is after the first, too.
    const Entry& first = cell.at[std::size_t(slot)];
    const bool free = !(cell.used >> slot & 1) || (first.block == now_.block && !(first.bytes & ~now_.bytes) &&
                                                   (first.strong || !now_.strong) && unordered(first) < 0);
    cell.at[std::size_t(free ? slot : other)] = now_;
    cell.used |= 1u << (free ? slot : other);
    return !free;
  }

  Block& block_;
  Shadow& shadow_;
  const GlobalAccess& access_;
  const ThreadId thread_;
  Touch touch_;  // a volatile store that releases counts as atomic
  Entry now_{};
  bool reported_ = false, unwritten_reported_ = false;
};

}  // namespace

void begin_global_launch(const std::vector<const void*>& arguments) {
  ++launches_begun;
  find_variables();
  name_arguments(arguments);
  forget_releases();
}

void watch_global(Block& block, GlobalCell* cells, std::size_t offset, const GlobalAccess& access) {
  finish_global_writes();
  const std::uint32_t launch = launches_begun.load(std::memory_order_relaxed) % LAUNCHES;
  Watch watch(block, access);
  for (std::size_t at = offset, end = offset + access.bytes; at < end;) {
    const std::size_t word = at / GLOBAL_WORD;
    const CellLock guard(&cells[word]);
    // As many words as the lock is for.
    do {
      GlobalCell& cell = cells[at / GLOBAL_WORD];
      const std::size_t next = std::min(end, (at / GLOBAL_WORD + 1) * GLOBAL_WORD);
      if (cell.launch != launch) cell.launch = launch, cell.used = 0, cell.last_atomic = 0, cell.released = 0;
      watch.at(cell, static_cast<const std::byte*>(access.address) - offset + at / GLOBAL_WORD * GLOBAL_WORD,
               std::uint8_t(((1u << (next - at)) - 1) << at % GLOBAL_WORD), at == offset);
      at = next;
    } while (at < end && std::uintptr_t(&cells[at / GLOBAL_WORD]) % 4096);
  }
}

bool atomic_by(const GlobalCell& cell, std::uint32_t block, bool others) {
  const auto by = [&](int slot) {
    return (cell.used >> slot & 1) && (cell.at[std::size_t(slot)].block != block) == others;
  };
  return by(GlobalCell::ATOMIC) || by(GlobalCell::OTHER_ATOMIC);
}

void finish_global_writes() {
  if (!undecided) [[likely]]
    return;
  const Undecided done = *std::exchange(undecided, std::nullopt);
  const bool same = std::memcmp(done.before.data(), done.address, done.bytes) == 0;
  done.block->report(
      done.kind, done.first, done.second, [&] { return done.detail; },
      [&] { return name_of_global(done.address, done.bytes); }, "WAW", same);
}

}  // namespace lab::cpu
