#include "common/emulator/residents.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "common/emulator/block.hpp"
#include "common/emulator/memory.hpp"
#include "common/ptx/reduce.cuh"

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
  called_.wait(guard, [&] { return mine.called; });
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
      (*first)->called = true;
      queue_.erase(first);
      ++running_;
      called_.notify_all();
    } else if (!failed_ && !queue_.empty() && start_()) {
      ++running_;
    } else {
      break;
    }
  }
  if (running_ == 0) call_all(Outcome::deadlock);
}

void Residents::call_all(Outcome outcome) {
  running_ += int(queue_.size());
  for (Waiting* waiting : queue_) waiting->called = true, waiting->outcome = outcome;
  queue_.clear();
  called_.notify_all();
}

// --- what a kernel calls ------------------------------------------------------------------------------------------

namespace {

unsigned value_of(const unsigned* counter) {
  return std::atomic_ref(*const_cast<unsigned*>(counter)).load(std::memory_order_acquire);
}

bool is_raised(const Fiber* fiber) { return value_of(fiber->semaphore) == fiber->semaphore_value; }

}  // namespace

void Block::park_at_semaphore(const unsigned* counter, unsigned value, std::uintptr_t pc) {
  current_->semaphore = counter, current_->semaphore_value = value;
  at_semaphores_.push_back(current_);
  park(pc);
}

bool Block::wake_semaphores() {
  return std::erase_if(at_semaphores_, [this](Fiber* fiber) {
           if (!is_raised(fiber)) return false;
           fiber->semaphore = nullptr;
           wake(fiber->linear);
           return true;
         }) > 0;
}

bool Block::wait_for_blocks() {
  if (at_semaphores_.empty() && spinning_.empty()) return false;
  const Residents::Outcome outcome =
      residents().wait([this] { return std::ranges::any_of(at_semaphores_, is_raised) || may_stop_spinning(); });
  if (outcome == Residents::Outcome::another_failed) {
    gave_up_ = true;
    abandon();
  }
  return outcome == Residents::Outcome::ready;
}

[[gnu::noinline]] void semaphore_wait(const unsigned* counter, unsigned value) {
  Block& block = *this_block();
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  block.switch_point(pc);
  const auto acquire = [&] {
    if (!block.checking() || !is_global(counter)) return;
    const RuntimeCall call(block, pc);
    check_global({counter, sizeof *counter, Touch::read, pc, true});
    block.shadow().by_hand.fence(block.thread_id(), Scope::device);
  };
  acquire();
  if (value_of(counter) == value) return;
  block.park_at_semaphore(counter, value, pc);
  acquire();
}

[[gnu::noinline]] void semaphore_add(unsigned* counter) {
  Block& block = *this_block();
  const std::uintptr_t pc = caller(__builtin_return_address(0));
  block.switch_point(pc);
  if (block.checking() && is_global(counter)) {
    const RuntimeCall call(block, pc);
    block.shadow().by_hand.fence(block.thread_id(), Scope::device);
    check_global({counter, sizeof *counter, Touch::atomic, pc});
  }
  std::atomic_ref(*counter).fetch_add(1, std::memory_order_release);
  if (block.lets_others_go_on()) residents().wait(nullptr);
}

}  // namespace lab::cpu
