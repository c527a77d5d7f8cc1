#include "common/emulator/residents.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/emulator/block.hpp"

namespace lab::cpu {

Residents& residents() {
  static Residents all;
  return all;
}

void Residents::begin(int at_once, std::function<bool()> start) {
  const std::lock_guard guard(lock_);
  at_once_ = running_ = at_once, start_ = std::move(start), failed_ = false;
}

Residents::Outcome Residents::wait(std::function<bool()> ready) {
  std::unique_lock guard(lock_);
  if (failed_) return Outcome::another_failed;
  Waiting mine{std::move(ready)};
  queue_.push_back(&mine);
  --running_;
  call_next();
  guard.unlock();
  mine.called.acquire();
  return mine.outcome;
}

void Residents::leave() {
  const std::lock_guard guard(lock_);
  --running_;
  call_next();
}

void Residents::fail() {
  const std::lock_guard guard(lock_);
  failed_ = true;
  call_all(Outcome::another_failed);
}

void Residents::call_next() {
  while (running_ < at_once_) {
    auto first = std::ranges::find_if(queue_, [](Waiting* waiting) { return waiting->ready && waiting->ready(); });
    if (first == queue_.end()) {
      const auto last = std::ranges::find_if(queue_.rbegin(), queue_.rend(), [](Waiting* w) { return !w->ready; });
      if (last != queue_.rend()) first = std::prev(last.base());
    }
    if (first != queue_.end()) {
      call(*first, Outcome::ready);
      queue_.erase(first);
    } else if (!failed_ && !queue_.empty() && start_()) {
      ++running_;
    } else {
      break;
    }
  }
  if (running_ == 0) call_all(Outcome::deadlock);
}

void Residents::call(Waiting* waiting, Outcome outcome) {
  waiting->outcome = outcome;
  ++running_;
  waiting->called.release();  // the last that touches it: its thread goes on at once, and it is gone
}

void Residents::call_all(Outcome outcome) {
  for (Waiting* waiting : queue_) call(waiting, outcome);
  queue_.clear();
}

bool Block::wait_for_blocks() {
  bool spins = false;
  each_parked(Wait::At::spin, [&](const Fiber&) { spins = true; });
  if (!spins) return false;
  const Residents::Outcome outcome = residents().wait([this] { return may_stop_spinning(); });
  if (outcome == Residents::Outcome::another_failed) {
    gave_up_ = true;
    abandon();
  }
  return outcome == Residents::Outcome::ready;
}

}  // namespace lab::cpu
