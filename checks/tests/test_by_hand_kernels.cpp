// Threads of one block at global memory: what barriers order, and what a kernel orders by hand, with atomics, volatile
// accesses and fences (checks/tests/checked.hpp).
#include <cuda_runtime.h>

#include "checks/tests/checked.hpp"
#include "common/ptx/barrier.cuh"
#include "common/ptx/cluster.cuh"

namespace lab::checked {
namespace {

constexpr Size SIZE{64, NO_SMEM, 1, 1};

__device__ __forceinline__ volatile int* watched(int* word) { return word; }

// --- barriers ------------------------------------------------------------------------------------
template <class Between>
__device__ __forceinline__ void reverse(int* out, unsigned threads, Between between) {
  out[threadIdx.x] = int(threadIdx.x);  // [own]
  between();
  const int other = out[threads - 1 - threadIdx.x];  // [other]
  if (other < 0) __trap();
}
CHECKED(reversed, races(inter, "own", "other")) {
  reverse(out, 64, [] {});
}
CHECKED(reversed_in_warp, races(intra, "own", "other", {32})) {
  reverse(out, 32, [] {});
}
CHECKED(reversed_after_shuffle, races(intra, "own", "other", {32})) {
  reverse(out, 32, [] { __shfl_sync(0xFFFFFFFFu, 1, 0); });
}
CHECKED(reversed_after_barrier, silent()) {
  reverse(out, 64, [] { __syncthreads(); });
}
CHECKED(reversed_after_named_barrier, silent()) {
  reverse(out, 64, [] { ptx::barrier_sync(1, 64); });
}
CHECKED(reversed_after_syncwarp, silent({32})) {
  reverse(out, 32, [] { __syncwarp(); });
}
CHECKED(fence_is_no_barrier, races(inter, "own", "other")) {
  reverse(out, 64, [] { __threadfence(); });
}

// Blocks of one cluster.
template <class Between>
__device__ __forceinline__ void across_cluster(int* out, Between between) {
  if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = 1;  // [first]
  between();
  if (threadIdx.x == 9 && blockIdx.x == 1) out[1] = out[0];  // [second]
}
constexpr Size PAIR{32, NO_SMEM, 2, 2};
CHECKED(after_cluster_barrier, silent(PAIR)) { across_cluster(out, ptx::cluster_sync); }
CHECKED(without_cluster_barrier,
        finds(Finding::Kind::race_inter_block, {"first", "second"}, "no barrier of the cluster orders them", PAIR)
            .every()) {
  across_cluster(out, [] {});
}

// Each thread a byte of a word that others write, too.
CHECKED(own_bytes, silent()) { reinterpret_cast<unsigned char*>(out)[threadIdx.x] = 1; }
CHECKED(neighbours_byte, finds({inter, intra}, {"write", "read"}).sometimes()) {
  auto* const bytes = reinterpret_cast<unsigned char*>(out);
  bytes[threadIdx.x] = 1;                                             // [write]
  if (threadIdx.x % 4 == 0 && bytes[threadIdx.x ^ 33] > 1) __trap();  // [read]
}

// --- the same value ------------------------------------------------------------------------------
CHECKED(all_write_seven, finds({inter, intra}, {"write", "write"}, "the same value: benign on today's GPUs").every()) {
  out[0] = 7;  // [write]
}
CHECKED(all_write_their_own, finds({inter, intra}, {"write", "write"}, "on element 0 of argument 2 (256 B").every()) {
  out[0] = int(threadIdx.x);  // [write]
}

// --- atomics -------------------------------------------------------------------------------------
CHECKED(atomic_and_store, races(inter, "atomic", "store")) {
  if (threadIdx.x == 0) atomicAdd(&out[0], 1);  // [atomic]
  if (threadIdx.x == 32) out[0] = 5;            // [store]
}
CHECKED(atomic_and_load, races(intra, "atomic", "load")) {
  if (threadIdx.x == 0) atomicMax(&out[0], 1);   // [atomic]
  if (threadIdx.x == 1 && out[0] > 1) __trap();  // [load]
}
CHECKED(atomics_alone, silent()) {
  atomicAdd(&out[0], 1), atomicInc(reinterpret_cast<unsigned*>(&out[1]), 9), atomicOr(&out[2], 1 << threadIdx.x % 8);
  atomicMin(&out[3], -int(threadIdx.x)), atomicSub_block(&out[4], 2), atomicXor_system(&out[5], 3);
}

// --- order made by hand --------------------------------------------------------------------------
// Thread 0 writes and raises a flag, thread `other` waits for it and reads.
template <class Raise, class Wait>
__device__ __forceinline__ void hand_over(int* out, unsigned other, Raise raise, Wait wait) {
  if (threadIdx.x == 0) {
    out[1] = 5;  // [data]
    raise(&out[0]);
  }
  if (threadIdx.x == other) {
    wait(&out[0]);
    out[2] = out[1];  // [use]
  }
}
__device__ __forceinline__ void raise_atomic(int* flag) {
  __threadfence();
  atomicExch(flag, 1);
}
__device__ __forceinline__ void raise_volatile(int* flag) {
  __threadfence_block();
  *watched(flag) = 1;  // [raise]
}
__device__ __forceinline__ void poll_atomic(int* flag) {
  while (atomicAdd(flag, 0) == 0) {
  }
}
__device__ __forceinline__ void poll_volatile(int* flag) {
  while (*watched(flag) == 0) {  // [poll]
  }
}
__device__ __forceinline__ void wait_atomic(int* flag) { poll_atomic(flag), __threadfence_block(); }
__device__ __forceinline__ void wait_volatile(int* flag) { poll_volatile(flag), __threadfence(); }

CHECKED(handed_to_warp, silent()) { hand_over(out, 32, raise_atomic, wait_atomic); }
CHECKED(handed_to_lane, silent({32})) { hand_over(out, 7, raise_atomic, wait_atomic); }
CHECKED(handed_to_warp_volatile, silent()) { hand_over(out, 32, raise_volatile, wait_volatile); }
CHECKED(handed_to_lane_volatile, silent({32})) { hand_over(out, 7, raise_volatile, wait_volatile); }
CHECKED(handed_by_both, silent()) { hand_over(out, 32, raise_volatile, wait_atomic); }
CHECKED(raised_without_fence,
        finds(inter, {"data", "use"}, "a __threadfence_block() is missing between the earlier access and the atomic")
            .every()) {
  hand_over(
      out, 32, [](int* flag) { atomicExch(flag, 1); }, wait_atomic);
}
CHECKED(read_without_fence,
        finds(inter, {"data", "use"}, "a __threadfence_block() is missing between its load and this access").every()) {
  hand_over(out, 32, raise_atomic, poll_atomic);
}
CHECKED(volatile_orders_nothing, finds({inter}, {"data", "use"}).sometimes()) {
  hand_over(
      out, 32, [](int* flag) { *watched(flag) = 1; }, poll_volatile);
}
CHECKED(volatile_read_without_fence, finds(inter, {"data", "use"}, "__threadfence_block() is missing").every()) {
  hand_over(out, 32, raise_volatile, poll_volatile);
}
// A barrier completes a load as a fence does, and gives all what the loading thread has acquired.
CHECKED(handed_on_by_barrier, silent()) {
  hand_over(out, 32, raise_atomic, [](int* flag) { poll_atomic(flag), __syncwarp(1u); });
  __syncthreads();
  if (out[1] != 5) __trap();
}

// Of all threads, each once.
template <class Lock, class Unlock>
__device__ __forceinline__ void each_adds(int* out, Lock lock, Unlock unlock) {
  lock();
  out[1] += 1;  // [add]
  unlock();
}
CHECKED(lock_of_lanes, silent()) {
  each_adds(
      out,
      [=] {
        while (atomicCAS(&out[0], 0, 1) != 0) {
        }
        __threadfence();
      },
      [=] {
        __threadfence();
        atomicExch(&out[0], 0);
      });
}
CHECKED(lock_freed_by_volatile, silent()) {
  each_adds(
      out,
      [=] {
        while (atomicExch(&out[0], 1) != 0) {
        }
        __threadfence();
      },
      [=] {
        __threadfence();
        *watched(&out[0]) = 0;
      });
}
CHECKED(lock_not_released, finds({inter, intra}, {"add", "add"}, "is missing between the earlier access and").every()) {
  each_adds(
      out,
      [=] {
        while (atomicCAS(&out[0], 0, 1) != 0) {
        }
        __threadfence();
      },
      [=] { atomicExch(&out[0], 0); });
}
CHECKED(lock_not_acquired, finds({inter, intra}, {"add", "add"}, "is missing between its load and this").every()) {
  each_adds(
      out,
      [=] {
        while (atomicCAS(&out[0], 0, 1) != 0) {
        }
      },
      [=] {
        __threadfence();
        atomicExch(&out[0], 0);
      });
}
// The last to draw a ticket sums what all have written, and resets the counter. The sum is shared by a barrier.
CHECKED(last_thread_sums, silent()) {
  if (threadIdx.x % 16 == 0) {
    out[8 + threadIdx.x / 16] = 3;
    __threadfence();
    if (atomicAdd(&out[0], 1) == 3) {
      __threadfence();
      for (int i = 0; i < 4; ++i) out[1] += out[8 + i];
      out[0] = 0;
    }
  }
  __syncthreads();
  if (out[1] != 12) __trap();
}

// --- spins that cannot end -----------------------------------------------------------------------
CHECKED(spins_on_flag, ELSEWHERE) { poll_volatile(out); }
CHECKED(spins_on_lock, ELSEWHERE) {
  while (atomicCAS(&out[0], 0, 1) != 0) {  // [lock]
  }
}
CHECKED(spins_on_plain, ELSEWHERE) {
  while (out[0] == 0) asm volatile("" ::: "memory");  // [spin]
}
CHECKED(gives_up_a_spin, silent()) {
  for (int tries = 0; tries < 100; ++tries)
    if (*watched(&out[0])) __trap();
}

// --- alignment -----------------------------------------------------------------------------------
CHECKED(misaligned_int, ELSEWHERE) {
  char* place = reinterpret_cast<char*>(out) + 8 * threadIdx.x + 1;
  asm volatile("" : "+r"(place));
  if (threadIdx.x < 2) *reinterpret_cast<int*>(place) = 1;  // [write]
}

}  // namespace
}  // namespace lab::checked
