#include "common/emulator/thread_clocks.hpp"

#include <algorithm>
#include <utility>

namespace lab::cpu {
namespace {

constexpr int SPARE = 64;  // timelines at the start, beside the threads'

void raise(std::uint32_t* to, const std::uint32_t* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i] > to[i] ? from[i] : to[i];
}

void join_into(std::vector<std::uint32_t>& to, const std::uint32_t* from, std::size_t count) {
  if (to.size() < count) to.resize(count, 0);
  raise(to.data(), from, count);
}

}  // namespace

void Knowledge::join(const Knowledge& other) {
  join_into(seen, other.seen.data(), other.seen.size());
  join_into(fenced, other.fenced.data(), other.fenced.size());
}

void ThreadClocks::start(int threads, int all_threads) {
  threads_ = threads, timelines_ = all_threads_ = all_threads;
  stride_ = std::size_t(all_threads) + SPARE;
  seen_.assign(std::size_t(threads) * stride_, 0);
  fenced_.assign(std::size_t(threads) * stride_, 0);
  wide_.assign(std::size_t(threads), false);
  all_.seen.assign(stride_, 0);
  all_.fenced.assign(stride_, 0);
}

int ThreadClocks::add_timeline() {
  if (std::size_t(timelines_) == stride_) {
    const std::size_t wider = stride_ * 2;
    for (auto* rows : {&seen_, &fenced_}) {
      std::vector<std::uint32_t> moved(std::size_t(threads_) * wider, 0);
      for (std::size_t t = 0; t < std::size_t(threads_); ++t)
        std::copy_n(rows->begin() + std::ptrdiff_t(t * stride_), stride_, moved.begin() + std::ptrdiff_t(t * wider));
      *rows = std::move(moved);
    }
    stride_ = wider;
    all_.seen.resize(stride_, 0), all_.fenced.resize(stride_, 0);
  }
  return timelines_++;
}

void ThreadClocks::see(int thread, int timeline, std::uint32_t stamp) {
  std::uint32_t& known = seen_[at(thread) + std::size_t(timeline)];
  known = newer(known, stamp);
  wide_[thread] = true;
}

void ThreadClocks::give(int thread, Knowledge& to) const {
  join_into(to.seen, &seen_[at(thread)], std::size_t(timelines_));
  join_into(to.fenced, &fenced_[at(thread)], std::size_t(all_threads_));
}

void ThreadClocks::give_outside(int thread, Knowledge& to) const {
  give(thread, to);
  to.join(all_);
}

void ThreadClocks::take(int thread, const Knowledge& from) {
  raise(&seen_[at(thread)], from.seen.data(), from.seen.size());
  raise(&fenced_[at(thread)], from.fenced.data(), from.fenced.size());
  wide_[thread] = true;
}

void ThreadClocks::fence(int thread) {
  std::uint32_t* row = &fenced_[at(thread)];
  raise(row, &seen_[at(thread)], std::size_t(all_threads_));
  raise(row, all_.seen.data(), std::size_t(all_threads_));
  wide_[thread] = true;
}

void ThreadClocks::block_barrier() {
  for (int t = 0; t < threads_; ++t)
    if (std::exchange(wide_[t], false)) give(t, all_);
}

void ThreadClocks::sync_warp(int first, int own, std::uint32_t lanes) {
  const int present = std::min(32, threads_ - first);
  if (present < 32) lanes &= (1u << present) - 1u;
  const auto each = [&](auto call) {
    for (std::uint32_t rest = lanes; rest; rest &= rest - 1) call(first + __builtin_ctz(rest));
  };
  bool wide = false;
  each([&](int t) { wide |= bool(wide_[t]); });
  if (wide) {
    Knowledge joined;
    each([&](int t) { give(t, joined); });
    each([&](int t) { take(t, joined); });
    return;
  }
  std::uint32_t joined[32] = {};
  each([&](int t) { raise(joined, &seen_[at(t) + std::size_t(own)], std::size_t(present)); });
  each([&](int t) { std::copy_n(joined, present, &seen_[at(t) + std::size_t(own)]); });
}

}  // namespace lab::cpu
