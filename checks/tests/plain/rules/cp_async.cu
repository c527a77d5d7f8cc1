// cp.async: its waits, its groups, what it copies over.
#include "rules.cuh"

struct Smem {
  int s[64][4];
};
__device__ void wait() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
}
#define SMEM                                              \
  extern __shared__ __align__(16) unsigned char shared[]; \
  Smem& smem = *reinterpret_cast<Smem*>(shared);          \
  auto& s = smem.s

RULE(read_by_issuer) {
  SMEM;
  if (threadIdx.x != 33) return;
  __pipeline_memcpy_async(s[2], out, 16);  // [copy]
  if (KEPT) wait();
  out[33] = s[2][1];  // [read]
  wait();
}

RULE(read_by_other) {  // a barrier without a wait makes nothing visible
  SMEM;
  if (threadIdx.x == 33) __pipeline_memcpy_async(s[2], out, 16);  // [copy for another]
  if (threadIdx.x == 33 && KEPT) wait();
  __syncthreads();
  if (threadIdx.x == 2) out[2] = s[2][3];  // [read by another]
  __syncthreads();
  if (threadIdx.x == 33) wait();
}

RULE(written_by_other) {
  SMEM;
  if (threadIdx.x == 33) __pipeline_memcpy_async(s[2], out, 8);  // [copy of 8]
  if (threadIdx.x == 33 && KEPT) wait();
  __syncthreads();
  if (threadIdx.x == 34) s[2][0] = 1;  // [write into the copy]
  if (threadIdx.x == 35) s[2][2] = 1;  // beside the copy
  __syncthreads();
  if (threadIdx.x == 33) wait();
}

RULE(left_behind) {  // the issuer returns, and has never waited
  SMEM;
  if (threadIdx.x == 33) {
    __pipeline_memcpy_async(s[2], out, 16);  // [copy left behind]
    if (KEPT) wait();
    return;
  }
  __syncthreads();
  if (threadIdx.x == 8) out[8] = s[2][1];  // [read of what is left]
}

RULE(not_committed) {
  SMEM;
  if (threadIdx.x == 33) __pipeline_memcpy_async(s[2], out, 16);  // [copy without commit]
  if (threadIdx.x == 33 && KEPT) __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (threadIdx.x == 8) out[8] = s[2][0];  // [read without commit]
}

RULE(one_group_too_few) {
  SMEM;
  if (threadIdx.x != 33) return;
  __pipeline_memcpy_async(s[0], out, 16);
  __pipeline_commit();
  __pipeline_memcpy_async(s[1], out + 4, 16);  // [copy of the last group]
  __pipeline_commit();
  KEPT ? __pipeline_wait_prior(0) : __pipeline_wait_prior(1);
  out[0] = s[0][0];
  out[1] = s[1][0];  // [read of the last group]
  __pipeline_wait_prior(0);
}

// Thread 2 waits, and nothing orders the reader after that. Some orders of threads show the copy before its wait.
RULE(no_barrier) {
  SMEM;
  if (threadIdx.x == 2) __pipeline_memcpy_async(s[2], out, 16), wait();  // [copy and wait]
  if (KEPT) __syncthreads();
  if (threadIdx.x == 33) out[33] = s[2][3];  // [read by another warp]
}
RULE(no_warp_barrier) {
  SMEM;
  if (threadIdx.x == 2) __pipeline_memcpy_async(s[2], out, 16), wait();  // [copy and wait in the warp]
  if (KEPT) __syncwarp();
  if (threadIdx.x == 30) out[30] = s[2][3];  // [read by the same warp]
}

RULE(over_what_is_read) {
  SMEM;
  if (threadIdx.x == 0) s[1][1] = 1;
  __syncthreads();
  if (threadIdx.x == 40) out[40] = s[1][1];  // [read before the copy]
  if (KEPT) __syncthreads();
  if (threadIdx.x == 3) __pipeline_memcpy_async(s[1], out, 16), wait();  // [copy over it]
}

RULE(twice) {  // the wait of the second is not the first one's
  SMEM;
  if (threadIdx.x == 3) __pipeline_memcpy_async(s[1], out, 16);  // [first copy]
  if (threadIdx.x == 3 && KEPT) wait();
  __syncthreads();
  if (threadIdx.x == 40) __pipeline_memcpy_async(s[1], out, 16), wait();  // [second copy]
  __syncthreads();
  if (threadIdx.x == 50) out[50] = s[1][1];  // [read after both]
}

RULE(past_shared) {
  SMEM;
  if (threadIdx.x == 17) __pipeline_memcpy_async(s[KEPT ? 63 : 64], out, 16), wait();  // [copy past the array]
}
RULE(past_global) {
  SMEM;
  if (threadIdx.x == 17) __pipeline_memcpy_async(s[0], out + (KEPT ? 1020 : 1024), 16), wait();  // [copy past the buffer]
}

RULE(zeros) {  // nothing is read: the source may lie anywhere
  SMEM;
  __pipeline_memcpy_async(s[threadIdx.x], out + 1024, 16, 16);
  wait();
  out[threadIdx.x] = s[threadIdx.x][3];
}

int main() {
  host::start();
  BOTH(read_by_issuer, 64);
  BOTH(read_by_other, 64);
  BOTH(written_by_other, 64);
  BOTH(left_behind, 64);
  BOTH(not_committed, 64);
  BOTH(one_group_too_few, 64);
  BOTH(no_barrier, 64);
  BOTH(no_warp_barrier, 64);
  BOTH(over_what_is_read, 64);
  BOTH(twice, 64);
  BOTH(past_shared, 64);
  BOTH(past_global, 64);
  RIGHT(zeros, 64);
  return host::result();
}
