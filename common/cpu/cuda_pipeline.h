// CUDA's cp.async primitives for g++. Each lane keeps a queue of copies and groups; when the bytes move is an
// ExecOptions choice (Copies), because the hardware promises only that they have moved after the wait.
#pragma once
#include <cstddef>

namespace lab::cpu {
void async_copy(void* shared, const void* global, std::size_t bytes, std::size_t zero_fill);
void async_commit();
void async_wait(unsigned groups_left);
}  // namespace lab::cpu

inline __attribute__((always_inline)) void __pipeline_memcpy_async(void* shared, const void* global, std::size_t bytes,
                                                                   std::size_t zero_fill = 0) {
  lab::cpu::async_copy(shared, global, bytes, zero_fill);
}
inline __attribute__((always_inline)) void __pipeline_commit() { lab::cpu::async_commit(); }
inline __attribute__((always_inline)) void __pipeline_wait_prior(unsigned groups) { lab::cpu::async_wait(groups); }
