#include "common/emulator/hand_order.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>

#include "common/emulator/memory.hpp"
#include "common/emulator/shadow.hpp"

namespace lab::cpu {
namespace {

// A thread's release at a word. Blocks run on several OS threads, and read each other's.
struct Released {
  std::uint32_t block;
  Scope scope;
  std::uint32_t before;     // at the same word, passed on; 0: nothing
  std::uint32_t what;       // in `what_released`
  std::uint32_t visit = 0;  // by the search that last came here
};
struct WhatReleased {
  std::vector<std::uint32_t> covered[2];  // of each thread of the block: accesses with smaller stamps, for each Scope
  std::vector<std::uint32_t> acquired;    // releases that are before
};

std::mutex releases_lock;
std::deque<Released> releases(1);  // by their numbers: [0] is none
std::deque<WhatReleased> what_released;
std::atomic<bool> any_released{false};
std::uint32_t release_searches = 0;

// Whether what `block`'s thread `linear` did with this stamp is before `from`, for a reader in block `reader`. Under the lock.
bool released_before(std::uint32_t from, Scope scope, std::uint32_t reader, std::uint32_t block, int linear,
                     std::uint32_t stamp) {
  std::vector<std::uint32_t> open{from};
  ++release_searches;
  while (!open.empty()) {
    const std::uint32_t number = open.back();
    open.pop_back();
    Released& at = releases[number];
    if (!number || at.visit == release_searches) continue;
    at.visit = release_searches;
    open.push_back(at.before);
    if (at.block != reader && (at.scope == Scope::block || scope == Scope::block)) continue;
    const WhatReleased& what = what_released[at.what];
    const auto& covered = what.covered[int(block == reader ? Scope::block : Scope::device)];
    if (at.block == block && std::size_t(linear) < covered.size() && covered[linear] > stamp) return true;
    open.insert(open.end(), what.acquired.begin(), what.acquired.end());
  }
  return false;
}

std::uint32_t number_at(std::uint32_t& word) { return std::atomic_ref(word).load(std::memory_order_relaxed); }

ThreadId thread_at(int linear) { return {std::uint16_t(linear), std::uint8_t(linear / 32), std::uint8_t(linear % 32)}; }

}  // namespace

void forget_releases() {
  const std::lock_guard guard(releases_lock);
  releases.resize(1), what_released.clear();
  any_released = false;
}

void HandOrder::reset(std::uint32_t block, int threads) {
  block_ = block, threads_ = threads;
  for (auto& covered : covered_) covered.clear();
  fenced_.clear(), fences_ = 0;
  loads_.clear(), acquired_.clear(), shared_words_.clear();
}

std::uint32_t& HandOrder::shared_word(std::size_t offset) { return shared_words_[offset]; }

void HandOrder::fence(const ThreadId& thread, Scope scope) {
  settle(thread, scope);
  fenced_.resize(std::size_t(threads_));
  ++fenced_[thread.linear].fences, ++fences_;
  shadow_.new_stamp(thread);
  for (const Scope each : {Scope::block, Scope::device}) {
    if (each > scope) break;
    auto& covered = covered_[int(each)];
    covered.resize(std::size_t(threads_), 0);
    for (int t = 0; t < threads_; ++t) covered[t] = std::max(covered[t], shadow_.seen(thread, thread_at(t)));
  }
}

bool HandOrder::release(const ThreadId& thread, std::uint32_t& word, bool continues, Scope scope) {
  if (fenced_.empty() || !fenced_[thread.linear].fences) {
    if (!continues) std::atomic_ref(word).store(0, std::memory_order_relaxed);
    return false;
  }
  // Many an atomic follows a fence; what they release is mostly the same.
  Fenced& fenced = fenced_[thread.linear];
  const std::array<std::uint32_t, 4> version{shadow_.stamp_of(thread), fences_, std::uint32_t(acquired_.size()),
                                             fenced.learnt};
  if (version != fenced.version) {
    WhatReleased what;
    for (std::size_t s = 0; s < 2; ++s) {
      what.covered[s] = covered_[s];
      for (std::size_t t = 0; t < what.covered[s].size(); ++t)
        what.covered[s][t] = std::min(what.covered[s][t], shadow_.seen(thread, thread_at(int(t))));
    }
    for (const Acquired& acquired : acquired_)
      if (knows(thread, acquired)) what.acquired.push_back(acquired.released);
    const std::lock_guard guard(releases_lock);
    fenced.what = std::uint32_t(what_released.size()), fenced.version = version;
    what_released.push_back(std::move(what));
  }
  const std::lock_guard guard(releases_lock);
  const auto number = std::uint32_t(releases.size());
  releases.push_back({block_, scope, continues ? number_at(word) : 0, fenced.what});
  any_released = true;
  std::atomic_ref(word).store(number, std::memory_order_relaxed);
  return true;
}

void HandOrder::learns(const ThreadId& thread) {
  if (!fenced_.empty()) ++fenced_[thread.linear].learnt;
}

void HandOrder::load(const ThreadId& thread, const void* address, std::uint32_t& word) {
  if (loads_.empty()) loads_.resize(std::size_t(threads_));
  Loads& loads = loads_[thread.linear];
  const Load now{address, &word, number_at(word)};
  if (Load& last = loads.last[(loads.next - 1) % std::size(loads.last)]; last.address == address)
    last = now;
  else
    loads.last[loads.next++ % std::size(loads.last)] = now;
}

bool HandOrder::has_loaded(const ThreadId& thread, const void* address) const {
  return !loads_.empty() &&
         std::ranges::any_of(loads_[thread.linear].last, [&](const Load& load) { return load.address == address; });
}

void HandOrder::settle(int warp, std::uint32_t lanes) {
  if (loads_.empty()) return;
  for (int t = warp * 32; t < std::min(warp * 32 + 32, threads_); ++t)
    if (lanes >> t % 32 & 1) settle(thread_at(t), Scope::device);
}

void HandOrder::block_barrier() {
  if (acquired_.empty()) return;
  WhatReleased what;
  for (const Acquired& acquired : acquired_) what.acquired.push_back(acquired.released);
  const std::lock_guard guard(releases_lock);
  acquired_.assign(1, {-1, 0, std::uint32_t(releases.size()), Scope::device});
  releases.push_back({block_, Scope::device, 0, std::uint32_t(what_released.size())});
  what_released.push_back(std::move(what));
}

void HandOrder::settle(const ThreadId& thread, Scope scope) {
  if (loads_.empty()) return;
  for (Load& load : loads_[thread.linear].last) {
    if (!load.address || load.settled) continue;
    load.settled = scope == Scope::device;
    if (!any_released.load(std::memory_order_relaxed)) continue;
    // Another thread may have released there between this thread's look at the number and its load.
    const std::uint32_t now = number_at(*load.word);
    if (load.released) acquire(thread, load.released, scope);
    if (now && now != load.released) acquire(thread, now, scope);
  }
}

void HandOrder::acquire(const ThreadId& thread, std::uint32_t released, Scope scope) {
  acquired_.push_back({thread.linear, shadow_.stamp_of(thread), released, scope});
  // Of its own block the thread's clock takes it, so that it holds for shared memory, too.
  Knowledge taken;
  taken.seen.resize(std::size_t(shadow_.line(thread_at(threads_ - 1))) + 1, 0);
  std::uint32_t* const own = &taken.seen[shadow_.line(thread_at(0))];
  const std::lock_guard guard(releases_lock);
  for (; released; released = releases[released].before) {
    if (releases[released].block != block_) continue;
    const auto& covered = what_released[releases[released].what].covered[int(Scope::block)];
    for (std::size_t t = 0; t < covered.size(); ++t) own[t] = std::max(own[t], covered[t]);
  }
  shadow_.acquire(thread, taken);
}

bool HandOrder::knows(const ThreadId& thread, const Acquired& acquired) const {
  return acquired.thread < 0 || shadow_.after(thread, thread_at(acquired.thread), acquired.stamp);
}

bool HandOrder::ordered(const ThreadId& thread, std::uint32_t block, int linear, std::uint32_t stamp) const {
  const std::lock_guard guard(releases_lock);
  return std::ranges::any_of(acquired_, [&](const Acquired& acquired) {
    return knows(thread, acquired) && released_before(acquired.released, acquired.scope, block_, block, linear, stamp);
  });
}

std::string HandOrder::missing_fence(const void* address, std::uint32_t block, int linear, std::uint32_t stamp) const {
  for (const Loads& loads : loads_)
    for (const Load& load : loads.last) {
      if (!load.address || load.address == address) continue;
      bool released;
      {
        const std::lock_guard guard(releases_lock);
        released = released_before(number_at(*load.word), Scope::device, block_, block, linear, stamp);
      }
      if (!released && !atomic_by(load.address, block_, block != block_)) continue;
      return "; if " + name_of_global(load.address, 4) + " is meant to, a " +
             (block == block_ ? "__threadfence_block()" : "__threadfence()") + " is missing " +
             (released ? "between its load and this access"
                       : "between the earlier access and the atomic that follows it");
    }
  return "";
}

}  // namespace lab::cpu
