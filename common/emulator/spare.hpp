#pragma once
#include <mutex>
#include <utility>
#include <vector>

namespace lab::cpu {

// Memory whose pages take longer to touch than many a launch: kept for the next one.
template <class T>
class Spare {
 public:
  T take() {  // T{}: none is left
    const std::lock_guard guard(lock_);
    if (kept_.empty()) return {};
    T one = std::move(kept_.back());
    kept_.pop_back();
    return one;
  }
  void give(T one) {
    const std::lock_guard guard(lock_);
    kept_.push_back(std::move(one));
  }

 private:
  std::mutex lock_;
  std::vector<T> kept_;
};

}  // namespace lab::cpu
