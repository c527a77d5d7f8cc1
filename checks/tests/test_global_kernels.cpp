// One block and more at the same global memory (checks/tests/checked.hpp).
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "checks/tests/checked.hpp"
#include "common/ptx/reduce.cuh"
#include "common/ptx/semaphore.cuh"

namespace lab::checked {
namespace {

constexpr Size SIZE{32, NO_SMEM, 3, 1};
constexpr Expect between_blocks(const char* one, const char* other) {
  return finds({Finding::Kind::race_inter_block}, {one, other}, "nothing orders the blocks of a launch").every();
}
__device__ __forceinline__ float* floats(int* out) { return reinterpret_cast<float*>(out); }

// --- right ---------------------------------------------------------------------------------------
CHECKED(own_elements, silent()) { out[blockIdx.x * blockDim.x + threadIdx.x] = int(blockIdx.x); }

// Two blocks at one word, each with a half of it.
CHECKED(own_halves, silent()) {
  if (threadIdx.x == 0) reinterpret_cast<half*>(out)[blockIdx.x] = __float2half(1.0f);
}

CHECKED(all_read, silent()) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const int x = out[0];
  if (i) out[i] = x;
}

CHECKED(atomic_sums, silent()) {
  float* const sums = floats(out);
  atomicAdd(&sums[threadIdx.x], float(1 << blockIdx.x));
}
CHECKED(sums_of_four, silent()) {
  float* const sums = floats(out);
  const float x = float(1 << blockIdx.x);
  if (threadIdx.x % 4 == 0) ptx::add4(&sums[threadIdx.x], x, x, x, x);
}

// Every thread draws a number once: sums[1 + number] counts how often it came. The counter is sums[0]'s bits.
CHECKED(atomic_tickets, silent()) {
  float* const sums = floats(out);
  const unsigned number = atomicAdd(reinterpret_cast<unsigned*>(out), 1u);
  if (number < 16) atomicAdd(&sums[1 + number], 1.0f);
}

CHECKED(read_after_own_write, silent()) {
  float* const sums = floats(out);
  float* const own = sums + blockIdx.x * blockDim.x + threadIdx.x;
  *own = 1.0f;
  *own += 2.0f;
}

// The blocks by turns: sums[1 + block] is how many were before it. The counter is sums[0]'s bits.
CHECKED(by_turns, silent()) {
  float* const sums = floats(out);
  if (threadIdx.x != 0) return;
  unsigned* const turn = reinterpret_cast<unsigned*>(out);
  ptx::semaphore_wait(turn, blockIdx.x);
  sums[1 + blockIdx.x] = atomicAdd(&sums[8], 1.0f);
  ptx::semaphore_add(turn);
}

// The blocks by turns at plain memory.
CHECKED(plain_by_turns, silent()) {
  if (threadIdx.x != 0) return;
  unsigned* const turn = reinterpret_cast<unsigned*>(out);
  ptx::semaphore_wait(turn, blockIdx.x);
  out[8] += 1;
  ptx::semaphore_add(turn);
}

// The last block sums (the CUDA guide's pattern). All threads of it read what one thread has found to be there.
template <class Fence, class Draw>
__device__ __forceinline__ void last_block_sums(int* out, Fence fence, Draw draw) {
  const auto last = SmemCursor().array<int>("last", 1, 1);
  if (threadIdx.x == 0) {
    out[1 + blockIdx.x] = int(blockIdx.x + 1);  // [part]
    fence();
    last[0] = draw(&out[0]) == int(gridDim.x) - 1;
  }
  __syncthreads();
  if (!last[0] || threadIdx.x % 31) return;
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += static_cast<volatile int*>(out)[1 + i];  // [sum]
  out[16 + threadIdx.x / 31] = sum;
  if (threadIdx.x == 0) out[0] = 0;
}
constexpr Size WITH_FLAG{0, 128};
CHECKED(last_block, silent(WITH_FLAG)) {
  last_block_sums(
      out, [] { __threadfence(); }, [](int* tickets) { return atomicAdd(tickets, 1); });
}
CHECKED(
    last_block_without_fence,
    finds(Finding::Kind::race_inter_block, {"part", "sum"},
          "if element 0 of argument 2 (384 B, elements of 4 B) is meant to, a __threadfence() is missing between the "
          "earlier access",
          WITH_FLAG)
        .every()) {
  last_block_sums(
      out, [] {}, [](int* tickets) { return atomicAdd(tickets, 1); });
}
CHECKED(last_block_with_fence_of_block,
        finds(Finding::Kind::race_inter_block, {"part", "sum"}, "", WITH_FLAG).every()) {
  last_block_sums(
      out, [] { __threadfence_block(); }, [](int* tickets) { return atomicAdd(tickets, 1); });
}
CHECKED(tickets_of_block, between_blocks("draw", "draw")) {
  if (threadIdx.x == 0) atomicAdd_block(&out[0], 1);  // [draw]
}

template <class Acquire, class Release>
__device__ __forceinline__ void blocks_add(int* out, Acquire acquire, Release release) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&out[0], 0, 1) != 0) {
  }
  acquire();
  out[1] += 1;  // [add]
  release();
  atomicExch(&out[0], 0);
}
CHECKED(lock, silent()) {
  blocks_add(
      out, [] { __threadfence(); }, [] { __threadfence(); });
}
CHECKED(lock_without_release, between_blocks("add", "add")) {
  blocks_add(
      out, [] { __threadfence(); }, [] {});
}
CHECKED(lock_without_acquire, between_blocks("add", "add")) {
  blocks_add(
      out, [] {}, [] { __threadfence(); });
}

// Block b waits until the block after it has raised its flag: none could go on if not all were there.
CHECKED(waits_for_later_block, silent()) {
  if (threadIdx.x != 0) return;
  volatile int* const flags = out;
  if (blockIdx.x + 1 < gridDim.x) {
    while (flags[blockIdx.x + 1] == 0) {
    }
    __threadfence();
    out[32 + blockIdx.x] = out[33 + blockIdx.x] + 1;
  } else {
    out[32 + blockIdx.x] = 1;
  }
  __threadfence();
  flags[blockIdx.x] = 1;
}

// --- variables -----------------------------------------------------------------------------------
__device__ int tally[4];
__device__ unsigned drawn = 0;
CHECKED(atomic_variable, silent()) {
  if (threadIdx.x == 0) atomicAdd(&drawn, 1u);
}
CHECKED(plain_variable, between_blocks("tally", "tally").saying("on element 2 of tally (16 B, elements of 4 B)")) {
  if (threadIdx.x == 0) tally[2] += 1;  // [tally]
}
CHECKED(variable_reset, finds(Finding::Kind::race_inter_block, {"reset", "draw"}, "on drawn, kernel").every()) {
  if (threadIdx.x == 0 && blockIdx.x == 0) drawn = 0;  // [reset]
  if (threadIdx.x == 0) atomicAdd(&drawn, 1u);         // [draw]
}

// --- wrong ---------------------------------------------------------------------------------------
CHECKED(written_twice, between_blocks("write", "write")) {
  float* const sums = floats(out);
  if (threadIdx.x == 3) sums[5] = float(blockIdx.x);  // [write]
}

CHECKED(plain_sum, between_blocks("sum", "sum")) {
  float* const sums = floats(out);
  if (threadIdx.x == 3) sums[5] += 1.0f;  // [sum]
}

CHECKED(plain_over_atomic, between_blocks("atomic", "write")) {
  float* const sums = floats(out);
  if (threadIdx.x == 3 && blockIdx.x == 0) atomicAdd(&sums[5], 1.0f);  // [atomic]
  if (threadIdx.x == 3 && blockIdx.x == 1) sums[5] = 1.0f;             // [write]
}

// Block 0's own atomic sum does not hide that it has zeroed what block 1 adds to.
CHECKED(zeroed_by_one, between_blocks("zero", "atomic")) {
  float* const sums = floats(out);
  if (threadIdx.x == 3 && blockIdx.x == 0) sums[5] = 0.0f;  // [zero]
  if (threadIdx.x == 3) atomicAdd(&sums[5], 1.0f);          // [atomic]
}

CHECKED(read_of_a_sum, between_blocks("atomic", "read")) {
  float* const sums = floats(out);
  if (threadIdx.x == 3) atomicAdd(&sums[5], 1.0f);                 // [atomic]
  if (threadIdx.x == 3 && blockIdx.x == 1) sums[6] = sums[5] * 2;  // [read]
}

CHECKED(read_of_another, between_blocks("write", "read")) {
  float* const sums = floats(out);
  if (threadIdx.x == 3 && blockIdx.x == 0) sums[5] = 1.0f;     // [write]
  if (threadIdx.x == 4 && blockIdx.x == 1) sums[6] = sums[5];  // [read]
}

// All read, one writes: whichever comes last.
CHECKED(read_then_written, between_blocks("read", "write")) {
  float* const sums = floats(out);
  if (threadIdx.x == 3) sums[8 + blockIdx.x] = sums[5];     // [read]
  if (threadIdx.x == 3 && blockIdx.x == 1) sums[5] = 2.0f;  // [write]
}

// A turn is passed on before it is used.
CHECKED(turn_passed_first, ELSEWHERE) {
  float* const sums = floats(out);
  if (threadIdx.x != 0) return;
  unsigned* const turn = reinterpret_cast<unsigned*>(out);
  ptx::semaphore_wait(turn, blockIdx.x);
  ptx::semaphore_add(turn);
  sums[1 + blockIdx.x] = atomicAdd(&sums[8], 1.0f);
}

CHECKED(turn_never_comes, ELSEWHERE) {
  if (threadIdx.x == 0) ptx::semaphore_wait(reinterpret_cast<unsigned*>(out), blockIdx.x + 1);  // [turn]
}

// --- arithmetic ----------------------------------------------------------------------------------
CHECKED(flushed_sum, ELSEWHERE) {
  float* const sums = floats(out);
  if (threadIdx.x == 0) sums[8] = atomicAdd(&sums[0], 0x1p-126f);
  if (threadIdx.x == 0) atomicAdd(&sums[0], -0x1.8p-126f);  // what would be left is subnormal: zero
  if (threadIdx.x == 0) atomicAdd(&sums[1], 0x1p-130f);     // so is this number
}

}  // namespace
}  // namespace lab::checked
