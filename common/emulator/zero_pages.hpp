#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>

namespace lab::cpu {

// Memory that starts as zeros and costs nothing until it is touched: a launch is short, and what watches it is large.
template <class T>
struct ZeroPages {
  using value_type = T;
  T* allocate(std::size_t count) {
    if (void* memory = std::calloc(count, sizeof(T))) return static_cast<T*>(memory);
    throw std::bad_alloc();
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  template <class U>
  void construct(U*) {}  // zeros are a value of it
  bool operator==(const ZeroPages&) const { return true; }
};

}  // namespace lab::cpu
