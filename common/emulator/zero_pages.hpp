#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace lab::cpu {

// Memory that starts as zeros and costs nothing until it is touched: a launch is short, and what watches it is large. Not by
// calloc, which writes the zeros itself once blocks of that size have been freed.
template <class T>
struct ZeroPages {
  using value_type = T;
  T* allocate(std::size_t count) {
    void* memory =
        mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) { munmap(memory, count * sizeof(T)); }
  template <class U>
  void construct(U*) {}  // zeros are a value of it
  bool operator==(const ZeroPages&) const { return true; }
};

}  // namespace lab::cpu
