// cp.async, atomics of every width at shared memory (rules.hpp).
#include <cuda_pipeline.h>

#include "checks/tests/rules.hpp"

namespace lab::rules {
namespace {

using enum Finding::Kind;
constexpr Group GROUP{{64, 1024}};

__device__ __forceinline__ void wait() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
}
__device__ __forceinline__ void copy(int* s, const int* from) {
  __pipeline_memcpy_async(s, from, 16);  // [copy]
}
constexpr Expect too_early(Side access, const char* where) {
  return finds({before_wait}, writes("copy", 1, 1), access).at(where).times(1);
}

// --- cp.async ------------------------------------------------------------------------------------

RULE(copy_read_by_issuer, too_early(reads("read", 1, 1), "s[2][1]")) {
  int* s = array<int>("s", 4, 4);
  if (threadIdx.x != 33) return;
  copy(s + 8, out);
  if (kept) wait();
  out[33] = s[9];  // [read]
  wait();
}

// A barrier without a wait makes nothing visible.
RULE(copy_read_by_other, too_early(reads("read", 0, 2), "s[2][3]")) {
  int* s = array<int>("s", 4, 4);
  if (threadIdx.x == 33) copy(s + 8, out);
  if (threadIdx.x == 33 && kept) wait();
  __syncthreads();
  if (threadIdx.x == 2) out[2] = s[11];  // [read]
  __syncthreads();
  if (threadIdx.x == 33) wait();
}

RULE(copy_written_by_other, too_early(writes("write", 1, 2), "s[2][0]")) {
  int* s = array<int>("s", 4, 4);
  if (threadIdx.x == 33) __pipeline_memcpy_async(s + 8, out, 8);  // [copy]
  if (threadIdx.x == 33 && kept) wait();
  __syncthreads();
  if (threadIdx.x == 34) s[8] = 1;   // [write]
  if (threadIdx.x == 35) s[10] = 1;  // beside the copy
  __syncthreads();
  if (threadIdx.x == 33) wait();
}

// The issuer returns, and has never waited.
RULE(copy_left_behind, too_early(reads("read", 0, 8), "s[2][1]")) {
  int* s = array<int>("s", 4, 4);
  if (threadIdx.x == 33) {
    copy(s + 8, out);
    if (kept) wait();
    return;
  }
  __syncthreads();
  if (threadIdx.x == 8) out[8] = s[9];  // [read]
}

RULE(copy_not_committed,
     too_early(reads("read", 0, 8), "s[2][0]").saying("the wait came before its group was committed")) {
  int* s = array<int>("s", 4, 4);
  if (threadIdx.x == 33) copy(s + 8, out);
  if (threadIdx.x == 33 && kept) __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (threadIdx.x == 8) out[8] = s[8];  // [read]
}

RULE(one_group_too_few, too_early(reads("read", 1, 1), "s[1][0]")
                            .saying("a cp.async that no thread has waited for may still write here")) {
  int* s = array<int>("s", 4, 4);
  if (threadIdx.x != 33) return;
  __pipeline_memcpy_async(s, out, 16);
  __pipeline_commit();
  copy(s + 4, out + 4);
  __pipeline_commit();
  kept ? __pipeline_wait_prior(0) : __pipeline_wait_prior(1);
  out[0] = s[0];
  out[1] = s[4];  // [read]
  __pipeline_wait_prior(0);
}

// Thread 2 waits, and nothing orders the reader after that.
__device__ __forceinline__ void copied_by_2(int* out, bool ordered, unsigned reader) {
  int* s = array<int>("s", 4, 4);
  if (threadIdx.x == 2) copy(s + 8, out), wait();
  if (ordered) __syncthreads();
  if (threadIdx.x == reader) out[reader] = s[11];  // [read]
}
RULE(copy_then_no_barrier, race(writes("copy", 0, 2), reads("read", 1, 1), "s[2][3]").if_ascending()) {
  copied_by_2(out, kept, 33);
}
RULE(copy_then_no_warp_barrier, race(writes("copy", 0, 2), reads("read", 0, 30), "s[2][3]").if_ascending()) {
  copied_by_2(out, kept, 30);
}

// Whether the copy has arrived when the other warp reads is the schedule's choice.
RULE(copy_over_what_is_read, finds({inter, before_wait}, "read", "copy").or_another()) {
  int* s = array<int>("s", 4, 4);
  if (threadIdx.x == 0) s[5] = 1;
  __syncthreads();
  if (threadIdx.x == 40) out[40] = s[5];  // [read]
  if (kept) __syncthreads();
  if (threadIdx.x == 3) copy(s + 4, out), wait();
}

// The wait of the second is not the first one's.
RULE(copy_twice, finds(before_wait, "copy", "second").among_others(),
     finds(before_wait, "copy", "read").among_others()) {
  int* s = array<int>("s", 4, 4);
  if (threadIdx.x == 3) copy(s + 4, out);
  if (threadIdx.x == 3 && kept) wait();
  __syncthreads();
  if (threadIdx.x == 40) __pipeline_memcpy_async(s + 4, out, 16), wait();  // [second]
  __syncthreads();
  if (threadIdx.x == 50) out[50] = s[5];  // [read]
}

RULE(copy_past_request,
     alone(out_of_bounds, writes("copy", 0, 17), "s[4][0], past the end of s (4 rows)").anywhere().if_ascending()) {
  int* s = array<int>("s", 4, 4);
  if (threadIdx.x == 17) copy(s + (kept ? 12 : 16), out), wait();
}

RULE(copy_past_global, alone(out_of_bounds, reads("copy", 0, 17), "global memory").if_ascending()) {
  int* s = array<int>("s", 4, 4);
  const int past = int(gridDim.x * blockDim.x);
  if (threadIdx.x == 17) copy(s, out + (kept ? past - 4 : past)), wait();
}

// Nothing is read: the source may lie anywhere.
RIGHT(copy_of_zeros) {
  int* s = array<int>("s", 64, 4);
  __pipeline_memcpy_async(s + 4 * threadIdx.x, out + gridDim.x * blockDim.x, 16, 16);
  wait();
  out[threadIdx.x] = s[4 * threadIdx.x + 3];
}

// --- atomics -------------------------------------------------------------------------------------

// All have added 1; then one thread does each thing that g++ makes of an atomic.
template <class Int>
__device__ void atomics_on(int* shared) {
  Int* cell = reinterpret_cast<Int*>(shared);
  constexpr int ORDER = __ATOMIC_SEQ_CST;
  __atomic_fetch_add(cell, Int(1), ORDER);
  __syncthreads();
  if (threadIdx.x != 5) return;
  Int expected = Int(blockDim.x);
  must(__atomic_load_n(cell, ORDER) == expected);
  must(__atomic_compare_exchange_n(cell, &expected, Int(7), false, ORDER, ORDER));
  must(!__atomic_compare_exchange_n(cell, &expected, Int(9), true, ORDER, ORDER) && expected == 7);
  must(__atomic_exchange_n(cell, Int(11), ORDER) == 7);
  __atomic_store_n(cell, Int(13), ORDER);
  must(__atomic_load_n(cell, ORDER) == 13);
}
RIGHT(atomics_of_every_width) {
  int* cells = array<int>("cells", 8);
  if (threadIdx.x < 8) cells[threadIdx.x] = 0;
  __syncthreads();
  atomics_on<unsigned char>(&cells[0]), atomics_on<unsigned short>(&cells[2]);
  atomics_on<unsigned>(&cells[4]), atomics_on<unsigned long>(&cells[6]);
}

}  // namespace
}  // namespace lab::rules
