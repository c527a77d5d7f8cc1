// A workspace's parts, one behind the other, each from 16 bytes on. Laid out from nothing, they tell how much it is.
#pragma once
#include <cstddef>
#include <cstdint>

namespace lab {

class Parts {
 public:
  explicit Parts(const void* workspace) : next_(reinterpret_cast<std::uintptr_t>(workspace)) {}
  template <class T>
  T* take(std::size_t count) {
    T* const part = reinterpret_cast<T*>(next_);
    next_ += (count * sizeof(T) + 15) / 16 * 16;
    return part;
  }
  std::size_t end() const { return next_; }

 private:
  std::uintptr_t next_;
};

}  // namespace lab
