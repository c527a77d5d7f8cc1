// Global memory: threads of a block, what a kernel orders by hand, spins; then blocks of a launch (rules.hpp). What one
// program alone shows is checks/tests/plain's.
#include <cuda_runtime.h>

#include "checks/tests/rules.hpp"
#include "common/ptx/barrier.cuh"
#include "common/ptx/cluster.cuh"
#include "common/ptx/reduce.cuh"

namespace lab::rules {
namespace {

using enum Finding::Kind;
constexpr Group GROUP{{64, NO_SMEM}};
constexpr Size WARP{32};

__device__ __forceinline__ volatile int* watched(int* word) { return word; }
__device__ __forceinline__ void raise(int* flag) { *watched(flag) = 1; }
__device__ __forceinline__ float* floats(int* out) { return reinterpret_cast<float*>(out); }

// --- barriers, bytes -----------------------------------------------------------------------------

template <class Between>
__device__ __forceinline__ void reverse(int* out, Between between) {
  out[threadIdx.x] = int(threadIdx.x);  // [own]
  between();
  must(out[blockDim.x - 1 - threadIdx.x] >= 0);  // [other]
}
RULE(reversed, finds(inter, "own", "other")) {
  reverse(out, [=] { kept ? ptx::barrier_sync(1, 64) : __threadfence(); });
}
RULE(reversed_in_warp, finds(intra, "own", "other").of(WARP)) {
  reverse(out, [=] { kept ? __syncwarp() : void(__shfl_sync(0xFFFFFFFFu, 1, 0)); });
}

RULE(blocks_of_a_cluster,
     finds(race_inter_block, "own", "other", "no barrier of the cluster orders them").of({32, NO_SMEM, 2, 2})) {
  if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = 1;  // [own]
  if (kept) ptx::cluster_sync();
  if (threadIdx.x == 9 && blockIdx.x == 1) out[1] = out[0];  // [other]
}

// Each thread a byte of a word that others write, too.
RULE(own_bytes, finds({inter, intra}, "write", "read").or_another()) {
  auto* const bytes = reinterpret_cast<unsigned char*>(out);
  bytes[threadIdx.x] = 1;                                                            // [write]
  if (threadIdx.x % 4 == 0) must(bytes[kept ? threadIdx.x : threadIdx.x ^ 33] < 2);  // [read]
}

BROKEN(all_write_their_own, finds({inter, intra}, "write", "write", "on element 0 of argument 2 (256 B").either()) {
  out[0] = int(threadIdx.x);  // [write]
}

// --- atomics, order made by hand -----------------------------------------------------------------

RULE(atomic_and_load, finds(intra, "atomic", "load")) {
  if (threadIdx.x == 0) atomicMax(&out[0], 1);  // [atomic]
  if (kept) __syncthreads();
  if (threadIdx.x == 1) must(out[0] < 2);  // [load]
}
RIGHT(atomics_alone) {
  atomicAdd(&out[0], 1), atomicInc(reinterpret_cast<unsigned*>(&out[1]), 9), atomicOr(&out[2], 1 << threadIdx.x % 8);
  atomicMin(&out[3], -int(threadIdx.x)), atomicSub_block(&out[4], 2), atomicXor_system(&out[5], 3);
}

// Thread 0 writes and raises a flag; a thread of the other warp, or lane 7, waits for it and reads.
template <class Raise, class Wait>
__device__ __forceinline__ void hand_over(int* out, Raise raise, Wait wait) {
  if (threadIdx.x == 0) {
    out[1] = 5;  // [data]
    raise(&out[0]);
  }
  if (threadIdx.x == (blockDim.x > 32 ? 32 : 7)) {
    wait(&out[0]);
    out[2] = out[1];  // [use]
  }
}
__device__ __forceinline__ void poll_atomic(int* flag) {
  while (atomicAdd(flag, 0) == 0) {
  }
}
__device__ __forceinline__ void poll_volatile(int* flag) {
  while (*watched(flag) == 0) {  // [poll]
  }
}
constexpr Expect lacks_fence(Finding::Kind kind, const char* words) { return finds(kind, "data", "use", words); }
constexpr const char *RAISED = "a __threadfence_block() is missing between the earlier access and the atomic",
                     *READ = "a __threadfence_block() is missing between its load and this access";
RULE(raised_by_atomic, lacks_fence(inter, RAISED), lacks_fence(intra, "__syncwarp").of(WARP)) {
  const auto raise = [=](int* flag) { kept ? __threadfence() : void(), atomicExch(flag, 1); };
  hand_over(out, raise, [](int* flag) { poll_atomic(flag), __threadfence_block(); });
}
RULE(waited_for_by_atomic, lacks_fence(inter, READ)) {
  const auto raise = [](int* flag) { __threadfence(), atomicExch(flag, 1); };
  hand_over(out, raise, [=](int* flag) { poll_atomic(flag), kept ? __threadfence_block() : void(); });
}
RULE(raised_by_volatile, finds({inter}, "data", "use").or_another()) {
  const auto give = [=](int* flag) { kept ? __threadfence_block() : void(), raise(flag); };
  hand_over(out, give, [](int* flag) { poll_volatile(flag), __threadfence(); });
}
RULE(waited_for_by_volatile, lacks_fence(inter, "__threadfence_block() is missing")) {
  const auto give = [](int* flag) { __threadfence_block(), raise(flag); };
  hand_over(out, give, [=](int* flag) { poll_volatile(flag), kept ? __threadfence() : void(); });
}
// A barrier completes a load as a fence does, and gives all what the loading thread has acquired.
RIGHT(handed_on_by_barrier) {
  const auto raise = [](int* flag) { __threadfence(), atomicExch(flag, 1); };
  hand_over(out, raise, [](int* flag) { poll_atomic(flag), __syncwarp(1u); });
  __syncthreads();
  must(out[1] == 5);
}

// All threads add, each once; or one of each block.
__device__ __forceinline__ void add_under_lock(int* out, bool acquires, bool releases) {
  while (atomicCAS(&out[0], 0, 1) != 0) {
  }
  if (acquires) __threadfence();
  out[1] += 1;  // [add]
  if (releases) __threadfence();
  atomicExch(&out[0], 0);
}
RULE(lock_released, finds({inter, intra}, "add", "add", "is missing between the earlier access and").either()) {
  add_under_lock(out, true, kept);
}
RULE(lock_acquired, finds({inter, intra}, "add", "add", "is missing between its load and this").either()) {
  add_under_lock(out, kept, true);
}

// The last to draw a ticket sums what all have written, and resets the counter. The sum is shared by a barrier.
RIGHT(last_thread_sums) {
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
  must(out[1] == 12);
}

// --- spins: those that cannot end are test_reports.cpp's -----------------------------------------

RIGHT(spins_on_flag, Expect{}.of({1})) {
  if (blockDim.x > 1) poll_volatile(out);
}
RIGHT(spins_on_lock, Expect{}.of({1})) {
  while (atomicCAS(&out[0], 0, 1) != 0) {  // [lock]
  }
}
RIGHT(spins_on_plain, Expect{}.of({1})) {
  while (blockDim.x > 1 && out[0] == 0) asm volatile("" ::: "memory");  // [spin]
}
RIGHT(gives_up_a_spin) {
  for (int tries = 0; tries < 100; ++tries) must(!*watched(&out[0]));
}

// --- blocks --------------------------------------------------------------------------------------

namespace blocks {
constexpr Group GROUP{{32, NO_SMEM, 3}, Vary::blocks};
constexpr Expect between(const char* one, const char* other,
                         const char* words = "nothing orders the blocks of a launch") {
  return finds(race_inter_block, one, other, words);
}

RIGHT(own_elements) { out[blockIdx.x * blockDim.x + threadIdx.x] = int(blockIdx.x); }
RIGHT(all_read) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const int x = out[0];
  if (i) out[i] = x;
}
// Two blocks at one word, each with a half of it.
RIGHT(own_halves) {
  if (threadIdx.x == 0) reinterpret_cast<half*>(out)[blockIdx.x] = __float2half(1.0f);
}
BROKEN(written_twice, between("write", "write")) {
  if (threadIdx.x == 3) out[5] = int(blockIdx.x);  // [write]
}
// All read, one writes: whichever comes last.
BROKEN(read_then_written, between("read", "write")) {
  if (threadIdx.x == 3) out[8 + blockIdx.x] = out[5];   // [read]
  if (threadIdx.x == 3 && blockIdx.x == 1) out[5] = 2;  // [write]
}

RIGHT(atomic_sums) { atomicAdd(&floats(out)[threadIdx.x], float(1 << blockIdx.x)); }
RIGHT(sums_of_four) {
  const float x = float(1 << blockIdx.x);
  if (threadIdx.x % 4 == 0) ptx::add4(&floats(out)[threadIdx.x], x, x, x, x);
}
// Every thread draws a number once: out[1 + number] counts how often it came.
RIGHT(atomic_tickets) {
  const int number = atomicAdd(&out[0], 1);
  if (number < 16) atomicAdd(&out[1 + number], 1);
}
// Block 0's own atomic sum does not hide that it has zeroed what block 1 adds to.
BROKEN(zeroed_by_one, between("zero", "atomic")) {
  if (threadIdx.x == 3 && blockIdx.x == 0) floats(out)[5] = 0.0f;  // [zero]
  if (threadIdx.x == 3) atomicAdd(&floats(out)[5], 1.0f);          // [atomic]
}
BROKEN(read_of_a_sum, between("atomic", "read")) {
  if (threadIdx.x == 3) atomicAdd(&floats(out)[5], 1.0f);        // [atomic]
  if (threadIdx.x == 3 && blockIdx.x == 1) out[6] = out[5] * 2;  // [read]
}
RULE(scope_of_block, between("draw", "draw")) {
  if (threadIdx.x == 0 && !kept) atomicAdd_block(&out[0], 1);  // [draw]
  if (threadIdx.x == 0 && kept) atomicAdd(&out[0], 1);
}

__device__ int tally[4];
RULE(variable, between("tally", "tally").saying("on element 2 of tally (16 B, elements of 4 B)")) {
  if (threadIdx.x == 0 && !kept) tally[2] += 1;  // [tally]
  if (threadIdx.x == 0 && kept) atomicAdd(&tally[2], 1);
}

// The last block sums (the CUDA guide's pattern). All threads of it read what one thread has found to be there.
RULE(last_block,
     between("part", "sum",
             "if element 0 of argument 2 (384 B, elements of 4 B) is meant to, a __threadfence() is missing "
             "between the earlier access")
         .of({0, 128})) {
  const auto last = array<int>("last", 1);
  if (threadIdx.x == 0) {
    out[1 + blockIdx.x] = int(blockIdx.x + 1);  // [part]
    kept ? __threadfence() : __threadfence_block();
    last[0] = atomicAdd(&out[0], 1) == int(gridDim.x) - 1;
  }
  __syncthreads();
  if (!last[0] || threadIdx.x % 31) return;
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += watched(out)[1 + i];  // [sum]
  out[16 + threadIdx.x / 31] = sum;
}

RULE(lock_released_to_blocks, between("add", "add")) {
  if (threadIdx.x == 0) add_under_lock(out, true, kept);
}
RULE(lock_acquired_by_blocks, between("add", "add")) {
  if (threadIdx.x == 0) add_under_lock(out, kept, true);
}

// Block b waits until the block after it has raised its flag: none could go on if not all were there.
RIGHT(waits_for_later_block) {
  if (threadIdx.x != 0) return;
  const unsigned b = blockIdx.x;
  while (b + 1 < gridDim.x && watched(out)[b + 1] == 0) {
  }
  __threadfence();
  out[32 + b] = b + 1 < gridDim.x ? out[33 + b] + 1 : 1;
  __threadfence();
  watched(out)[b] = 1;
}

// The blocks by turns: out[1 + block] is how many were before it. A turn may be passed on before it is used.
__device__ __forceinline__ void take_turn(int* out, bool passed_first) {
  if (threadIdx.x != 0) return;
  unsigned* const turn = reinterpret_cast<unsigned*>(out);
  ptx::semaphore_wait(turn, blockIdx.x);
  if (passed_first) ptx::semaphore_add(turn);
  out[1 + blockIdx.x] = atomicAdd(&out[8], 1);
  out[9] += 1;  // [turn]
  if (!passed_first) ptx::semaphore_add(turn);
}
RIGHT(by_turns) { take_turn(out, false); }
BROKEN(turn_passed_first, between("turn", "turn")) { take_turn(out, true); }
BROKEN(turn_never_comes, stopped(deadlock, nullptr, "for a semaphore to be ")) {
  if (threadIdx.x == 0) ptx::semaphore_wait(reinterpret_cast<unsigned*>(out), blockIdx.x + 1);  // [never]
}

RIGHT(flushed_sum) {
  float* const sums = floats(out);
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    atomicAdd(&sums[0], 0x1p-126f), atomicAdd(&sums[0], -0x1.8p-126f);  // what would be left is subnormal: zero
    must(atomicAdd(&sums[0], 0x1p-130f) == 0.0f && sums[0] == 0.0f);    // so is this number
  }
}
}  // namespace blocks

}  // namespace
}  // namespace lab::rules
