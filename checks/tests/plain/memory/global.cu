// Global memory, between threads of a block: barriers, bytes, atomics, and what a kernel orders by hand.
#include "both.h"

KERNEL(reversed) {
  out[t] = int(t);
  if (kept) sync(1, 64); else __threadfence();
  out[64 + t] = out[63 - t];
}
KERNEL(reversed_in_a_warp) {
  out[t] = int(t);
  if (kept) __syncwarp(); else __shfl_sync(~0u, 1, 0);
  out[32 + t] = out[31 - t];
}
// Each thread a byte of a word that others write, too.
KERNEL(bytes_of_a_word) {
  unsigned char* bytes = (unsigned char*)out;
  bytes[t] = 1;
  if (t % 4 == 0) bytes[64 + t] = bytes[kept ? t : t ^ 33];
}
KERNEL(one_for_all) { out[kept ? t : 0] = int(t); }
KERNEL(atomic_and_load) {
  if (t == 0) atomicMax(&out[0], 1);
  if (kept) __syncthreads();
  if (t == 1) out[1] = out[0];
}
KERNEL(atomics_alone) {
  atomicAdd(&out[0], 1), atomicInc((unsigned*)&out[1], 9), atomicOr(&out[2], 1 << t % 8);
  atomicMin(&out[3], -int(t)), atomicSub_block(&out[4], 2), atomicXor_system(&out[5], 3);
}

// --- thread 0 writes and raises a flag; a thread of the other warp, or lane 7, waits for it and reads ---
#define RECEIVER (blockDim.x > 32 ? 32 : 7)
KERNEL(raised_by_an_atomic) {
  if (t == 0) out[1] = 5;
  if (t == 0) {
    if (kept) __threadfence();
    atomicExch(&out[0], 1);
  }
  if (t == RECEIVER) {
    while (atomicAdd(&out[0], 0) == 0) {}
    __threadfence_block();
    out[2] = out[1];
  }
}
KERNEL(awaited_by_an_atomic) {
  if (t == 0) out[1] = 5;
  if (t == 0) __threadfence(), atomicExch(&out[0], 1);
  if (t == 32) {
    while (atomicAdd(&out[0], 0) == 0) {}
    if (kept) __threadfence_block();
    out[2] = out[1];
  }
}
KERNEL(raised_by_a_volatile) {
  if (t == 0) out[1] = 5;
  if (t == 0) {
    if (kept) __threadfence_block();
    *(volatile int*)out = 1;
  }
  if (t == 32) {
    while (*(volatile int*)out == 0) {}
    __threadfence();
    out[2] = out[1];
  }
}
KERNEL(awaited_by_a_volatile) {
  if (t == 0) out[1] = 5;
  if (t == 0) __threadfence_block(), *(volatile int*)out = 1;
  if (t == 32) {
    while (*(volatile int*)out == 0) {}
    if (kept) __threadfence();
    out[2] = out[1];
  }
}
KERNEL(raised_and_awaited_by_ptx) {
  if (t == 0) out[1] = 5;
  if (t == 0 && kept) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(out) : "memory");
  if (t == 0 && !kept) asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" : : "l"(out) : "memory");
  if (t == 32) {
    unsigned seen;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(out) : "memory");
    while (seen == 0);
    out[2] = out[1];
  }
}
// A barrier completes a load as a fence does, and gives all what the loading thread has acquired.
KERNEL(handed_on_by_a_barrier) {
  if (t == 0) out[1] = 5, __threadfence(), atomicExch(&out[0], 1);
  if (t == 32) {
    while (atomicAdd(&out[0], 0) == 0) {}
    __syncwarp(1u);
  }
  __syncthreads();
  out[2 + t] = out[1];
}

// --- all threads add, one after the other ---
KERNEL(lock_released) {
  while (atomicCAS(&out[0], 0, 1) != 0) {}
  __threadfence();
  out[1] += 1;
  if (kept) __threadfence();
  atomicExch(&out[0], 0);
}
KERNEL(lock_acquired) {
  while (atomicCAS(&out[0], 0, 1) != 0) {}
  if (kept) __threadfence();
  out[1] += 1;
  __threadfence();
  atomicExch(&out[0], 0);
}
// The last to draw a ticket sums what all have written, and resets the counter. A barrier shares the sum.
KERNEL(last_thread_sums) {
  if (t % 16 == 0) {
    out[8 + t / 16] = 3;
    __threadfence();
    if (atomicAdd(&out[0], 1) == 3) {
      __threadfence();
      for (int i = 0; i < 4; ++i) out[1] += out[8 + i];
      out[0] = 0;
    }
  }
  __syncthreads();
  out[16 + t] = out[1];
}
KERNEL(gives_up_a_spin) {
  for (int tries = 0; tries < 100; ++tries)
    if (((volatile int*)out)[0]) break;
  out[1 + t] = 1;
}

int main() {
  BOTH(reversed, 1, 64);
  BOTH(reversed_in_a_warp, 1, 32);
  BOTH(bytes_of_a_word, 1, 64);
  BOTH(one_for_all, 1, 64);
  BOTH(atomic_and_load, 1, 64);
  RIGHT(atomics_alone, 1, 64);
  BOTH(raised_by_an_atomic, 1, 64);
  BOTH(raised_by_an_atomic, 1, 32);
  BOTH(awaited_by_an_atomic, 1, 64);
  BOTH(raised_by_a_volatile, 1, 64);
  BOTH(awaited_by_a_volatile, 1, 64);
  BOTH(raised_and_awaited_by_ptx, 1, 64);
  RIGHT(handed_on_by_a_barrier, 1, 64);
  BOTH(lock_released, 1, 64);
  BOTH(lock_acquired, 1, 64);
  RIGHT(last_thread_sums, 1, 64);
  RIGHT(gives_up_a_spin, 1, 64);
  done();
}
